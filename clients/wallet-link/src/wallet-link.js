// Pairs a page with a Hedera wallet over WalletConnect, and asks it to sign (HIP-820).
// A page may be given another link with the same functions: connect, signAndExecute, sign, signMessage, disconnect.
// Source: https://specs.walletconnect.com/2.0/specs/clients/sign

import { encode } from "uqr";
import { agree, open, publicKeyOf, randomKey, seal, topicOf } from "./envelope.js";
import { WalletError, readError } from "./errors.js";
import { Relay, newId } from "./relay.js";

export { decodeBase64, encodeBase64 } from "./envelope.js";
export { WalletError } from "./errors.js";
export { findExtensions, openExtension } from "./extensions.js";
export { bodyOf, writeAssociation, writeTransfer } from "./transaction.js";

const MINUTES_5 = 300, DAY = 86_400; // seconds
const PROPOSE = { tag: 1100, ttl: MINUTES_5 };
const REQUEST = { tag: 1108, ttl: MINUTES_5 };
const DELETE = { tag: 1112, ttl: DAY };
// The answers to what a wallet asks, by its method.
const ANSWERS = {
  wc_sessionSettle: { tag: 1103, ttl: MINUTES_5 },
  wc_sessionUpdate: { tag: 1105, ttl: DAY },
  wc_sessionExtend: { tag: 1107, ttl: DAY },
  wc_sessionEvent: { tag: 1111, ttl: MINUTES_5 },
  wc_sessionDelete: { tag: 1113, ttl: DAY },
  wc_sessionPing: { tag: 1115, ttl: 30 },
};
const METHODS = ["hedera_signAndExecuteTransaction", "hedera_signTransaction", "hedera_signMessage", "hedera_executeTransaction"];
const ACCOUNT = /^(hedera:(?:mainnet|testnet|previewnet|devnet)):(0\.0\.[1-9][0-9]{0,18})$/;
const STORED = "wallet-link";

/** @typedef {{chain: string, accountId: string}} Account */
/** @typedef {{topic: string, key: string, accounts: Account[], expiresAt: number, wallet: {name: string, url: string}}} Session */
/** @typedef {{id: number, method: string, params: unknown, milliseconds?: number, result?: unknown, error?: unknown}} Exchange a request and its answer, as they went over the relay */
/** @typedef {{name: string, description: string, url: string, icons: string[]}} Metadata of the page, which the wallet shows */
/** @typedef {{relayUrl: string, metadata: Metadata, chains?: string[], projectId?: string, storage?: Pick<Storage, "getItem" | "setItem">}} Options */

/**
 * Events: "session" (it began, changed or ended), "exchange" (a request was sent, or answered: detail is an Exchange),
 * "relay" (detail is "connected" or "away"), "event" (what the wallet reports).
 */
export class WalletLink extends EventTarget {
  /** @type {Session | null} */ session = null;
  #waiting = new Map(); // what awaits an answer: {resolve, reject} by the request's id
  #keys = new Map(); // symmetric keys by topic
  /** @type {((settled: Session) => void) | undefined} */ #settle;

