// A trade: prepared by the service, checked here, signed by a wallet, handed in or reported, and confirmed by the ledger.

import { MarketError, REFUSAL_WORDS } from "./errors.js";
import { pause } from "./http.js";
import { isEntity } from "./ids.js";
import { verify } from "./verify.js";

const PATIENCE_MS = 15_000; // with the ledger; then a trade stays kept
const OVER_MS = 600_000; // no transaction is valid for longer
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const TRANSACTION_ID = /^\d+\.\d+\.\d+[@-]\d+[.-]\d{1,9}$/;
// What a wallet's refusal looks like: of WalletConnect, of the wallet link, and in words.
const REFUSAL_CODES = [4001, 5000, 9000];
const REFUSAL_KINDS = ["REFUSED", "LEDGER", "WALLET", "ENDED"];
// Refusals of what is handed in that are no 409: nothing was submitted, and nothing is kept.
const NOT_TAKEN = ["BUYING_OFF", "BUYING_PAUSED", "PURCHASE_IN_PROGRESS", "TOO_MANY_FAILED"];

export const PREPARE = /** @type {const} */ ({
  list: "prepare_listing",
  withdraw: "prepare_withdrawal",
  buy: "prepare_purchase",
  offer: "make_offer_for_nft",
  accept: "accept_offer",
  withdrawOffer: "withdraw_offer",
});
const PRICED = { buy: "expectedPrice", accept: "expectedPrice" };

/** @typedef {keyof typeof PREPARE} Kind */
/** @typedef {number | bigint} Whole a whole number */
/** @typedef {{ tokenId: string, serialNo: Whole, expectedPrice?: number }} Nft */
/** @typedef {{ accountId: string, tokenId?: string, serialNo?: Whole, serialNos?: Whole[], nfts?: Nft[], listingPrice?: number, expectedPrice?: number, offerPrice?: number, expiresIn?: number, offerId?: string }} Order the body of the call that prepares it */
/** @typedef {{ byteArray: string, metadata: any }} Prepared */
/** @typedef {{ transactionId: string }} Submitted */
/** @typedef {{ signedTransaction: string } | { signatureMap: string }} Signed */
/** @typedef {{ signAndExecute(prepared: Prepared): Promise<Submitted>, sign(prepared: Prepared): Promise<Signed> }} Wallet */
/** @typedef {"add" | "prepare" | "check" | "sign" | "submit" | "report"} Step */
/** @typedef {{ step: Step, exchange?: import("./http.js").Exchange }} Progress a step that begins or, with an exchange, the answer to its call */
/** @typedef {{ result: string, listingPrice?: number, offerId?: string }} Outcome */
/** @typedef {{ progress?: (progress: Progress) => unknown, signal?: AbortSignal }} Options signal: until the wallet is asked; then only the waiting ends */

export class Trade {
  /**
   * @param {import("./market.js").Market} market
   * @param {Kind} kind
   * @param {Order} order
   * @param {Options & { kept?: import("./trade-store.js").Kept }} [options]
   */
  constructor(market, kind, order, { progress = () => {}, signal, kept } = {}) {
    this.market = market;
    this.kind = kind;
    this.order = order;
    this.progress = progress;
    this.signal = signal;
    /** @type {string | undefined} */
    this.byteArray = undefined;
    this.metadata = kept?.metadata;
    this.signedTransaction = kept?.signedTransaction;
    this.signatureMap = kept?.signatureMap;
    this.transactionId = kept?.transactionId;
    this.at = kept?.at;
    this.isHandedIn = false;
  }

  /** Whether the wallet only signs: then the marketplace signs last, and submits it. */
  get isReturned() {
    return Boolean(this.metadata?.returnTransaction);
  }

  /**
   * Take all steps. Throws a MarketError; what was signed by then is kept until the ledger decides.
   * @param {Wallet} wallet
   * @returns {Promise<Outcome>}
   */
  async run(wallet) {
    const done = await this.#takeUp();
    if (done) return done;
    if (this.kind === "list") await this.add();
    await this.prepare();
    await this.sign(wallet);
    return this.settle();
  }

  /** Have the marketplace read the NFTs from the ledger. */
  async add() {
    const { accountId, tokenId, serialNo, serialNos } = this.order;
    await this.#ask("add", "add_nft", { accountId, tokenId, serialNo, serialNos });
  }

  async prepare() {
    const price = PRICED[this.kind];
    for (const one of price ? this.order.nfts ?? [this.order] : [])
      if (!one[price]) throw new MarketError("FIELD_INVALID", `${price} is required: the price that its buyer or seller saw`);
    const { data } = await this.#ask("prepare", PREPARE[this.kind], this.order);
    if (typeof data?.byteArray !== "string" || !data.metadata) throw new MarketError("ANSWER_INVALID");
    this.byteArray = data.byteArray;
    this.metadata = data.metadata;
    this.signedTransaction = this.signatureMap = this.transactionId = undefined;
  }

  /** Throw NOT_AS_ORDERED if it is not exactly what was ordered. Returns what it does. */
  async check(byteArray = this.byteArray) {
    await this.progress({ step: "check" });
    const marketplace = await this.market.account();
    // The ledger knows an EVM address's account; the wallet signs for no other.
    const accountId = isEntity(this.order.accountId) ? this.order.accountId : this.metadata.accountToSign;
    return verify(byteArray, { ...this.order, kind: this.kind, accountId, marketplace });
  }

