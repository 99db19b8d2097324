// The rows of docs/wallets.md: each is given what was prepared, and does with it what the row says. What it
// returns, if anything, is what the dApp hands in (signed bytes, or the fields of the request), or what the ledger said.
import * as hashgraph from "@hashgraph/sdk";
import * as hiero279 from "@hiero-ledger/sdk";
import { proto } from "@hiero-ledger/proto";
import * as hashgraph241 from "hashgraph-sdk-2.41";
import * as hiero from "hiero-sdk";
import snippets from "snippets";
import { ofHashConnect, ofKey, ofWalletConnect } from "../../../clients/market/wallets.js";

const named = (acts, prefix, options = {}) =>
  Object.fromEntries(
    Object.entries(acts).map(([name, act]) => [`${prefix}-${name}`, { act, ...options }]));

const keyFor = (sdk, { key }) => sdk.PrivateKey.fromStringDer(key.toStringDer());

export const makeRows = ({ hashconnect0, hashconnect3, connector, node }) => ({
  ...named(callsOfHashConnect0(hashconnect0), "hashconnect0"),
  ...named(callsOfHashConnect3(hashconnect3), "hashconnect3"),
  ...named(callsOfWalletConnect(connector), "walletconnect"),
  ...named(callsOfSdk(hashgraph, node), "hashgraph"),
  ...named(callsOfSdk(hiero, node), "hiero"),
  ...named(
    {
      "hashconnect0-bytes": callsOfHashConnect0(hashconnect0).bytes,
      "hashconnect3-send": callsOfHashConnect3(hashconnect3).send,
      "hashconnect3-sign-and-return": callsOfHashConnect3(hashconnect3)["sign-and-return"],
      "walletconnect-text": callsOfWalletConnect(connector).text,
      "walletconnect-sign": callsOfWalletConnect(connector).sign,
      "walletconnect-sign-body": callsOfWalletConnect(connector)["sign-body"],
      "hashgraph-sign": callsOfSdk(hashgraph).sign,
      "hiero-sign": callsOfSdk(hiero).sign,
    },
    "ecdsa", { trades: "ECDSA" }),
  ...named(
    {
      "hashconnect0-bytes": callsOfHashConnect0(hashconnect0).bytes,
      "hashconnect3-send": callsOfHashConnect3(hashconnect3).send,
      "hashconnect3-sign-and-return": callsOfHashConnect3(hashconnect3)["sign-and-return"],
      "walletconnect-text": callsOfWalletConnect(connector).text,
      "walletconnect-sign": callsOfWalletConnect(connector).sign,
      "walletconnect-sign-body": callsOfWalletConnect(connector)["sign-body"],
      "hashgraph-sign": callsOfSdk(hashgraph).sign,
      "hashgraph-execute": callsOfSdk(hashgraph, node).execute,
      "hiero-sign": callsOfSdk(hiero).sign,
      "hiero-execute": callsOfSdk(hiero, node).execute,
    },
    "several", { trades: "several" }),
  ...rowsOfSnippets(hashconnect0, hashconnect3, connector),
  ...named(
    {
      hashconnect: trade(() => ofHashConnect(hashconnect3, hashgraph241)),
      walletconnect: trade(() => ofWalletConnect(connector, hiero279, "testnet")),
      key: trade(({ signer }) => ofKey(keyFor(hiero, signer), clientAt(node), hiero)),
    },
    "adapter"),
});

const clientAt = (node) => hiero.Client.forNetwork({ [node]: "0.0.3" });

/** What a trade of clients/market asks one of its wallets. */
function trade(open) {
  return async (prepared) => {
    const wallet = open(prepared);
    if (prepared.metadata.returnTransaction) return wallet.sign(prepared);
    const { transactionId } = await wallet.signAndExecute(prepared);
    return { result: "SUCCESS", transactionId };
  };
}

