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
    return WORDS[this.reason] ?? OWN_WORDS[this.reason] ?? this.message;
  }
}
