// A market: each call of its API by its operation's name, its lists page by page, its events, and trades.

import { errorOf, exchange, sendAgain } from "./http.js";
import { Events } from "./events.js";
import { MarketError } from "./errors.js";
import { OPERATIONS } from "./operations.js";
import { PREPARE, Trade } from "./trade.js";
import { TradeStore } from "./trade-store.js";

/** @typedef {import("./http.js").Exchange} Exchange */
/** @typedef {import("./types.d.ts").OperationName} OperationName */
/** @typedef {{ signal?: AbortSignal, observe?: (made: Exchange) => unknown }} Options */

/** @param {Record<string, string>} headers @returns {Record<string, string>} */
const withoutToken = (headers) => Object.fromEntries(Object.entries(headers).filter(([name]) => name !== "Authorization"));

export class Market {
  /**
   * @param {object} settings
   * @param {string} settings.url of the service; with the prefix, if it is mounted below one
   * @param {string} settings.token the access token
   * @param {string} [settings.account] the marketplace's account, which may sell what is listed; otherwise the service names it
   * @param {string} [settings.wallet] the word of WALLETS for calls that prepare
   * @param {Pick<Storage, "getItem" | "setItem">} [settings.storage] keeps trades over a reload, such as localStorage
   * @param {number} [settings.retries] how often a failed request is sent again
   * @param {typeof globalThis.fetch} [settings.fetch]
   */
  constructor({ url, token, account, wallet = "extwallet", storage, retries = 2, fetch }) {
    if (typeof url !== "string") throw new TypeError("Market needs url, the service's address");
    this.url = new URL(url.replace(/\/*$/, "/"), globalThis.document?.baseURI);
    this.wallet = wallet;
    this.retries = retries;
    this.fetch = fetch;
    this.headers = { Authorization: `Bearer ${token}` };
    this.store = new TradeStore(storage);
    this.accountId = account;
  }

  /**
   * Make a call, and return its data. Numbers above 2^53 are a BigInt. Throws a MarketError.
   * @template {OperationName} Name
   * @param {Name} name of the operation, such as list_orderbook
   * @param {import("./types.d.ts").Parameters<Name>} [parameters] of the path, the query and the body
   * @param {Options} [options]
   * @returns {Promise<import("./types.d.ts").Data<Name>>}
   */
  async ask(name, parameters, options) {
    return (await this.request(name, /** @type {any} */ (parameters), options)).data;
  }

  /**
   * Make a call, and return its data with what stands in the headers. Throws a MarketError.
   * @param {OperationName} name
   * @param {Record<string, any>} [parameters]
   * @param {Options} [options]
   */
  async request(name, parameters = {}, options = {}) {
    const { method, address, body } = this.addressOf(name, parameters);
    return this.send(method, address, body, options);
  }

  /**
   * The pages of a list, as its links lead to them.
   * @template {OperationName} Name
   * @param {Name} name
   * @param {import("./types.d.ts").Parameters<Name>} [parameters]
   * @param {Options} [options]
   * @returns {AsyncGenerator<import("./types.d.ts").Data<Name>, void>}
   */
  async *pages(name, parameters, options = {}) {
    let made = await this.request(name, /** @type {any} */ (parameters), options);
    yield made.data;
    while (made.next) {
      made = await this.send("GET", made.next, undefined, options);
      yield made.data;
    }
  }

  /**
   * Follow the events after a cursor; without one, those that come from now on.
   * @param {string} [after]
   * @param {import("./events.js").Settings} [settings]
   */
  events(after, settings) {
    return new Events(this, after, settings);
  }

  /** @param {OperationName} name @param {Record<string, any>} [parameters] */
  addressOf(name, parameters = {}) {
    const [method, path] = OPERATIONS[name].split(" ");
    const rest = { ...parameters };
    const filled = path.replace(/{(\w+)}/g, (_, key) => {
      const value = rest[key] ?? (key === "wallet" ? this.wallet : undefined);
      if (value === undefined) throw new TypeError(`${name} needs ${key}`);
      delete rest[key];
      return encodeURIComponent(value);
    });
    const url = new URL(filled.slice(1), this.url);
    if (method !== "GET") return { method, address: url.href, body: Object.keys(rest).length ? rest : undefined };
    for (const [key, value] of Object.entries(rest))
      for (const one of [value].flat()) if (one !== undefined && one !== null) url.searchParams.append(key, String(one));
    return { method, address: url.href, body: undefined };
  }

  /**
   * @param {string} method
   * @param {string} address
   * @param {any} body
   * @param {Options & { headers?: Record<string, string>, retries?: number }} options
   */
  async send(method, address, body, { signal, observe, headers, retries = this.retries } = {}) {
    // The token goes to nobody else, whatever a link says.
    if (new URL(address).origin !== this.url.origin) throw new MarketError("ANSWER_INVALID", `A link leads to another host: ${address}`);
    const options = { headers: { ...this.headers, ...headers }, signal, fetch: this.fetch };
    const exchanged = await sendAgain(() => exchange(method, address, body, options), { retries, signal });
    const made = { ...exchanged, headers: withoutToken(exchanged.headers) }; // programs show and log it
    await observe?.(made);
    if (!made.ok) throw errorOf(made);
    return made;
  }

  /** The marketplace's account. */
  async account() {
    this.accountId ??= (await this.ask("show_network")).accountId;
    return this.accountId;
  }

  /**
   * A trade whose steps are taken one by one.
   * @param {import("./trade.js").Kind} kind
   * @param {import("./trade.js").Order} order
   * @param {import("./trade.js").Options} [options]
   */
  trade(kind, order, options) {
    return new Trade(this, kind, order, options);
  }

  /** List one NFT or several of a token. @type {Act} */
  list(order, wallet, options) {
    return this.trade("list", order, options).run(wallet);
  }

  /** End the listing of one NFT or of several of a token. @type {Act} */
  withdraw(order, wallet, options) {
    return this.trade("withdraw", order, options).run(wallet);
  }

  /** Buy one NFT or several, each for its expectedPrice. @type {Act} */
  buy(order, wallet, options) {
    return this.trade("buy", order, options).run(wallet);
  }

  /** Offer HBAR for an NFT. @type {Act} */
  offer(order, wallet, options) {
    return this.trade("offer", order, options).run(wallet);
  }

  /** Accept an offer for its expectedPrice. @type {Act} */
  accept(order, wallet, options) {
    return this.trade("accept", order, options).run(wallet);
  }

  /** Withdraw an offer, or decline it. @type {Act} */
  withdrawOffer(order, wallet, options) {
    return this.trade("withdrawOffer", order, options).run(wallet);
  }

  /** The trades that were signed and are not confirmed yet, also by an earlier page. Call settle() of each. */
  pending() {
    const known = this.store.read().filter(({ kind }) => Object.hasOwn(PREPARE, kind)); // by this version
    return known.map((kept) => new Trade(this, kept.kind, kept.order, { kept }));
  }
}

/** @typedef {(order: import("./trade.js").Order, wallet: import("./trade.js").Wallet, options?: import("./trade.js").Options) => Promise<import("./trade.js").Outcome>} Act */