/** What the demo offers to copy, as it stands. */
function rowsOfSnippets(hashconnect0, hashconnect3, connector) {
  const [session] = connector.walletConnectClient.session.getAll();
  const given = {
    "hashconnect-0": hashconnect0,
    "hashconnect-3": { hashconnect: hashconnect3 },
    walletconnect: { signClient: connector.walletConnectClient, session },
    sdk: {},
  };
  return Object.fromEntries(Object.entries(snippets).map(([name, run]) => {
    const stem = name.replace(/^buy\//, "").replace(/\.m?js$/, "");
    const isSdk = stem === "sdk";
    const act = async ({ byteArray, metadata }) => {
      const printed = [];
      await run({ byteArray, metadata }, given[stem], { log: (line) => printed.push(line) });
      const [line] = printed;
      if (line?.startsWith("{")) return JSON.parse(line);
      if (isSdk || name.startsWith("buy/")) return new Uint8Array(Buffer.from(line, "base64"));
    };
    const kinds = name.startsWith("buy/") ? ["buy"] : isSdk ? ["list", "buy"] : ["list", "withdraw"];
    // The SDK's signs with a key that it has just made: the first that the ledger sees of its account.
    return [`snippet-${name}`, { act, kinds, trades: isSdk ? "unknown" : "ED25519" }];
  }));
}

function callsOfHashConnect0({ hashconnect, topic }) {
  const { Transaction } = hashgraph;
  const send = async (byteArray, metadata) => {
    const answer = await hashconnect.sendTransaction(topic, { topic, byteArray, metadata });
    if (!answer.success) throw new Error(answer.error);
    return answer.signedTransaction;
  };
  const signerFor = ({ id }) =>
    hashconnect.getSigner(hashconnect.getProvider("testnet", topic, id));
  return {
    bytes: ({ bytes, metadata }) => send(bytes, metadata),
    text: ({ byteArray, metadata }) => send(byteArray, metadata),
    return: ({ bytes, metadata }) => send(bytes, { ...metadata, returnTransaction: true }),
    "execute-with-signer": async ({ bytes, signer }) => {
      await Transaction.fromBytes(bytes).executeWithSigner(signerFor(signer));
    },
    "sign-with-signer": async ({ bytes, signer }) =>
      (await Transaction.fromBytes(bytes).signWithSigner(signerFor(signer))).toBytes(),
    "freeze-with-signer": async ({ bytes, signer }) => {
      await Transaction.fromBytes(bytes).freezeWithSigner(signerFor(signer));
    },
  };
}

function callsOfHashConnect3(hashconnect) {
  const { AccountId, Transaction } = hashgraph241; // the SDK that it brings
  const accountOf = ({ id }) => AccountId.fromString(id);
  const signerFor = (signer) => hashconnect.getSigner(accountOf(signer));
  return {
    send: async ({ bytes, signer }) => {
      await hashconnect.sendTransaction(accountOf(signer), Transaction.fromBytes(bytes));
    },
    "another-sdk": async ({ bytes, signer }) => {
      const account = hashgraph.AccountId.fromString(signer.id);
      await hashconnect.sendTransaction(account, hashgraph.Transaction.fromBytes(bytes));
    },
    bytes: async ({ bytes, signer }) => {
      await hashconnect.sendTransaction(accountOf(signer), bytes);
    },
    text: async ({ byteArray, signer }) => {
      await hashconnect.sendTransaction(accountOf(signer), byteArray);
    },
    "sign-and-return": async ({ bytes, signer }) => {
      const transaction = Transaction.fromBytes(bytes);
      return (await hashconnect.signAndReturnTransaction(accountOf(signer), transaction)).toBytes();
    },
    sign: async ({ bytes, signer }) =>
      (await hashconnect.signTransaction(accountOf(signer), Transaction.fromBytes(bytes))).toBytes(),
    "execute-with-signer": async ({ bytes, signer }) => {
      await Transaction.fromBytes(bytes).executeWithSigner(signerFor(signer));
    },
    "sign-with-signer": async ({ bytes, signer }) =>
      (await Transaction.fromBytes(bytes).signWithSigner(signerFor(signer))).toBytes(),
    "sign-with-signer-dropped": async ({ bytes, signer }) => {
      const transaction = Transaction.fromBytes(bytes);
      await transaction.signWithSigner(signerFor(signer));
      return transaction.toBytes();
    },
    "freeze-with-signer": async ({ bytes, signer }) => {
      await Transaction.fromBytes(bytes).freezeWithSigner(signerFor(signer));
    },
    populate: async ({ bytes, signer }) => {
      await signerFor(signer).populateTransaction(Transaction.fromBytes(bytes));
    },
  };
}

function callsOfWalletConnect(connector) {
  const { AccountId, Transaction } = hiero279; // the SDK that it asks for
  const signerFor = ({ id }) => connector.getSigner(AccountId.fromString(id));
  const caip = ({ id }) => `hedera:testnet:${id}`;
  const execute = (signer, transactionList) =>
    connector.signAndExecuteTransaction({ signerAccountId: caip(signer), transactionList });
  const signBody = async ({ byteArray, signer }, transactionBody) => {
    const { signatureMap } = await connector.signTransaction({
      signerAccountId: caip(signer), transactionBody,
    });
    return { signedTransaction: byteArray, signatureMap };
  };
  const bodyOf = (bytes) => {
    const [{ signedTransactionBytes }] = proto.TransactionList.decode(bytes).transactionList;
    return proto.SignedTransaction.decode(signedTransactionBytes).bodyBytes;
  };
  return {
    text: async ({ byteArray, signer }) => {
      await execute(signer, byteArray);
    },
    bytes: async ({ bytes, signer }) => {
      await execute(signer, bytes);
    },
    "twice-encoded": async ({ byteArray, signer }) => {
      await execute(signer, btoa(byteArray));
    },
    "execute-with-signer": async ({ bytes, signer }) => {
      await Transaction.fromBytes(bytes).executeWithSigner(signerFor(signer));
    },
    call: async ({ bytes, signer }) => {
      await signerFor(signer).call(Transaction.fromBytes(bytes));
    },
    "another-sdk": async ({ bytes, signer }) => {
      await hiero.Transaction.fromBytes(bytes).executeWithSigner(signerFor(signer));
    },
    sign: async ({ bytes, signer }) =>
      (await signerFor(signer).signTransaction(Transaction.fromBytes(bytes))).toBytes(),
    "sign-by-connector": async ({ bytes, signer }) => {
      const transactionBody = Transaction.fromBytes(bytes);
      const signed = await connector.signTransaction({ signerAccountId: caip(signer), transactionBody });
      return signed.toBytes();
    },
    "sign-body": (prepared) =>
      signBody(prepared, Buffer.from(bodyOf(prepared.bytes)).toString("base64")),
    "sign-list": (prepared) => signBody(prepared, prepared.byteArray),
    "sign-with-signer": async ({ bytes, signer }) =>
      (await Transaction.fromBytes(bytes).signWithSigner(signerFor(signer))).toBytes(),
    "freeze-with-signer": async ({ bytes, signer }) => {
      await Transaction.fromBytes(bytes).freezeWithSigner(signerFor(signer));
    },
    populate: async ({ bytes, signer }) => {
      await signerFor(signer).populateTransaction(Transaction.fromBytes(bytes));
    },
  };
}

function callsOfSdk(sdk, node) {
  const { Client, PrivateKey, Transaction } = sdk;
  const clientOf = (signer) => Client.forTestnet().setOperator(signer.id, keyFor(sdk, signer));
  return {
    sign: async ({ bytes, signer }) =>
      (await Transaction.fromBytes(bytes).sign(keyFor(sdk, signer))).toBytes(),
    execute: async ({ bytes, signer }) => {
      const client = Client.forNetwork({ [node]: "0.0.3" });
      const signed = await Transaction.fromBytes(bytes).sign(keyFor(sdk, signer));
      const transactionId = signed.transactionId.toString();
      try {
        const { status } = await (await signed.execute(client)).getReceipt(client);
        return { result: status.toString(), transactionId };
      } catch (error) {
        if (!error.status) throw error;
        return { result: error.status.toString(), transactionId };
      } finally {
        client.close();
      }
    },
    unsigned: ({ bytes }) => Transaction.fromBytes(bytes).toBytes(),
    "another-key": async ({ bytes }) =>
      (await Transaction.fromBytes(bytes).sign(PrivateKey.generateED25519())).toBytes(),
    "freeze-with": async ({ bytes, signer }) => {
      const frozen = Transaction.fromBytes(bytes).freezeWith(clientOf(signer));
      return (await frozen.sign(keyFor(sdk, signer))).toBytes();
    },
    "freeze-with-known-id": async ({ bytes, signer }) => {
      const transaction = Transaction.fromBytes(bytes);
      transaction.transactionId.toString(); // whoever has looked at it keeps it
      return (await transaction.freezeWith(clientOf(signer)).sign(keyFor(sdk, signer))).toBytes();
    },
    "freeze-after-signing": async ({ bytes, signer }) => {
      const signed = await Transaction.fromBytes(bytes).sign(keyFor(sdk, signer));
      return signed.freezeWith(clientOf(signer)).toBytes();
    },
    "freeze-with-wallet": async ({ bytes, signer }) => {
      const wallet = new sdk.Wallet(signer.id, keyFor(sdk, signer));
      const frozen = await Transaction.fromBytes(bytes).freezeWithSigner(wallet);
      return (await frozen.signWithSigner(wallet)).toBytes();
    },
    set: ({ bytes }) => {
      Transaction.fromBytes(bytes).setTransactionMemo("Mine");
    },
    text: ({ byteArray }) => {
      Transaction.fromBytes(byteArray);
    },
  };
}

/** What is true of the bytes themselves, whichever wallet they are for. */
export const facts = {
  /** What a wallet finds to show. */
  shows: ({ bytes }) => {
    const transaction = hashgraph.Transaction.fromBytes(bytes);
    const kinds = ["AccountAllowanceApproveTransaction", "AccountAllowanceDeleteTransaction", "TransferTransaction"];
    return {
      type: kinds.find((kind) => transaction instanceof hashgraph[kind]),
      name: transaction.constructor.name,
      isOfAnotherSdk: kinds.some((kind) => transaction instanceof hiero[kind]),
      does: whatItDoes(transaction),
      memo: transaction.transactionMemo,
      payer: transaction.transactionId.accountId.toString(),
      maxFee: transaction.maxTransactionFee.toString(),
      validSeconds: transaction.transactionValidDuration,
      nodes: transaction.nodeAccountIds.map(String),
      isFrozen: transaction.isFrozen(),
      signatures: transaction.getSignatures().size === 0 ? 0 : countSignatures(bytes),
      isUnchanged: Buffer.from(transaction.toBytes()).equals(Buffer.from(bytes)),
      isEncodedAlike: isEncodedAlike(transaction, bytes),
    };
  },
  /** How often a signer is asked to sign: what a Ledger device shows. */
  presses: async ({ bytes, signer }) => {
    let presses = 0;
    const key = keyFor(hashgraph, signer);
    await hashgraph.Transaction.fromBytes(bytes).signWith(key.publicKey, async (message) => {
      presses += 1;
      return key.sign(message);
    });
    return { presses };
  },
};

/** Who may do what with which NFT, as an SDK reads it. */
function whatItDoes(transaction) {
  if (transaction instanceof hashgraph.AccountAllowanceApproveTransaction)
    return transaction.tokenNftApprovals.map((approval) => {
      const what = approval.allSerials ? "all" : `#${approval.serialNumbers}`;
      return `${approval.ownerAccountId} lets ${approval.spenderAccountId} spend ${approval.tokenId} ${what}`;
    }).join();
  if (transaction instanceof hashgraph.AccountAllowanceDeleteTransaction)
    return transaction.tokenNftAllowanceDeletions.map((deletion) =>
      `${deletion.ownerAccountId} lets nobody spend ${deletion.tokenId} #${deletion.serialNumbers}`).join();
  const moves = [...transaction.nftTransfers].flatMap(([token, transfers]) =>
    transfers.map(({ sender, recipient, serial, isApproved }) =>
      `${sender} gives ${recipient} ${token} #${serial}${isApproved ? " by approval" : ""}`));
  const payments = [...transaction.hbarTransfers].map(([account, amount]) => `${account} ${amount}`);
  return [...moves, ...payments].join(", ");
}

function countSignatures(bytes) {
  const [{ signedTransactionBytes }] = proto.TransactionList.decode(bytes).transactionList;
  return proto.SignedTransaction.decode(signedTransactionBytes).sigMap?.sigPair?.length ?? 0;
}

/** Whether the JavaScript SDK would write the body as it is: hedera_signTransaction signs what that writes. */
function isEncodedAlike(transaction, bytes) {
  const [{ signedTransactionBytes }] = proto.TransactionList.decode(bytes).transactionList;
  const { bodyBytes } = proto.SignedTransaction.decode(signedTransactionBytes);
  const body = transaction._makeTransactionBody(transaction.nodeAccountIds[0]);
  return Buffer.from(proto.TransactionBody.encode(body).finish()).equals(Buffer.from(bodyBytes));
}
