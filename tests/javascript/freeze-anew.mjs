// What a wallet does that freezes byteArray with a client of its own: the SDK gives it a new transaction id.
// Usage: node freeze-anew.mjs 0.0.1001 < byteArray
import { readFileSync } from "node:fs";
import { AccountId, Client, PrivateKey, Transaction } from "@hashgraph/sdk";

const key = PrivateKey.generateED25519();
const client = Client.forNetwork({ "127.0.0.1:50211": new AccountId(3) });
client.setOperator(process.argv[2], key);

const bytes = Buffer.from(readFileSync(0, "utf8").trim(), "base64");
const transaction = Transaction.fromBytes(bytes).freezeWith(client);
const signed = await transaction.sign(key);
client.close();

console.log(JSON.stringify({
  transactionId: transaction.transactionId.toString(),
  signed: Buffer.from(signed.toBytes()).toString("base64"),
}));
