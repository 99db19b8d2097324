// What is checked before a wallet signs. Python's rules read the same cases: tests/market/tampered.py makes them.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { explain, parse, verify } from "../index.js";

const { marketplace, feeBasisPoints, orders, cases } = parse(readFileSync(new URL("../../../tests/market/tampered.json", import.meta.url), "utf8"));
const ordered = (name) => ({ kind: name.split(" ")[0], marketplace, feeBasisPoints, ...orders[name] });

for (const { order, case: name, isRight, transaction } of cases)
  test(`${order}: ${name}`, () => {
    if (isRight) assert.ok(verify(transaction, ordered(order)).transactionId);
    else assert.throws(() => verify(transaction, ordered(order)), { name: "MarketError", reason: "NOT_AS_ORDERED" });
  });

const right = (order) => cases.find((one) => one.order === order && one.isRight).transaction;
const OTHERS = {
  "another account": { accountId: "0.0.1003" },
  "another NFT": { serialNo: 8 },
  "another token": { tokenId: "0.0.7002" },
  "another price": { price: 251 },
  "another marketplace": { marketplace: "0.0.9002" },
  "no marketplace": { marketplace: undefined },
  "another seller": { seller: "0.0.1003" },
  "another kind": { kind: "withdraw" },
  "a kind of no market": { kind: "constructor" },
};
for (const order of ["list", "buy", "offer"])
  for (const [name, change] of Object.entries(OTHERS))
    if (order !== "list" || name !== "another seller")
      test(`${order}: the order names ${name}`, () => {
        assert.throws(() => verify(right(order), { ...ordered(order), ...change }), { reason: "NOT_AS_ORDERED" });
      });

test("an offer ends in time", () => {
  assert.throws(() => verify(right("offer"), { ...ordered("offer"), expiresIn: 6 }), /ends at/);
  assert.ok(verify(right("offer"), { ...ordered("offer"), expiresIn: undefined }));
});

test("any bytes are read, or refused with the same error", () => {
  const whole = Buffer.from(right("buy"), "base64");
  const damaged = [...whole.keys()].flatMap((at) => [whole.subarray(0, at), Buffer.concat([whole.subarray(0, at), Buffer.from([whole[at] ^ 0x55]), whole.subarray(at + 1)])]);
  for (const content of [...damaged, Buffer.from("<html>"), Buffer.alloc(9, 0xff)]) {
    try {
      explain(content.toString("base64"));
    } catch (error) {
      assert.equal(error.reason, "NOT_AS_ORDERED", error.stack);
    }
  }
  assert.throws(() => explain("no base64!"), { reason: "NOT_AS_ORDERED" });
});

test("it says who, what, to whom, for how much", () => {
  const found = explain(right("buy several"));
  assert.deepEqual({ ...found, validUntil: undefined }, {
    type: "TRANSFER",
    transactionId: "0.0.9001@1790000000.000000005",
    payer: "0.0.9001",
    node: "0.0.3",
    memo: "Buying 2 NFTs for 50000000250 HBAR on Foo",
    maxFee: 500_000_000n,
    validUntil: undefined,
    approvals: [],
    nfts: [
      { tokenId: "0.0.7001", serialNo: 7, from: "0.0.1001", to: "0.0.1002", isApproval: true },
      { tokenId: "0.0.7002", serialNo: 2n ** 63n - 1n, from: "0.0.1003", to: "0.0.1002", isApproval: true },
    ],
    payments: [
      { accountId: "0.0.1001", tinybars: 24_750_000_000n, isApproval: false },
      { accountId: "0.0.1002", tinybars: -5_000_000_025_000_000_000n, isApproval: false },
      { accountId: "0.0.1003", tinybars: 4_950_000_000_000_000_000n, isApproval: false },
      { accountId: "0.0.9001", tinybars: 50_000_000_250_000_000n, isApproval: false },
    ],
  });
  assert.equal(found.validUntil, "2026-09-21T14:16:20.000Z");
});
