// Hedera's transactions, as far as a page needs them: the body of one as it stands, associations, and small transfers.
// Source: https://github.com/hiero-ledger/hiero-consensus-node/tree/main/hapi (TransactionList, TransactionBody)

import { decodeBase64, encodeBase64 } from "./envelope.js";

const TRANSACTION = 1, SIGNED_BYTES = 5, BODY_BYTES = 1; // fields of TransactionList, Transaction, SignedTransaction
const FEE_TINYBARS = 100_000_000n, ASSOCIATION_FEE_TINYBARS = 500_000_000n, VALID_SECONDS = 120n;

/** @typedef {{payer: string, memo?: string, nodes?: string[], seconds?: number, amounts?: [string, number][], isReversed?: boolean}} Transfer amounts in tinybars; isReversed: the body's fields in the opposite order, which is as valid */

/** The first body of a list of transactions, as it stands there. Both in base64. @param {string} byteArray */
export function bodyOf(byteArray) {
  const body = [TRANSACTION, SIGNED_BYTES, BODY_BYTES].reduce((content, field) => find(content, field), decodeBase64(byteArray));
  return encodeBase64(body);
}

/** The bytes of a message's first field with a number. @param {Uint8Array} content @param {number} number */
const find = (content, number) => {
  const found = readFields(content).find(([field]) => field === number);
  if (!found) throw new Error(`The transaction has no field ${number}`);
  return found[1];
};

/** The fields of a message that have bytes: [number, bytes]. @param {Uint8Array} content @returns {[number, Uint8Array][]} */
export function readFields(content) {
  const fields = [];
  let position = 0;
  const read = () => {
    for (let value = 0, factor = 1; position < content.length; factor *= 128) {
      const byte = content[position];
      position += 1;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
    throw new Error("The message is cut");
  };
  while (position < content.length) {
    const tag = read(), length = read();
    if (tag % 8 !== 2) throw new Error("The message has other fields");
    fields.push(/** @type {[number, Uint8Array]} */ ([Math.floor(tag / 8), content.subarray(position, position + length)]));
    position += length;
  }
  return fields;
}

/** A transfer, unsigned: its list of transactions, with one for each node, and its ID. @param {Transfer} transfer */
export function writeTransfer({ amounts = [], ...transfer }) {
  const moved = amounts.map(([accountId, amount]) => [1, message([1, account(accountId)], [2, zigzag(amount)])]);
  return write([14, message([1, message(...moved)])], transfer);
}

/** An account's association with a token, unsigned, as writeTransfer has it. @param {string} payer @param {string} token */
export function writeAssociation(payer, token) {
  return write([40, message([1, account(payer)], [2, account(token)])], { payer, fee: ASSOCIATION_FEE_TINYBARS });
}

/** @param {[number, number[]]} content @param {Omit<Transfer, "amounts"> & { fee?: bigint }} transaction */
function write(content, { payer, memo = "", nodes = ["0.0.3"], seconds = Date.now() / 1000 - 5, fee = FEE_TINYBARS, isReversed = false }) {
  const start = Math.floor(seconds), nanos = Math.floor(Math.random() * 1e9);
  const id = message([1, message([1, BigInt(start)], [2, BigInt(nanos)])], [2, account(payer)]);
  const bodies = nodes.map((node) => {
    const fields = [[1, id], [2, account(node)], [3, fee], [4, message([1, VALID_SECONDS])], [6, new TextEncoder().encode(memo)], content];
    return message(...(isReversed ? fields.reverse() : fields));
  });
  const list = message(...bodies.map((body) => [TRANSACTION, message([SIGNED_BYTES, message([BODY_BYTES, body], [2, []])])]));
  return { byteArray: encodeBase64(Uint8Array.from(list)), transactionId: `${payer}@${start}.${String(nanos).padStart(9, "0")}` };
}

const zigzag = (amount) => (amount < 0 ? BigInt(-amount) * 2n - 1n : BigInt(amount) * 2n);

// Zeros are written, too: some wallets encode a body again, and leave them out.
const account = (id) => message(...id.split(".").map((number, i) => [i + 1, BigInt(number)]));

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
