// npm install @hashgraph/sdk; node sign.mjs
import { PrivateKey, Transaction } from "@hashgraph/sdk";

const prepared = PREPARED;

const transaction = Transaction.fromBytes(Buffer.from(prepared.byteArray, "base64"));
const key = PrivateKey.generateED25519(); // yours: PrivateKey.fromStringED25519(...)
const signed = await transaction.sign(key);

console.log(Buffer.from(signed.toBytes()).toString("base64")); // paste it above
// On a real network: await signed.execute(Client.forTestnet()); a purchase is handed in instead
