// What a transaction does, read from its bytes: who, what, to whom, for how much. It knows the market's six kinds only.
// Source: https://github.com/hiero-ledger/hiero-consensus-node/tree/main/hapi

import { MarketError } from "./errors.js";
import { decodeBase64, outline, read } from "./protobuf.js";

const SIGNED_BYTES = 5, BODY_BYTES = 4, IN_SIGNED = 1, IN_LIST = 1; // of Transaction, SignedTransaction, TransactionList
const SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** @typedef {import("./protobuf.js").Schema} Schema */
/** @type {Schema} */
const ENTITY = { 1: ["shard", "int"], 2: ["realm", "int"], 3: ["number", "int"] };
/** @type {Schema} */
const TIMESTAMP = { 1: ["seconds", "int"], 2: ["nanos", "int"] };
/** @type {Schema} */
const KEY_LIST = { 1: ["keys", "bytes", "repeated"] };
/** @type {Schema} */
const KEY = { 2: ["ed25519", "bytes"], 5: ["threshold", { 1: ["threshold", "int"], 2: ["keys", KEY_LIST] }], 6: ["list", KEY_LIST], 7: ["ecdsa", "bytes"] };
/** @type {Schema} */
const TRANSFER = {
  1: ["hbar", { 1: ["amounts", { 1: ["account", ENTITY], 2: ["amount", "zigzag"], 3: ["isApproval", "bool"] }, "repeated"] }],
  2: ["tokens", {
    1: ["token", ENTITY],
    3: ["nfts", { 1: ["from", ENTITY], 2: ["to", ENTITY], 3: ["serialNo", "int"], 4: ["isApproval", "bool"] }, "repeated"],
  }, "repeated"],
};
/** @type {Schema} */
const SCHEDULABLE = { 1: ["fee", "int"], 2: ["memo", "text"], 9: ["transfer", TRANSFER] };
/** @type {Schema} */
const BODY = {
  1: ["id", { 1: ["start", TIMESTAMP], 2: ["account", ENTITY], 3: ["isScheduled", "bool"], 4: ["nonce", "int"] }],
  2: ["node", ENTITY],
  3: ["fee", "int"],
  4: ["duration", { 1: ["seconds", "int"] }],
  6: ["memo", "text"],
  14: ["transfer", TRANSFER],
  42: ["scheduleCreate", { 1: ["scheduled", SCHEDULABLE], 2: ["memo", "text"], 3: ["adminKey", KEY], 4: ["payer", ENTITY], 5: ["expiry", TIMESTAMP], 13: ["waits", "bool"] }],
  43: ["scheduleDelete", { 1: ["schedule", ENTITY] }],
  44: ["scheduleSign", { 1: ["schedule", ENTITY] }],
  48: ["approve", { 2: ["nfts", { 1: ["token", ENTITY], 2: ["owner", ENTITY], 3: ["spender", ENTITY], 4: ["serialNos", "int", "repeated"] }, "repeated"] }],
  49: ["remove", { 2: ["nfts", { 1: ["token", ENTITY], 2: ["owner", ENTITY], 3: ["serialNos", "int", "repeated"] }, "repeated"] }],
};
const TYPES = { transfer: "TRANSFER", scheduleCreate: "SCHEDULE_CREATE", scheduleDelete: "SCHEDULE_DELETE", scheduleSign: "SCHEDULE_SIGN", approve: "APPROVE", remove: "REMOVE_APPROVAL" };

/** @typedef {{ tokenId: string, serialNo: number | bigint, from: string, to: string, isApproval: boolean }} Moved */
/** @typedef {{ accountId: string, tinybars: bigint, isApproval: boolean }} Paid */
/**
 * @typedef {object} Explanation amounts are in tinybars
 * @property {string} type APPROVE, REMOVE_APPROVAL, TRANSFER, SCHEDULE_CREATE, SCHEDULE_SIGN or SCHEDULE_DELETE
 * @property {string} transactionId
 * @property {string} payer of the network's fee
 * @property {string} node
 * @property {string} memo
 * @property {bigint} maxFee
 * @property {string} validUntil in UTC
 * @property {{ tokenId: string, serialNos: (number | bigint)[], owner: string, spender?: string }[]} approvals that are given, or removed
 * @property {Moved[]} nfts
 * @property {Paid[]} payments
 * @property {string} [scheduleId]
 * @property {{ payer?: string, memo: string, maxFee: bigint, ownMemo: string, expiresAt: string | null, waitsForExpiry: boolean, nfts: Moved[], payments: Paid[] }} [schedule] ownMemo: of the transaction that it executes
 */

