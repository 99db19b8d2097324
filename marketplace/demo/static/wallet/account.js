// The account of a connected wallet: in the sandbox, the first key that signs for an account becomes its key.

import { sandbox } from "../addresses.js";
import { get } from "../call.js";

const NODE = [0n, 0n, 3n], FEE_TINYBARS = 100_000_000n, VALID_SECONDS = 120n;
const MEMO = "Create my account in the sandbox";

/** Whether an account has a key on the ledger. @param {string} accountId */
export async function hasKey(accountId) {
  const { ok, data } = await get(sandbox("/api/v1/accounts/{id}", { id: accountId }));
  return !ok || data.key !== null; // unknown: nothing to offer
}

/** A transaction that moves nothing, for the account's first signature, in base64. @param {string} accountId */
export function firstTransaction(accountId) {
  const seconds = BigInt(Math.floor(Date.now() / 1000) - 5);
  const start = message([1, seconds], [2, BigInt(Math.floor(Math.random() * 1e9))]);
  const id = message([1, start], [2, account(accountId.split(".").map(BigInt))]);
  const duration = message([1, VALID_SECONDS]);
  const body = message([1, id], [2, account(NODE)], [3, FEE_TINYBARS], [4, duration], [6, new TextEncoder().encode(MEMO)], [14, message([1, []])]);
  const signed = message([1, body], [2, []]);
  return btoa(String.fromCharCode(...message([1, message([5, signed])])));
}

const account = (numbers) => message(...numbers.map((number, i) => [i + 1, number]));

/** A message of protobuf: fields by number, each a varint (bigint) or bytes. @returns {number[]} */
function message(...fields) {
  return fields.flatMap(([number, value]) =>
    typeof value === "bigint"
      ? [...varint(BigInt(number) << 3n), ...varint(value)]
      : [...varint((BigInt(number) << 3n) | 2n), ...varint(BigInt(value.length)), ...value]);
}

function varint(value) {
  const bytes = [];
  for (; value > 127n; value >>= 7n) bytes.push(Number(value & 127n) | 128);
  return [...bytes, Number(value)];
}
