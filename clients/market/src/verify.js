// Whether a transaction is exactly what was ordered. Whoever checks it before signing needs not trust the service.

import { MarketError } from "./errors.js";
import { explain } from "./explain.js";
import { isEntity, TINYBARS, whole } from "./ids.js";
import { isMemo, memosOf } from "./memos.js";

const MOST_HBAR = 50_000_000_000n;
const MOST_FEE = 10n * TINYBARS;
const BASIS = 10_000n;
const MOST_DAYS = 60;
const DAY_MS = 86_400_000;

/**
 * @typedef {object} Ordered the order as it was given to the market, and what it is about
 * @property {import("./trade.js").Kind} kind
 * @property {string} accountId that signs
 * @property {string} [tokenId]
 * @property {number | bigint | string} [serialNo]
 * @property {(number | bigint | string)[]} [serialNos]
 * @property {{ tokenId: string, serialNo: number | bigint | string, expectedPrice?: number, price?: number }[]} [nfts]
 * @property {number | bigint | string} [price] in HBAR; listingPrice, expectedPrice and offerPrice count as well
 * @property {number | bigint | string} [listingPrice]
 * @property {number | bigint | string} [expectedPrice]
 * @property {number | bigint | string} [offerPrice]
 * @property {number | bigint | string} [expiresIn] days after which an offer ends at the latest
 * @property {string} [offerId]
 * @property {string} [marketplace] its account: needed for list, buy and offer
 * @property {string} [seller] the NFT's owner, if it is known
 * @property {number} [feeBasisPoints] the least part of an offer's price that the marketplace takes
 */

const refuse = (why) => new MarketError("NOT_AS_ORDERED", `The transaction is not as ordered: ${why}`);
const require = (isTrue, why) => {
  if (!isTrue) throw refuse(why);
};

/**
 * Throw a MarketError with the reason NOT_AS_ORDERED unless a transaction is exactly this order.
 * @param {string} byteArray in base64, unsigned or signed
 * @param {Ordered} order
 * @returns {import("./explain.js").Explanation} what it does
 */
export function verify(byteArray, order) {
  /** @type {((found: any, wanted: any) => void) | undefined} */
  const check = Object.hasOwn(CHECKS, order.kind) ? CHECKS[order.kind] : undefined;
  if (!check || !isEntity(order.accountId)) throw refuse("the order names no kind, or no account");
  const found = explain(byteArray);
  const nfts = (order.nfts ?? (order.serialNos ?? [order.serialNo]).map((serialNo) => ({ ...order, serialNo }))).map(nftOf);
  const wanted = { ...order, nfts, price: nfts[0]?.price, memos: memosOf(aboutOf(order.kind, nfts)) };
  require(found.maxFee <= MOST_FEE, "its fee is too high");
  require(order.kind === "buy" || found.payer === order.accountId, `${found.payer} pays for it`);
  check(found, wanted);
  return found;
}

/** @param {any} order of one NFT */
function nftOf({ tokenId, serialNo, price, listingPrice, expectedPrice, offerPrice }) {
  const hbar = whole(price ?? listingPrice ?? expectedPrice ?? offerPrice);
  return { tokenId, serialNo: whole(serialNo), price: hbar !== null && hbar >= 1n && hbar <= MOST_HBAR ? hbar : null };
}

function aboutOf(kind, nfts) {
  const price = kind === "buy" ? sum(nfts.map((nft) => nft.price ?? 0n)) : nfts[0]?.price;
  return { kind, tokenId: nfts[0]?.tokenId, serialNos: nfts.map(({ serialNo }) => serialNo), price };
}

const sum = (amounts) => amounts.reduce((all, amount) => all + amount, 0n);
const keyOf = ({ tokenId, serialNo }) => `${tokenId}:${serialNo}`;
const keys = (nfts) => nfts.map(keyOf).sort().join();