/**
 * Say what a transaction does. Throws a MarketError if it does anything that this reader does not know.
 * @param {string} byteArray in base64, unsigned or signed
 * @returns {Explanation}
 */
export function explain(byteArray) {
  const body = read(bodyOf(decodeBase64(byteArray)), BODY);
  const types = Object.keys(TYPES).filter((type) => type in body);
  const { start = {}, account, isScheduled, nonce } = body.id ?? {};
  if (types.length !== 1 || !account || isScheduled || nonce) throw new MarketError("NOT_AS_ORDERED", "The transaction can't be read: it is none of a market's");
  const { seconds = 0n, nanos = 0n } = start;
  const payer = entity(account);
  return {
    type: TYPES[types[0]],
    transactionId: `${payer}@${seconds}.${String(nanos).padStart(9, "0")}`,
    payer,
    node: entity(body.node),
    memo: body.memo ?? "",
    maxFee: body.fee ?? 0n,
    validUntil: date(seconds + (body.duration?.seconds ?? 0n)),
    approvals: (body.approve ?? body.remove)?.nfts.map(approvalOf) ?? [],
    ...transferOf(body.transfer),
    ...scheduleOf(body),
  };
}

/** @param {Uint8Array} content of a TransactionList with one transaction, or of a Transaction */
function bodyOf(content) {
  let transaction = outline(content);
  const isList = !transaction.has(SIGNED_BYTES) && !transaction.has(BODY_BYTES);
  if (isList && transaction.get(IN_LIST) instanceof Uint8Array) transaction = outline(transaction.get(IN_LIST));
  const wrapped = transaction.get(SIGNED_BYTES);
  const body = wrapped ? outline(wrapped).get(IN_SIGNED) : transaction.get(BODY_BYTES);
  if (!(body instanceof Uint8Array)) throw new MarketError("NOT_AS_ORDERED", "The transaction can't be read: it has no body");
  return body;
}

function scheduleOf({ scheduleCreate, scheduleSign, scheduleDelete }) {
  const named = scheduleSign ?? scheduleDelete;
  if (named) return { scheduleId: entity(named.schedule) };
  if (!scheduleCreate) return {};
  const { scheduled = {}, memo = "", payer, expiry, waits = false } = scheduleCreate;
  const schedule = { payer: payer && entity(payer), memo, maxFee: scheduled.fee ?? 0n, ownMemo: scheduled.memo ?? "", expiresAt: expiry ? date(expiry.seconds ?? 0n) : null, waitsForExpiry: waits };
  return { schedule: { ...schedule, ...transferOf(scheduled.transfer) } };
}

function approvalOf({ token, owner, spender, serialNos }) {
  return { tokenId: entity(token), serialNos: serialNos.map(number), owner: entity(owner), ...(spender && { spender: entity(spender) }) };
}

function transferOf(transfer) {
  const payments = transfer?.hbar?.amounts.map(({ account, amount = 0n, isApproval = false }) => ({ accountId: entity(account), tinybars: amount, isApproval }));
  const nfts = transfer?.tokens.flatMap(({ token, nfts: moved }) =>
    moved.map(({ from, to, serialNo = 0n, isApproval = false }) => ({ tokenId: entity(token), serialNo: number(serialNo), from: entity(from), to: entity(to), isApproval })));
  return { nfts: nfts ?? [], payments: payments ?? [] };
}

const entity = ({ shard = 0n, realm = 0n, number: own = 0n } = {}) => `${shard}.${realm}.${own}`;
const number = (value) => (value <= SAFE && value >= -SAFE ? Number(value) : value);

function date(seconds) {
  const milliseconds = Number(seconds) * 1000;
  return Math.abs(milliseconds) <= 8.64e15 ? new Date(milliseconds).toISOString() : "";
}