  /** Check it, and have it signed; a wallet submits what is not returned. @param {Wallet} wallet */
  async sign(wallet) {
    await this.check();
    this.signal?.throwIfAborted();
    await this.progress({ step: "sign" });
    const { byteArray, metadata } = this;
    if (!this.isReturned) this.keep();
    try {
      await this.take(await (this.isReturned ? wallet.sign({ byteArray, metadata }) : wallet.signAndExecute({ byteArray, metadata })));
    } catch (error) {
      if (isRefusal(error)) this.forget();
      if (error instanceof MarketError) throw error;
      throw new MarketError("WALLET_FAILED", error?.message || undefined, { cause: error });
    }
  }

  /** Take a wallet's answer. @param {any} answer */
  async take(answer) {
    const { transactionId, signedTransaction, signatureMap } = answer ?? {};
    const isBase64 = (text) => typeof text === "string" && BASE64.test(text);
    if (!this.isReturned) {
      if (typeof transactionId !== "string" || !TRANSACTION_ID.test(transactionId)) throw new MarketError("WALLET_INVALID", "The wallet did not answer with a transaction ID");
      this.transactionId = transactionId;
    } else if (isBase64(signedTransaction)) {
      await this.#requireSame(signedTransaction);
      Object.assign(this, { signedTransaction, signatureMap: undefined });
    } else if (isBase64(signatureMap)) Object.assign(this, { signedTransaction: this.byteArray, signatureMap });
    else throw new MarketError("WALLET_INVALID", "The wallet answered with neither a signed transaction nor a signature map");
    this.keep();
  }

  /** A wallet may have signed another transaction than it was asked to. */
  async #requireSame(signedTransaction) {
    const { transactionId } = await this.check(signedTransaction).catch((cause) => {
      throw new MarketError("WALLET_INVALID", `The wallet signed another transaction: ${cause.message}`, { cause });
    });
    if (transactionId !== this.metadata.transactionId) throw new MarketError("WALLET_INVALID", "The wallet gave the transaction another ID");
  }

  /**
   * Hand it in or report it until the ledger shows it. It can be repeated, also by another page.
   * @returns {Promise<Outcome>}
   */
  async settle() {
    const until = Date.now() + PATIENCE_MS;
    for (;;) {
      const made = await (this.isReturned && !this.isHandedIn ? this.handIn() : this.report());
      if (made.status === 200) return made.data;
      if (Date.now() > until) throw new MarketError("PENDING", undefined, { retryAfter: made.retryAfter });
      await pause((made.retryAfter ?? 1) * 1000, this.signal);
    }
  }

  /** Give the marketplace what the wallet has signed: it signs last, and submits it. */
  async handIn() {
    const { signedTransaction, signatureMap } = this;
    const made = await this.#settleOnce("submit", { signedTransaction, signatureMap });
    this.isHandedIn = true;
    return made;
  }

  /** Ask the marketplace once whether the ledger shows it: 200, or 202 as long as it may still come. */
  report() {
    return this.#settleOnce("report", { transactionId: this.transactionId ?? this.metadata?.transactionId });
  }

  async #settleOnce(step, fields) {
    const { accountId, tokenId, serialNo, serialNos, nfts, offerId } = this.order;
    const named = nfts?.map((nft) => ({ tokenId: nft.tokenId, serialNo: nft.serialNo }));
    const about = offerId ? { offerId } : { tokenId, serialNo, serialNos, nfts: named };
    try {
      const made = await this.#ask(step, "report_transaction", { accountId, ...about, ...fields });
      if (made.status === 200) this.forget();
      return made;
    } catch (error) {
      if (isFinal(error) || Date.now() - this.at > OVER_MS) this.forget();
      throw error;
    }
  }

  keep() {
    const { kind, order, metadata, signedTransaction, signatureMap, transactionId } = this;
    this.at ??= Date.now();
    this.market.store.keep({ kind, order, metadata, signedTransaction, signatureMap, transactionId, at: this.at });
  }

  forget() {
    this.market.store.forget(this);
  }

  /** The same order may be on its way: a second purchase or offer must not follow before it has failed. */
  async #takeUp() {
    const kept = ["buy", "offer"].includes(this.kind) && this.market.store.find(this.kind, this.order);
    if (!kept) return null;
    const { progress, signal } = this;
    try {
      return await new Trade(this.market, this.kind, this.order, { progress, signal, kept }).settle();
    } catch (error) {
      if (isFinal(error)) return null;
      throw error;
    }
  }

  /** @param {Step} step @param {import("./types.d.ts").OperationName} name @param {any} parameters */
  async #ask(step, name, parameters) {
    await this.progress({ step });
    const observe = (exchange) => this.progress({ step, exchange });
    return this.market.request(name, parameters, { signal: this.signal, observe });
  }
}

/** Whether the marketplace has decided against it, and the same can't succeed any more. */
function isFinal({ status, reason }) {
  const isRefused = status >= 400 && status < 500 && ![401, 429].includes(status);
  return isRefused || NOT_TAKEN.includes(reason);
}

/** Whether a wallet surely did not submit it. Otherwise it may, and is kept. */
function isRefusal(error) {
  if (error instanceof MarketError) return error.reason === "WALLET_REFUSED";
  return REFUSAL_CODES.includes(error?.code) || REFUSAL_KINDS.includes(error?.kind) || (!error?.kind && REFUSAL_WORDS.test(error?.message));
}
