// The rows of docs/wallets.md: each is given what was prepared, and does with it what the row says. What it
// returns, if anything, are the signed bytes that a dApp submits itself.
import { Transaction, AccountId } from "@hashgraph/sdk";
import * as hashgraph from "@hashgraph/sdk";
import * as hiero279 from "@hiero-ledger/sdk";
import * as hiero from "hiero-sdk";
import * as old from "hashgraph-sdk-2.41";
import { proto } from "@hiero-ledger/proto";

const base64 = (bytes) => Buffer.from(bytes).toString("base64");

/** A client with an operator: it reaches no network, and is asked for none. */
function clientOf(sdk, { id, key }) {
  const client = sdk.Client.forTestnet();
  client.setOperator(id, sdk.PrivateKey.fromStringDer(key.toStringDer()));
  return client;
}

const keyOf = (sdk, { key }) => sdk.PrivateKey.fromStringDer(key.toStringDer());

export const hashconnect0 = ({ hashconnect, topic }) => {
  const send = async (byteArray, metadata) => {
    const answer = await hashconnect.sendTransaction(topic, { topic, byteArray, metadata });
    if (!answer.success) throw new Error(answer.error);
    return answer.signedTransaction;
  };
  const signerOf = ({ id }) =>
    hashconnect.getSigner(hashconnect.getProvider("testnet", topic, id));
  return {
    "hashconnect0-bytes": ({ bytes, metadata }) => send(new Uint8Array(bytes), metadata),
    "hashconnect0-text": ({ byteArray, metadata }) => send(byteArray, metadata),
    "hashconnect0-return": ({ bytes, metadata }) =>
      send(new Uint8Array(bytes), { ...metadata, returnTransaction: true }),
    "hashconnect0-execute-with-signer": async ({ bytes, signer }) => {
      await Transaction.fromBytes(bytes).executeWithSigner(signerOf(signer));
    },
    "hashconnect0-sign-with-signer": async ({ bytes, signer }) =>
      (await Transaction.fromBytes(bytes).signWithSigner(signerOf(signer))).toBytes(),
    "hashconnect0-freeze-with-signer": async ({ bytes, signer }) => {
      await Transaction.fromBytes(bytes).freezeWithSigner(signerOf(signer));
    },
  };
};

export const hashconnect3 = (hashconnect) => {
  const read = (bytes) => old.Transaction.fromBytes(bytes);
  const account = ({ id }) => old.AccountId.fromString(id);
  const signerOf = (signer) => hashconnect.getSigner(account(signer));
  return {
    "hashconnect3-send": async ({ bytes, signer }) => {
      await hashconnect.sendTransaction(account(signer), read(bytes));
    },
    "hashconnect3-bytes": async ({ bytes, signer }) => {
      await hashconnect.sendTransaction(account(signer), new Uint8Array(bytes));
    },
    "hashconnect3-text": async ({ byteArray, signer }) => {
      await hashconnect.sendTransaction(account(signer), byteArray);
    },
    "hashconnect3-another-sdk": async ({ bytes, signer }) => {
      await hashconnect.sendTransaction(AccountId.fromString(signer.id), Transaction.fromBytes(bytes));
    },
    "hashconnect3-sign-and-return": async ({ bytes, signer }) =>
      (await hashconnect.signAndReturnTransaction(account(signer), read(bytes))).toBytes(),
    "hashconnect3-sign": async ({ bytes, signer }) =>
      (await hashconnect.signTransaction(account(signer), read(bytes))).toBytes(),
    "hashconnect3-execute-with-signer": async ({ bytes, signer }) => {
      await read(bytes).executeWithSigner(signerOf(signer));
    },
    "hashconnect3-sign-with-signer": async ({ bytes, signer }) =>
      (await read(bytes).signWithSigner(signerOf(signer))).toBytes(),
    "hashconnect3-freeze-with-signer": async ({ bytes, signer }) => {
      await read(bytes).freezeWithSigner(signerOf(signer));
    },
    "hashconnect3-populate": async ({ bytes, signer }) => {
      await signerOf(signer).populateTransaction(read(bytes));
    },
  };
};

