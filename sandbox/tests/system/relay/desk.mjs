// A wallet on one's desk, as its developer writes it: WalletConnect's library, Hedera's SDK, and a key. Takes
// {relayUrl, node, account, privateKey, keyType, chain, wallet, waitSeconds} as JSON; user.mjs has what its input is. Prints a line of JSON
// for what it does: {method, outcome}.
import { proto } from "@hiero-ledger/proto";
import { AccountId, Client, PrivateKey, Transaction } from "@hiero-ledger/sdk";
import { User } from "./user.mjs";
import { wallets } from "./wallets.mjs";

const given = JSON.parse(process.argv[2]);
const { relayUrl, node, account, privateKey, keyType, chain = "hedera:testnet", wallet = "walletkit 1.2.10", waitSeconds = 30 } = given;
const key = privateKey ? PrivateKey.fromStringDer(privateKey) : keyType === "ECDSA" ? PrivateKey.generateECDSA() : PrivateKey.generateED25519();
const client = Client.forNetwork({ [node]: new AccountId(3) });
const bytesOf = (text) => Buffer.from(text, "base64");
const OWN = `${chain}:${account}`;
const HTML = "<img src=x onerror=alert(1)>";
const user = new User({ waitSeconds });

function sign(content) {
  const name = keyType === "ECDSA" ? "ECDSASecp256k1" : "ed25519";
  const pair = { pubKeyPrefix: key.publicKey.toBytesRaw(), [name]: key.sign(content) };
  return Buffer.from(proto.SignatureMap.encode({ sigPair: [pair] }).finish()).toString("base64");
}

const METHODS = {
  async hedera_signAndExecuteTransaction({ transactionList }) {
    const signed = await Transaction.fromBytes(bytesOf(transactionList)).sign(key);
    const response = await signed.execute(client);
    await response.getReceipt(client);
    const { transactionId, nodeId, transactionHash } = response;
    return { transactionId: `${transactionId}`, nodeId: `${nodeId}`, transactionHash: Buffer.from(transactionHash).toString("hex") };
  },
  async hedera_signTransaction({ transactionBody }) {
    return { signatureMap: sign(bytesOf(transactionBody)) };
  },
  async hedera_signMessage({ message }) {
    return { signatureMap: sign(Buffer.from(`\x19Hedera Signed Message:\n${message.length}${message}`)) };
  },
};

async function answer({ chainId, request: { method, params } }) {
  try {
    const step = await user.decide();
    if (step === "invalid") return { transactionId: HTML, signatureMap: HTML };
    if (chainId !== chain || params.signerAccountId !== OWN) throw { code: 3001, message: "Another account or network." };
    if (step === "refuse") throw { code: 5000, message: "User rejected." };
    if (!METHODS[method]) throw { code: 5101, message: "Unsupported method." };
    const result = await METHODS[method](params);
    console.log(JSON.stringify({ method, outcome: "signed" }));
    return result;
  } catch (error) {
    console.log(JSON.stringify({ method, outcome: `${error.message ?? error}` }));
    throw error.code ? error : { code: 9000, message: `${error.status ?? error.message}`, data: `${error.status?._code ?? ""}` };
  }
}

// sign-client 2.11.2 throws into nowhere if a request is for another network: a browser logs it, Node.js ends.
process.on("unhandledRejection", () => {});
const opened = await wallets[wallet]({ relayUrl, accounts: [OWN], answer, admit: () => user.admits() });
console.log(JSON.stringify({ method: "start", outcome: key.publicKey.toStringRaw() }));
await user.follow({ pair: opened.pair, end: opened.end, relayer: opened.client.core.relayer });
process.exit();
