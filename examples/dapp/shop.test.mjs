// A shop that delivers when the mirror node shows the payment. Beside hiero-sandbox: node --test shop.test.mjs
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { AccountId, Client, Hbar, PrivateKey, TransferTransaction } from "@hiero-ledger/sdk";
import { Sandbox } from "./testing.mjs"; // curl -O http://127.0.0.1:5551/testing.mjs

const { SANDBOX = "http://127.0.0.1:5551", NODE = "127.0.0.1:50211" } = process.env;
const shop = "0.0.1003";
const sandbox = new Sandbox(SANDBOX);
let client;

before(async () => {
  await sandbox.reset();
  const [, { accountId, privateKey }] = await sandbox.accounts();
  client = Client.forNetwork({ [NODE]: AccountId.fromString("0.0.3") });
  client.setOperator(accountId, PrivateKey.fromStringECDSA(privateKey));
});
after(() => client.close());

const pay = async (hbar) => {
  const payment = new TransferTransaction().addHbarTransfer(client.operatorAccountId, new Hbar(-hbar));
  await (await payment.addHbarTransfer(shop, new Hbar(hbar)).execute(client)).getReceipt(client);
};

const payments = async () => {
  const asked = `account.id=${shop}&type=credit&result=success`;
  const { transactions } = await (await fetch(`${sandbox.mirror}/transactions?${asked}`)).json();
  return transactions.map((transaction) => Number(transaction.consensus_timestamp));
};

test("it delivers once, and in time", async () => {
  const unpaid = await sandbox.snapshot();
  await sandbox.setLag(5);
  await pay(20);
  assert.deepEqual(await payments(), []); // paid, and the mirror node does not know
  await sandbox.moveClock(5);
  const [paidAt] = await payments();

  await sandbox.moveClock(86_400); // the offer ends
  await pay(20);
  await sandbox.moveClock(5);
  assert.ok(Math.max(...(await payments())) - paidAt >= 86_400);

  await sandbox.restore(unpaid);
  assert.deepEqual(await payments(), []);
});