export const walletConnect = (connector) => {
  const read = (bytes) => hiero279.Transaction.fromBytes(bytes);
  const signerOf = ({ id }) => connector.getSigner(hiero279.AccountId.fromString(id));
  const caip = ({ id }) => `hedera:testnet:${id}`;
  const bodyOf = (bytes) => {
    const [{ signedTransactionBytes }] = proto.TransactionList.decode(bytes).transactionList;
    return proto.SignedTransaction.decode(signedTransactionBytes).bodyBytes;
  };
  return {
    "walletconnect-text": async ({ byteArray, signer }) => {
      await connector.signAndExecuteTransaction({
        signerAccountId: caip(signer), transactionList: byteArray,
      });
    },
    "walletconnect-bytes": async ({ bytes, signer }) => {
      await connector.signAndExecuteTransaction({
        signerAccountId: caip(signer), transactionList: new Uint8Array(bytes),
      });
    },
    "walletconnect-twice-encoded": async ({ byteArray, signer }) => {
      await connector.signAndExecuteTransaction({
        signerAccountId: caip(signer), transactionList: btoa(byteArray),
      });
    },
    "walletconnect-execute-with-signer": async ({ bytes, signer }) => {
      await read(bytes).executeWithSigner(signerOf(signer));
    },
    "walletconnect-call": async ({ bytes, signer }) => {
      await signerOf(signer).call(read(bytes));
    },
    "walletconnect-another-sdk": async ({ bytes, signer }) => {
      await hiero.Transaction.fromBytes(bytes).executeWithSigner(signerOf(signer));
    },
    "walletconnect-sign": async ({ bytes, signer }) =>
      (await signerOf(signer).signTransaction(read(bytes))).toBytes(),
    "walletconnect-sign-by-connector": async ({ bytes, signer }) => {
      const signed = await connector.signTransaction({
        signerAccountId: caip(signer), transactionBody: read(bytes),
      });
      return signed.toBytes();
    },
    "walletconnect-sign-body": async ({ bytes, signer }) => {
      const { signatureMap } = await connector.signTransaction({
        signerAccountId: caip(signer), transactionBody: base64(bodyOf(bytes)),
      });
      const { sigPair } = proto.SignatureMap.decode(Buffer.from(signatureMap, "base64"));
      const signature = sigPair[0].ed25519 || sigPair[0].ECDSASecp256k1;
      return read(bytes).addSignature(keyOf(hiero279, signer).publicKey, signature).toBytes();
    },
    "walletconnect-sign-list": async ({ byteArray, bytes, signer }) => {
      const { signatureMap } = await connector.signTransaction({
        signerAccountId: caip(signer), transactionBody: byteArray,
      });
      const { sigPair } = proto.SignatureMap.decode(Buffer.from(signatureMap, "base64"));
      const signature = sigPair[0].ed25519 || sigPair[0].ECDSASecp256k1;
      return read(bytes).addSignature(keyOf(hiero279, signer).publicKey, signature).toBytes();
    },
    "walletconnect-sign-with-signer": async ({ bytes, signer }) =>
      (await read(bytes).signWithSigner(signerOf(signer))).toBytes(),
    "walletconnect-freeze-with-signer": async ({ bytes, signer }) => {
      await read(bytes).freezeWithSigner(signerOf(signer));
    },
    "walletconnect-populate": async ({ bytes, signer }) => {
      await signerOf(signer).populateTransaction(read(bytes));
    },
  };
};

const sdkRows = (name, sdk) => ({
  [`${name}-sign`]: async ({ bytes, signer }) =>
    (await sdk.Transaction.fromBytes(bytes).sign(keyOf(sdk, signer))).toBytes(),
  [`${name}-unsigned`]: ({ bytes }) => sdk.Transaction.fromBytes(bytes).toBytes(),
  [`${name}-another-key`]: async ({ bytes }) =>
    (await sdk.Transaction.fromBytes(bytes).sign(sdk.PrivateKey.generateED25519())).toBytes(),
  [`${name}-freeze-anew`]: async ({ bytes, signer }) => {
    const frozen = sdk.Transaction.fromBytes(bytes).freezeWith(clientOf(sdk, signer));
    return (await frozen.sign(keyOf(sdk, signer))).toBytes();
  },
  [`${name}-sign-then-freeze`]: async ({ bytes, signer }) => {
    const signed = await sdk.Transaction.fromBytes(bytes).sign(keyOf(sdk, signer));
    return signed.freezeWith(clientOf(sdk, signer)).toBytes();
  },
  [`${name}-set`]: ({ bytes }) => {
    sdk.Transaction.fromBytes(bytes).setTransactionMemo("Mine");
  },
  [`${name}-text`]: ({ byteArray }) => {
    sdk.Transaction.fromBytes(byteArray);
  },
});

export const sdks = {
  ...sdkRows("hashgraph", hashgraph),
  ...sdkRows("hiero", hiero),
};
