// The rows of the wallet check, with wallets that do something wrong: no relay and no market are needed for these.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ed25519 } from "@noble/curves/ed25519.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { ROWS, runCheck } from "../src/wallet-check.js";
import { decodeBase64, encodeBase64 } from "../src/envelope.js";
import { WalletError } from "../src/errors.js";
import { bodyOf, readFields } from "../src/transaction.js";

const ACCOUNT = { chain: "hedera:testnet", accountId: "0.0.1002" };
const USER = { tell: async () => true, ask: async () => null };
const secret = ed25519.utils.randomSecretKey(), secretEcdsa = secp256k1.utils.randomSecretKey();
const text = (words) => new TextEncoder().encode(words);
const MESSAGE = "I own this account.", PREFIXED = text(`\x19Hedera Signed Message:\n${MESSAGE.length}${MESSAGE}`);

const field = (number, bytes) => [number * 8 + 2, bytes.length, ...bytes];
const map = (...pairs) => ({ signatureMap: encodeBase64(Uint8Array.from(pairs.flatMap((pair) => field(1, pair)))) });
const pairOf = (content, key = ed25519.getPublicKey(secret)) => [...field(1, key), ...field(3, ed25519.sign(content, secret))];
const sign = (content) => map(pairOf(content));
const signEcdsa = (content) => map([
  ...field(1, secp256k1.getPublicKey(secretEcdsa)),
  ...field(6, secp256k1.sign(keccak_256(content), secretEcdsa, { prehash: false }))]);

/** The result of one row, with a wallet's answer, and what the ledger then has of each transaction. */
async function run(id, answer, rows = []) {
  const link = Object.assign(new EventTarget(), { account: ACCOUNT, session: { accounts: [ACCOUNT] }, request: async (...asked) => answer(...asked) });
  const market = {
    wallet: "extwallet",
    api: async () => ({ ok: false, status: 404, data: {}, message: "There is no market here" }),
    sandbox: async (path) =>
      path === "/sign" ? { ok: true, data: { transaction: "AA==" } } : { ok: true, data: { transactions: rows.map((row) => ({ ...row, transaction_id: lastId })) } },
  };
  const results = await runCheck({ link, market, user: USER });
  assert.equal(results.length, ROWS.length);
  return results.find((result) => result.id === id);
}

/** The ID in a list of transactions, as mirror nodes write it. */
let lastId = "";
function read(transactionList) {
  const body = decodeBase64(bodyOf(transactionList));
  const [[, id]] = [readNumbers(body)].map((fields) => fields.find(([number]) => number === 1));
  const fields = readNumbers(id);
  const [seconds, nanos] = readNumbers(fields.find(([number]) => number === 1)[1]).map(([, value]) => value);
  const account = readNumbers(fields.find(([number]) => number === 2)[1]).map(([, value]) => value).join(".");
  lastId = `${account}-${seconds}-${String(nanos).padStart(9, "0")}`;
  return `${account}@${seconds}.${nanos}`;
}

function readNumbers(content) {
  const fields = [];
  let position = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = BigInt(content[position]);
      position += 1;
      value |= (byte & 127n) << shift;
      if (byte < 128n) return Number(value);
    }
  };
  while (position < content.length) {
    const tag = varint();
    const value = varint();
    if (tag % 8 === 0) fields.push([tag >> 3, value]);
    else {
      fields.push([tag >> 3, content.subarray(position, position + value)]);
      position += value;
    }
  }
  return fields;
}

const execute = (make = (transactionId) => ({ transactionId })) => (_, { transactionList }) => (transactionList ? make(read(transactionList)) : {});
const refuse = (error) => () => {
  throw error;
};
const ON_LEDGER = [{ result: "SUCCESS" }];

for (const [what, id, answer, expected] of [
  ["the literal body", "literal", (_, { transactionBody }) => sign(decodeBase64(transactionBody ?? "")), "right"],
  ["the literal body with an ECDSA key", "literal", (_, { transactionBody }) => signEcdsa(decodeBase64(transactionBody ?? "")), "right"],
  ["other bytes", "literal", () => sign(text("other")), "not of these bytes"],
  ["a cut prefix", "literal", (_, { transactionBody }) => map(pairOf(decodeBase64(transactionBody ?? ""), ed25519.getPublicKey(secret).slice(0, 6))), "pubKeyPrefix has 6 bytes"],
  ["two signatures", "literal", (_, { transactionBody }) => map(pairOf(text("x")), pairOf(decodeBase64(transactionBody ?? ""))), "2 signatures"],
  ["no signature", "literal", () => ({ signatureMap: "" }), "0 signatures"],
  ["what is no map", "literal", () => ({ signatureMap: "////" }), ""],
  ["nothing", "literal", () => null, "no signatureMap"],
  ["a message with the prefix", "message", () => sign(PREFIXED), "right"],
  ["a message without it", "message", () => sign(text(MESSAGE)), "not of these bytes"],
  ["a kind of key", "ed25519", (_, { transactionBody }) => sign(decodeBase64(transactionBody ?? "")), "right"],
  ["no key of a kind", "ecdsa", (_, { transactionBody }) => sign(decodeBase64(transactionBody ?? "")), "not tried"],
  ["a refusal", "refuse", refuse(new WalletError("REFUSED", "No.", { code: 5000 })), "right"],
  ["a refusal with another code", "refuse", refuse(new WalletError("WALLET", "No.", { code: 77 })), "code 5000"],
  ["a success in place of a refusal", "refuse", () => ({}), "as if it had submitted it"],
  ["silence", "expired", refuse(new WalletError("TIMEOUT", "Late.")), "does not answer"],
  ["no relay", "nodes", refuse(new WalletError("RELAY", "Away.")), "failed"],
])
  test(`${what} is found: ${id}`, async () => {
    const { result, answered } = await run(id, answer);
    if (["right", "not tried", "failed"].includes(expected)) return assert.equal(result, expected, answered);
    assert.equal(result, "wrong");
    assert.ok(answered.includes(expected), answered);
  });

for (const [what, id, answer, rows, expected] of [
  ["what it submitted", "late", execute(), ON_LEDGER, ""],
  ["another transaction", "late", execute(() => ({ transactionId: "0.0.1002@1.2" })), ON_LEDGER, "another transaction"],
  ["what is not on the ledger", "late", execute(), [], "the ledger does not have it"],
  ["what the ledger refused", "late", execute(), [{ result: "INVALID_SIGNATURE" }], "INVALID_SIGNATURE"],
  ["no ID", "late", execute(() => ({})), ON_LEDGER, "no transactionId"],
  ["a refusal of what it submitted", "account", execute((id) => refuse(new WalletError("LEDGER", `No ${id}.`))()), ON_LEDGER, "signed and submitted"],
])
  test(`${what} is found: ${id}`, async () => {
    const { result, answered } = await run(id, answer, rows);
    assert.equal(result, expected ? "wrong" : "right", answered);
    assert.ok(answered.includes(expected), answered);
  });
