// The feed of events, which goes on by itself. It keeps its cursor, so that a program can go on where it ended.

import { pause } from "./http.js";

const EVERY_MS = 3_000;
const AFTER_FAILURE_MS = 10_000;
const LASTING = [400, 401, 403, 404, 410, 422, 451]; // waiting does not mend these

/**
 * @typedef {object} Settings
 * @property {AbortSignal} [signal] ends it
 * @property {number} [every] milliseconds between two looks
 * @property {number} [afterFailure] milliseconds until the next look if the service does not answer
 * @property {() => Promise<string>} [gone] is called if events after the cursor are no longer known: read your lists again, and return their cursor. Without it, a MarketError with the reason CURSOR_GONE ends the feed
 * @property {import("./types.d.ts").OperationName} [operation] list_events, or list_nft_events with tokenId and serialNo
 * @property {Record<string, any>} [select] parameters of the operation, such as kind and tokenId
 */

/** @typedef {import("./types.d.ts").Data<"list_events">[number]} Event */

export class Events {
  /** The place after the last event that was read: a new feed can begin here. @type {string | undefined} */
  cursor;

  /** @param {import("./market.js").Market} market @param {string} [after] @param {Settings} [settings] */
  constructor(market, after, { signal, every = EVERY_MS, afterFailure = AFTER_FAILURE_MS, gone, operation = "list_events", select = {} } = {}) {
    this.market = market;
    this.cursor = after;
    this.signal = signal;
    this.every = every;
    this.afterFailure = afterFailure;
    this.gone = gone;
    this.operation = operation;
    this.select = select;
  }

  /** Event by event. @returns {AsyncGenerator<Event, void>} */
  async *[Symbol.asyncIterator]() {
    for await (const events of this.batches()) {
      const last = this.cursor;
      for (const event of events) {
        this.cursor = event.id;
        yield event;
      }
      this.cursor = last;
    }
  }

  /** All events that are new at each look, together. @returns {AsyncGenerator<Event[], void>} */
  async *batches() {
    let address = await this.#first();
    let etag = null;
    for (;;) {
      const made = await this.#look(address, etag);
      if (made?.status === 410) {
        this.cursor = await this.gone();
        [address, etag] = [await this.#first(), null];
        continue;
      }
      if (made?.data?.length) {
        this.cursor = cursorOf(made.next) ?? made.data.at(-1).id;
        yield made.data;
      } else if (made?.next) this.cursor = cursorOf(made.next) ?? this.cursor;
      if (made) etag = made.next && made.next !== address ? null : made.etag ?? etag;
      address = made?.next ?? address;
      if (made && !made.data?.length) await pause(this.every, this.signal);
    }
  }

  async #first() {
    const at = (parameters) => this.market.addressOf(this.operation, parameters).address;
    if (this.cursor !== undefined) return at({ ...this.select, after: this.cursor });
    const { next } = await this.market.send("GET", at({ ...this.select, limit: 1 }), undefined, { signal: this.signal });
    this.cursor = cursorOf(next);
    return next;
  }

  /** The events after an address; null if the service does not answer now. */
  async #look(address, etag) {
    const headers = etag ? { "If-None-Match": etag } : {};
    try {
      return await this.market.send("GET", address, undefined, { signal: this.signal, headers });
    } catch (error) {
      if (error.status === 410 && this.gone) return error;
      if (this.signal?.aborted || LASTING.includes(error.status) || error.name !== "MarketError") throw error;
      await pause(error.retryAfter ? error.retryAfter * 1000 : this.afterFailure, this.signal);
      return null;
    }
  }
}

/** @param {string | null} address */
const cursorOf = (address) => (address && new URL(address).searchParams.get("after")) || undefined;
