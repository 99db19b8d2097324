// The connection to a relay: it comes back by itself, and subscribes again.
// Source: https://specs.walletconnect.com/2.0/specs/servers/relay/relay-server-rpc

import { makeToken } from "./envelope.js";
import { WalletError } from "./errors.js";

const ANSWER_MS = 10_000;
const PAUSES_MS = [250, 1_000, 2_000, 5_000]; // before it connects again
const NOT_ALLOWED = 3000; // the relay does not know the project, or this page's origin: it won't later, either

export class Relay {
  /** @type {WebSocket | undefined} */ #socket;
  /** @type {Promise<void> | undefined} */ #opening;
  #calls = new Map(); // {resolve, reject} by id
  #topics = new Set();
  #failures = 0;
  #isClosed = false;

  /**
   * @param {{url: string, projectId: string, seed: string, receive: (topic: string, message: string) => void,
   *   say: (state: "connected" | "away") => void}} options
   */
  constructor({ url, projectId, seed, receive, say }) {
    Object.assign(this, { url, projectId, seed, receive, say });
  }

  /** @param {string} topic */
  async subscribe(topic) {
    this.#topics.add(topic);
    await this.#call("irn_subscribe", { topic });
  }

  /** @param {string} topic */
  async unsubscribe(topic) {
    this.#topics.delete(topic);
    await this.#call("irn_unsubscribe", { topic });
  }

  /** @param {string} topic @param {string} message @param {{tag: number, ttl: number}} kind */
  publish(topic, message, { tag, ttl }) {
    return this.#call("irn_publish", { topic, message, ttl, tag, prompt: tag === 1100 || tag === 1108 });
  }

  close() {
    this.#isClosed = true;
    this.#socket?.close();
  }

  async #call(method, params) {
    await this.#open();
    const id = newId();
    const answered = new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new WalletError("RELAY", "The relay doesn't answer.")), ANSWER_MS);
      this.#calls.set(id, { resolve, reject, timer });
    });
    this.#socket?.send(JSON.stringify({ id, jsonrpc: "2.0", method, params }));
    return answered;
  }

  #open() {
    if (this.#isClosed) return Promise.reject(new WalletError("RELAY", "The connection to the relay was closed."));
    this.#opening ??= new Promise((resolve, reject) => {
      const query = new URLSearchParams({ auth: makeToken(this.seed, this.url), projectId: this.projectId, ua: "wc-2/wallet-link" });
      const socket = (this.#socket = new WebSocket(`${this.url}/?${query}`));
      socket.onmessage = ({ data }) => this.#take(data);
      socket.onerror = () => {}; // it is closed then
      socket.onopen = () => {
        this.#failures = 0;
        this.say("connected");
        resolve();
      };
      socket.onclose = ({ code }) => {
        reject(new WalletError("RELAY", code === NOT_ALLOWED ? "The relay doesn't allow this page." : `Can't reach the relay ${this.url}.`));
        this.#lose(code);
      };
    });
    return this.#opening;
  }

  #lose(code) {
    this.#opening = undefined;
    for (const { reject, timer } of this.#calls.values()) {
      clearTimeout(timer);
      reject(new WalletError("RELAY", "The connection to the relay was lost."));
    }
    this.#calls.clear();
    if (this.#isClosed || code === NOT_ALLOWED) return;
    this.say("away");
    if (this.#topics.size === 0) return;
    const pause = PAUSES_MS[Math.min(this.#failures, PAUSES_MS.length - 1)];
    this.#failures += 1;
    setTimeout(() => this.#resume(), pause);
  }

  /** Subscribe again: the relay has kept what came meanwhile. */
  async #resume() {
    if (this.#topics.size === 0 || this.#isClosed) return;
    await this.#call("irn_batchSubscribe", { topics: [...this.#topics] }).catch(() => {});
  }

  #take(data) {
    let frame;
    try {
      frame = JSON.parse(data);
    } catch {
      return;
    }
    if (frame?.method === "irn_subscription") {
      this.#socket?.send(JSON.stringify({ id: frame.id, jsonrpc: "2.0", result: true }));
      const { topic, message } = frame.params?.data ?? {};
      if (this.#topics.has(topic)) this.receive(topic, message);
      return;
    }
    const call = this.#calls.get(frame?.id);
    if (!call) return;
    this.#calls.delete(frame.id);
    clearTimeout(call.timer);
    if (frame.error) call.reject(new WalletError("RELAY", `The relay refused it: ${frame.error.message}`));
    else call.resolve(frame.result);
  }
}

let last = 0;

/** An id of JSON-RPC as WalletConnect's clients make them. */
export function newId() {
  last = Math.max(last + 1, Date.now() * 1000 + Math.floor(Math.random() * 1000));
  return last;
}