  /** @param {Options} options */
  constructor({ relayUrl, metadata, chains = ["hedera:testnet"], projectId = "wallet-link", storage = localStorage }) {
    super();
    Object.assign(this, { metadata, chains, storage });
    const { seed = randomKey(), session } = this.#recall();
    this.seed = seed;
    const say = (detail) => this.#say("relay", detail);
    this.relay = new Relay({ url: relayUrl, projectId, seed, receive: (...message) => this.#receive(...message), say });
    if (session && session.expiresAt * 1000 > Date.now()) this.#begin(session);
    globalThis.addEventListener?.("storage", ({ key }) => key === STORED && this.#follow());
  }

  /** The account that signs, or null. */
  get account() {
    return this.session?.accounts[0] ?? null;
  }

  /**
   * Pair with a wallet: show(uri) gets the address to scan or to paste. Throws a WalletError.
   * @param {(uri: string) => unknown} show
   * @param {{signal?: AbortSignal}} [options] to give up
   * @returns {Promise<Session>}
   */
  async connect(show, { signal } = {}) {
    await this.disconnect();
    const key = randomKey(), topic = topicOf(key), secret = randomKey();
    const expiry = Math.floor(Date.now() / 1000) + MINUTES_5;
    this.#keys.set(topic, key);
    const settled = new Promise((resolve) => (this.#settle = resolve));
    try {
      await this.relay.subscribe(topic);
      const hedera = { chains: this.chains, methods: METHODS, events: ["accountsChanged", "chainChanged"] };
      const proposal = this.#ask(topic, "wc_sessionPropose", {
        requiredNamespaces: {},
        optionalNamespaces: { hedera },
        relays: [{ protocol: "irn" }],
        pairingTopic: topic,
        expiryTimestamp: expiry,
        proposer: { publicKey: publicKeyOf(secret), metadata: this.metadata },
      }, { kind: PROPOSE, signal });
      show(`wc:${topic}@2?expiryTimestamp=${expiry}&relay-protocol=irn&symKey=${key}`);
      const { responderPublicKey } = (await proposal) ?? {};
      if (!/^[0-9a-f]{64}$/.test(responderPublicKey)) throw new WalletError("WALLET", "The wallet's answer to the pairing is not valid.");
      const sessionKey = agree(secret, responderPublicKey);
      this.#keys.set(topicOf(sessionKey), sessionKey);
      await this.relay.subscribe(topicOf(sessionKey));
      const session = await within(settled, MINUTES_5, signal);
      this.#begin(session);
      if (session.accounts.length > 0) return session;
      await this.disconnect();
      throw new WalletError("WALLET", `The wallet shares no account on ${this.chains.map((chain) => chain.split(":")[1]).join(" or ")}. Change its network, and try again.`);
    } finally {
      this.#settle = undefined;
      this.#keys.delete(topic);
      this.relay.unsubscribe(topic).catch(() => {});
    }
  }

  /**
   * Have a transaction signed and submitted by the wallet. Throws a WalletError.
   * @param {string} byteArray in base64, unchanged
   * @param {{signal?: AbortSignal}} [options] to give up
   * @returns {Promise<{transactionId: string}>}
   */
  async signAndExecute(byteArray, options) {
    const result = await this.#request("hedera_signAndExecuteTransaction", { transactionList: byteArray }, options);
    if (typeof result?.transactionId !== "string") throw new WalletError("WALLET", "The wallet's answer has no transaction ID.");
    return result;
  }

  /** Have a transaction's body signed; returns the SignatureMap. Both in base64. @param {string} body @param {{signal?: AbortSignal}} [options] @returns {Promise<string>} */
  async sign(body, options) {
    return signatureMap(await this.#request("hedera_signTransaction", { transactionBody: body }, options));
  }

  /** @param {string} message @returns {Promise<string>} the SignatureMap in base64 */
  async signMessage(message) {
    return signatureMap(await this.#request("hedera_signMessage", { message }));
  }

  /** Another of the accounts that the wallet shares signs from now on. Throws a WalletError. @param {string} accountId */
  choose(accountId) {
    const { session } = this;
    const chosen = session?.accounts.find((one) => one.accountId === accountId);
    if (!session || !chosen) throw new WalletError("WALLET", `The wallet does not share the account ${accountId}.`);
    this.#begin({ ...session, accounts: [chosen, ...session.accounts.filter((one) => one !== chosen)] });
  }

  /** End the session at both ends. */
  async disconnect() {
    const { session } = this;
    if (!session) return;
    const over = { code: 6000, message: "User disconnected." };
    await this.relay.publish(session.topic, seal(session.key, { id: newId(), jsonrpc: "2.0", method: "wc_sessionDelete", params: over }), DELETE).catch(() => {});
    this.#end("The session was ended.");
  }

  /** Any request of HIP-820, for checks of wallets. @param {string} method @param {object} params @param {{chain?: string, seconds?: number, signal?: AbortSignal}} [options] */
  request(method, params, options) {
    return this.#request(method, params, options);
  }

  async #request(method, params, { chain, seconds = MINUTES_5, signal } = {}) {
    const { session, account } = this;
    if (!session || !account) throw new WalletError("ENDED", "No wallet is connected.");
    const signerAccountId = `${account.chain}:${account.accountId}`;
    const request = { method, params: { signerAccountId, ...params }, expiryTimestamp: Math.floor(Date.now() / 1000) + Math.max(seconds, MINUTES_5) };
    return this.#ask(session.topic, "wc_sessionRequest", { chainId: chain ?? account.chain, request }, { kind: REQUEST, seconds, signal });
  }

  /** Send a request to the other end of a topic, and wait for its answer. */
  async #ask(topic, method, params, { kind, seconds = MINUTES_5, signal }) {
    const id = newId(), began = performance.now();
    /** @type {Exchange} */
    const exchange = { id, method: params.request?.method ?? method, params: params.request?.params ?? params };
    const answered = new Promise((resolve, reject) => this.#waiting.set(id, { topic, resolve, reject }));
    answered.catch(() => {}); // it may come before anybody waits
    const finish = (outcome) => this.#say("exchange", { ...exchange, milliseconds: Math.round(performance.now() - began), ...outcome });
    this.#say("exchange", exchange);
    try {
      await this.relay.publish(topic, seal(this.#keys.get(topic), { id, jsonrpc: "2.0", method, params }), kind);
      const result = await within(answered, seconds, signal);
      finish({ result });
      return result;
    } catch (error) {
      finish({ error: { kind: error.kind, code: error.code, data: error.data, message: error.message } });
      throw error;
    } finally {
      this.#waiting.delete(id);
    }
  }

  #receive(topic, content) {
    let message;
    try {
      message = open(this.#keys.get(topic), content);
    } catch {
      return; // it is not of the other end
    }
    const { id, method, params, result, error } = message ?? {};
    if (method) return this.#serve(topic, id, method, params ?? {});
    const call = this.#waiting.get(id);
    if (call?.topic !== topic) return;
    if (error) call.reject(readError(error));
    else call.resolve(result);
  }

  /** What the wallet asks of the page. */
  #serve(topic, id, method, params) {
    if (!(method in ANSWERS)) return;
    this.relay.publish(topic, seal(this.#keys.get(topic), { id, jsonrpc: "2.0", result: true }), ANSWERS[method]).catch(() => {});
    const { session } = this;
    if (method === "wc_sessionSettle") this.#settle?.(this.#read(topic, params));
    if (session?.topic !== topic) return;
    if (method === "wc_sessionDelete") this.#end("Your wallet has disconnected. Connect it again.");
    if (method === "wc_sessionEvent") this.#say("event", params.event);
    if (method === "wc_sessionUpdate") this.#update(this.#read(topic, params).accounts);
    if (method === "wc_sessionExtend" && Number.isInteger(params.expiry)) this.#begin({ ...session, expiresAt: params.expiry });
  }

  #update(accounts) {
    if (accounts.length > 0) this.#begin({ .../** @type {Session} */ (this.session), accounts });
    else this.disconnect();
  }

  /** A session as a wallet describes it. Only accounts of this page's chains count. @returns {Session} */
  #read(topic, { namespaces, controller, expiry }) {
    const named = namespaces?.hedera?.accounts;
    const found = (Array.isArray(named) ? named : []).map((one) => ACCOUNT.exec(one)).filter((one) => one !== null);
    const accounts = found.map(([, chain, accountId]) => ({ chain, accountId })).filter(({ chain }) => this.chains.includes(chain));
    const { name, url } = controller?.metadata ?? {};
    const text = (value, most) => (typeof value === "string" ? value.slice(0, most) : "");
    const expiresAt = Number.isInteger(expiry) ? expiry : Math.floor(Date.now() / 1000) + DAY;
    return { topic, key: this.#keys.get(topic), accounts, expiresAt, wallet: { name: text(name, 40) || "Wallet", url: text(url, 200) } };
  }

  /** @param {Session} session */
  #begin(session) {
    this.session = session;
    this.#keys.set(session.topic, session.key);
    this.relay.subscribe(session.topic).catch(() => {}); // it comes back by itself
    this.#remember();
    this.#say("session", session);
  }

  #end(why) {
    this.#leave(why);
    this.#remember();
    this.#say("session", null);
  }

  #leave(why) {
    const topic = this.session?.topic;
    this.session = null;
    for (const call of this.#waiting.values()) if (call.topic === topic) call.reject(new WalletError("ENDED", why));
    this.#keys.delete(topic);
    if (topic) this.relay.unsubscribe(topic).catch(() => {});
  }

  /** Another tab has connected a wallet, or ended the session. */
  #follow() {
    const { session = null } = this.#recall();
    if (JSON.stringify(session) === JSON.stringify(this.session)) return;
    if (session?.topic !== this.session?.topic) this.#leave("The wallet was disconnected in another tab.");
    if (session) this.#begin(session);
    else this.#say("session", null);
  }

  #recall() {
    try {
      return JSON.parse(this.storage.getItem(STORED) ?? "null") ?? {};
    } catch {
      return {};
    }
  }

  #remember() {
    try {
      this.storage.setItem(STORED, JSON.stringify({ seed: this.seed, session: this.session }));
    } catch {
      // a reload ends the session
    }
  }

  #say(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

/** A promise that fails after some seconds, or when its signal does. */
function within(promise, seconds, signal) {
  let timer, stop;
  const over = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new WalletError("TIMEOUT", "Your wallet hasn't answered in time. Open it, and try again.")), seconds * 1000);
    stop = () => reject(new WalletError("ENDED", "You stopped waiting. Decline it in your wallet, too."));
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop);
  });
  return Promise.race([promise, over]).finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  });
}

function signatureMap(result) {
  if (typeof result?.signatureMap === "string") return result.signatureMap;
  throw new WalletError("WALLET", "The wallet's answer has no signatures.");
}

/** A QR code: the path of an SVG, and the length of its side in modules. @param {string} text */
export function qrCode(text) {
  const { size, data } = encode(text, { border: 2 });
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join("");
  return { size, path };
}