const CHECKS = {
  list(found, { accountId, marketplace, nfts, price, memos }) {
    require(price !== null, "the order has no price");
    requireApproval("APPROVE", found, nfts, accountId);
    const [{ spender }] = found.approvals;
    require(isEntity(marketplace) && spender === marketplace, `it lets ${spender} spend the NFTs`);
    require(isMemo(found.memo, memos), `its memo is “${found.memo}”`);
  },

  withdraw(found, { accountId, nfts, memos }) {
    requireApproval("REMOVE_APPROVAL", found, nfts, accountId);
    require(isMemo(found.memo, memos), `its memo is “${found.memo}”`);
  },

  buy(found, { accountId, marketplace, nfts, memos, seller }) {
    require(found.type === "TRANSFER", `it is ${found.type}`);
    require(isEntity(marketplace) && found.payer === marketplace && marketplace !== accountId, `${found.payer} pays for it`);
    require(nfts.every(({ price }) => price !== null), "the order has no price");
    require(found.nfts.every(({ isApproval }) => isApproval), "the marketplace does not move the NFTs");
    requireSale(found, { accountId, marketplace, nfts, seller });
    require(isMemo(found.memo, memos), `its memo is “${found.memo}”`);
  },

  offer(found, { accountId, marketplace, nfts, memos, seller, expiresIn = MOST_DAYS, feeBasisPoints = 0 }) {
    const { schedule } = found;
    require(found.type === "SCHEDULE_CREATE" && schedule, `it is ${found.type}`);
    require(isEntity(marketplace) && marketplace !== accountId, "the order has no marketplace");
    require(nfts.length === 1 && nfts[0].price !== null, "the order has no price, or several NFTs");
    require(schedule.payer === accountId, `${schedule.payer} pays for the sale`);
    require(!schedule.waitsForExpiry, "it waits for its expiry");
    const latest = Date.parse(found.validUntil) + Number(whole(expiresIn) ?? 0) * DAY_MS;
    require(Date.parse(schedule.expiresAt ?? found.validUntil) <= latest, `it ends at ${schedule.expiresAt}`);
    require(schedule.maxFee >= 1n && schedule.maxFee <= MOST_FEE, "the sale's fee has no cap, or a high one");
    require(schedule.nfts.every(({ isApproval }) => !isApproval), "the NFT is moved by an approval");
    requireSale(schedule, { accountId, marketplace, nfts, seller });
    const part = sum(schedule.payments.filter((paid) => paid.accountId === marketplace).map((paid) => paid.tinybars));
    const least = (nfts[0].price * TINYBARS * BigInt(feeBasisPoints)) / BASIS;
    require(part >= least || schedule.nfts[0].from === marketplace, "the marketplace gets less than it asks for");
    const written = [found.memo, schedule.memo, schedule.ownMemo];
    require(written.every((memo) => isMemo(memo, memos)) && schedule.memo === schedule.ownMemo, `its memos are “${written.join("”, “")}”`);
  },

  accept(found, { offerId, price }) {
    requireSchedule("SCHEDULE_SIGN", found, offerId);
    require(price !== null && found.memo.includes(` for ${price} HBAR`), `its memo is “${found.memo}”`);
  },

  withdrawOffer(found, { offerId }) {
    requireSchedule("SCHEDULE_DELETE", found, offerId);
  },
};

function requireSchedule(type, found, offerId) {
  require(found.type === type, `it is ${found.type}`);
  require(isEntity(offerId) && found.scheduleId === offerId, `it is about the offer ${found.scheduleId}`);
}

function requireApproval(type, found, nfts, accountId) {
  require(found.type === type, `it is ${found.type}`);
  require(found.approvals.length === 1, `it names ${found.approvals.length} collections`);
  const [{ tokenId, serialNos, owner }] = found.approvals;
  require(owner === accountId, `it is about NFTs of ${owner}`);
  const named = serialNos.map((serialNo) => ({ tokenId, serialNo }));
  require(keys(named) === keys(nfts), `it is about ${keys(named)}`);
}

/** Each NFT comes to the account, which pays their prices and nothing else; only owners and the marketplace are paid. */
function requireSale({ nfts: moved, payments }, { accountId, marketplace, nfts, seller }) {
  require(keys(moved) === keys(nfts), `it moves ${keys(moved)}`);
  for (const { from, to } of moved) {
    require(to === accountId, `${to} gets an NFT`);
    require(from !== accountId && (!seller || from === seller), `${from} gives an NFT`);
  }
  const accounts = payments.map((paid) => paid.accountId);
  require(new Set(accounts).size === accounts.length, "it pays an account twice");
  require(payments.every(({ isApproval }) => !isApproval), "somebody pays by an approval");
  const own = payments.find((paid) => paid.accountId === accountId);
  const tinybars = sum(nfts.map(({ price }) => price)) * TINYBARS;
  require(own?.tinybars === -tinybars, `${accountId} pays ${-(own?.tinybars ?? 0n)} tinybars`);
  require(sum(payments.map((paid) => paid.tinybars)) === 0n, "what is paid is not what is received");
  const mayReceive = new Set([marketplace, ...moved.map(({ from }) => from)]);
  for (const { accountId: other, tinybars: amount } of payments)
    require(other === accountId || (amount > 0n && mayReceive.has(other)), `${other} receives ${amount} tinybars`);
}
