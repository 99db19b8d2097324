// Trades that were signed and are not confirmed yet, kept where no reload loses them.

import { parse, stringify } from "./json.js";

const NAME = "market-pending";

/** @typedef {{ kind: any, order: any, metadata: any, at: number, signedTransaction?: string, signatureMap?: string, transactionId?: string }} Kept */

export class TradeStore {
  /** @param {Pick<Storage, "getItem" | "setItem">} [storage] */
  constructor(storage) {
    this.storage = storage;
    this.own = "[]"; // without a storage, or if it is blocked
  }

  /** @returns {Kept[]} */
  read() {
    try {
      return parse(this.storage?.getItem(NAME) ?? this.own);
    } catch {
      return parse(this.own);
    }
  }

  /** @param {Kept} kept */
  keep(kept) {
    this.#write([...this.#others(kept), kept]);
  }

  forget(kept) {
    this.#write(this.#others(kept));
  }

  /** The one that was kept for the same order. */
  find(kind, order) {
    return this.read().find((one) => isSame(one, { kind, order }));
  }

  #others(kept) {
    return this.read().filter((one) => !isSame(one, kept));
  }

  #write(all) {
    this.own = stringify(all);
    try {
      this.storage?.setItem(NAME, this.own);
    } catch {
      // a page that is left loses them
    }
  }
}

const isSame = (one, other) => one.kind === other.kind && stringify(one.order) === stringify(other.order);
