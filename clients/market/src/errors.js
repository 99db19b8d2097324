// The one error of this package. `reason` is the API's, or one of the client's own.

import { WORDS } from "./operations.js";

const OWN_WORDS = {
  UNREACHABLE: "Can't reach the market. Check your connection and try again.",
  ANSWER_INVALID: "The market's answer can't be read. Try again in a moment.",
  NOT_AS_ORDERED: "Don't sign: the transaction is not what you ordered.",
  WALLET_FAILED: "The wallet did not sign.",
  WALLET_INVALID: "The wallet's answer can't be used.",
  PENDING: "The ledger does not show it yet. It's confirmed here as soon as it does.",
};

const DECLINED = "You declined it in your wallet.";
const DECLINED_CODES = [4001, 5000, 5001, 5002, 5003];
export const REFUSAL_WORDS = /reject|refuse|denied|decline|cancel/i;

/** Whether a wallet's error says that its user declined. @param {any} error */
function isDeclined(error) {
  const { code, kind, message = "" } = error ?? {};
  if (DECLINED_CODES.includes(code) || kind === "REFUSED") return true;
  return !kind && /user/i.test(message) && REFUSAL_WORDS.test(message);
}

/** Why a call or a trade failed. Look at `reason`, and show `tell` to people. */
export class MarketError extends Error {
  /**
   * @param {string} reason of the API, or UNREACHABLE, ANSWER_INVALID, NOT_AS_ORDERED, WALLET_FAILED, WALLET_INVALID, PENDING
   * @param {string} [message] what is wrong
   * @param {{ status?: number, retryAfter?: number, errors?: any, cause?: unknown }} [details]
   */
  constructor(reason, message = OWN_WORDS[reason], { status = 0, retryAfter, errors, cause } = {}) {
    super(message, { cause });
    this.name = "MarketError";
    this.reason = reason;
    /** @type {number} the HTTP status; 0 without an answer */
    this.status = status;
    /** @type {number | undefined} seconds after which the same request may succeed */
    this.retryAfter = retryAfter;
    /** @type {any} the wrong fields, or the ledger's result code */
    this.errors = errors;
  }

  /** Words for people. */
  get tell() {
    if (this.reason === "WALLET_FAILED" && isDeclined(this.cause)) return DECLINED;
    return WORDS[this.reason] ?? OWN_WORDS[this.reason] ?? this.message;
  }
}
