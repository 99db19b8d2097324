// A transaction, from its order to the ledger and back: each step returns, or throws a Refusal.

import { api, sandbox, wallet } from "../addresses.js";
import { post } from "../call.js";
import { walletAccount } from "../wallet/link.js";
import { forget, keep } from "./pending.js";

const REPORTS_AT_MOST = 10;
const PAUSE_MS = 1_000;
const MAY_COME = ["TIMEOUT", "RELAY"]; // errors after which the wallet may still submit it

const pause = () => new Promise((go) => setTimeout(go, PAUSE_MS));

/** @typedef {"buy" | "list" | "delist" | "offer" | "acceptoffer" | "withdrawoffer"} Kind of a transaction: the call that prepares it */
/** @typedef {{ accountId: string, tokenId?: string, serialNo?: any, serialNos?: any[], nfts?: any[], listingPrice?: any, expectedPrice?: number, offerPrice?: any, expiresIn?: any, offerId?: string }} Order of one NFT, of several of a token, of several of any, or about an offer */
/** @typedef {(step: string, answer?: import("../call.js").Answer) => unknown} Observer of the steps, each with the answer to its call */

/** Why a step was not taken, in a sentence. */
export class Refusal extends Error {}

export class Transaction {
  /**
   * @param {Kind} kind
   * @param {Order} order the body of the call that prepares it
   * @param {Observer} observe
   */
  constructor(kind, order, observe = () => {}) {
    this.kind = kind;
    this.order = order;
    this.observe = observe;
    this.bytes = this.signed = this.signer = this.preparedId = this.transactionId = this.isReturned = undefined;
    this.signatureMap = this.isSubmitted = undefined; // of the visitor's own wallet
  }

  async prepare() {
    const { data } = await this.#ask("prepare", api(`/${this.kind}/{wallet}`, { wallet }), this.order);
    this.bytes = data.byteArray;
    this.isReturned = data.metadata.returnTransaction;
    this.preparedId = data.metadata.transactionId;
    this.signer = data.metadata.accountToSign;
  }

  /** Whether the visitor's own wallet signs it. */
  get isOwn() {
    return this.signer === walletAccount();
  }

  /** With the demo wallet, or the visitor's own. */
  async sign() {
    if (this.isOwn) return this.#signWithWallet();
    const { data } = await this.#ask("sign", sandbox("/sign"), { accountId: this.signer, transaction: this.bytes });
    this.take(data.transaction);
  }

  /** The wallet submits what is not returned. */
  async #signWithWallet() {
    const { signWithWallet } = await import("../wallet/signing.js");
    if (!this.isReturned) keep(this);
    try {
      this.take(this.bytes);
      Object.assign(this, await signWithWallet(this.bytes, this.isReturned, this.observe));
      this.isSubmitted = !this.isReturned;
    } catch (error) {
      if (!MAY_COME.includes(error.kind)) forget(this);
      throw new Refusal(error.message);
    }
  }

  /** Take bytes that were signed elsewhere. */
  take(signed) {
    this.signed = signed;
    this.transactionId = undefined;
  }

  /** Returns whether the marketplace has seen it on the ledger already. */
  async submit() {
    await this.observe("submitting");
    if (this.isSubmitted) return false;
    keep(this);
    if (this.isReturned) return this.#handIn();
    const { data } = await this.#ask("submit", sandbox("/transactions"), { transaction: this.signed });
    this.transactionId = data.transactionId;
    if (data.result === "SUCCESS") return false;
    forget(this);
    throw new Refusal(`The ledger refused it: ${data.result}. ${data.message ?? ""}`.trim());
  }

  /** The marketplace signs last, and submits it. */
  async #handIn() {
    this.transactionId = this.preparedId;
    const { signed: signedTransaction, signatureMap } = this;
    const { status } = await this.#ask("submit", api("/comingsoon"), { ...this.#about(), signedTransaction, signatureMap });
    if (status === 200) forget(this);
    return status === 200;
  }

  #about() {
    const { accountId, tokenId, serialNo, serialNos, nfts, offerId } = this.order;
    const named = nfts?.map((nft) => ({ tokenId: nft.tokenId, serialNo: nft.serialNo }));
    return { accountId, ...(offerId ? { offerId } : { tokenId, serialNo, serialNos, nfts: named }) };
  }

  /** Returns whether the marketplace has seen it on the ledger. */
  async report() {
    const body = { ...this.#about(), transactionId: this.transactionId };
    const isSeen = (await this.#ask("report", api("/comingsoon"), body)).status === 200;
    if (isSeen) forget(this);
    return isSeen;
  }

  async #ask(step, url, body) {
    const answer = await post(url, body);
    await this.observe(step, answer);
    if (answer.ok) return answer;
    // Without an answer, it may have reached the ledger.
    if (step === "submit" && answer.status) forget(this);
    throw new Refusal(answer.message, { cause: answer });
  }
}

/**
 * Take all steps. The mirror node may be some seconds behind.
 * @param {Transaction} transaction
 * @param {(words: string) => void} say
 */
async function complete(transaction, say) {
  say("Preparing the transaction…");
  await transaction.prepare();
  say(transaction.isOwn ? "Sign it in your wallet…" : "Signing with the demo wallet…");
  await transaction.sign();
  say("Submitting to the ledger…");
  const isSeen = await transaction.submit();
  say("Confirming…");
  if (!isSeen) await confirm(transaction);
  return transaction;
}

/** Report it until the marketplace has seen it. */
export async function confirm(transaction) {
  for (let i = 0; i < REPORTS_AT_MOST; i += 1) {
    if (await transaction.report()) return;
    await pause();
  }
  throw new Refusal("The ledger does not show it yet. It's confirmed here as soon as it does.");
}

/** @param {Order} order @param {(words: string) => void} say @param {Observer} [observe] */
export const buy = (order, say, observe) => complete(new Transaction("buy", order, observe), say);

/** @param {Order} order @param {(words: string) => void} say @param {Observer} [observe] */
export const withdraw = (order, say, observe) => complete(new Transaction("delist", order, observe), say);

/** @param {Order} order @param {(words: string) => void} say @param {Observer} [observe] */
export const offer = (order, say, observe) => complete(new Transaction("offer", order, observe), say);

/** @param {Order} order @param {(words: string) => void} say @param {Observer} [observe] */
export const acceptOffer = (order, say, observe) => complete(new Transaction("acceptoffer", order, observe), say);

/** @param {Order} order @param {(words: string) => void} say @param {Observer} [observe] */
export const withdrawOffer = (order, say, observe) => complete(new Transaction("withdrawoffer", order, observe), say);

/** @param {Order} order @param {(words: string) => void} say @param {Observer} [observe] */
export async function list(order, say, observe) {
  say("Adding it to the market…");
  await add(order, observe);
  return complete(new Transaction("list", order, observe), say);
}

/** Have the marketplace read the NFTs of an order from the ledger. @param {Order} order @param {Observer} [observe] */
export async function add(order, observe = () => {}) {
  const { accountId, tokenId, serialNo, serialNos } = order;
  const answer = await post(api("/add"), { accountId, tokenId, serialNo, serialNos });
  observe("add", answer);
  if (!answer.ok) throw new Refusal(answer.message, { cause: answer });
}
