// One HTTP request with JSON in and out, and when to send it again.

import { MarketError } from "./errors.js";
import { parse, stringify } from "./json.js";

const TIMEOUT_MS = 30_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000; // a longer Retry-After is left to the caller
const BUSY = [429, 502, 503, 504];
const NOT_MODIFIED = 304;

/**
 * @typedef {object} Exchange a request, and its answer
 * @property {string} method
 * @property {string} address
 * @property {Record<string, string>} headers of the request; those of Market's calls are without the token
 * @property {string} [content] of the request
 * @property {boolean} ok whether it succeeded, and its answer can be read
 * @property {number} status 0 without an answer
 * @property {string} statusText
 * @property {number} milliseconds
 * @property {string} text of the answer
 * @property {any} data of the answer
 * @property {string | null} next the address of the next page
 * @property {string | null} cursor of the events that the answer includes
 * @property {string | null} etag
 * @property {number} [retryAfter] seconds
 * @property {unknown} [cause] why there is no answer
 */

/**
 * Send one request. Only `signal` makes it throw.
 * @param {string} method
 * @param {string} address
 * @param {any} [body]
 * @param {{ headers?: Record<string, string>, signal?: AbortSignal, fetch?: typeof globalThis.fetch }} [options]
 * @returns {Promise<Exchange>}
 */
export async function exchange(method, address, body, { headers = {}, signal, fetch = globalThis.fetch } = {}) {
  const content = body === undefined ? undefined : stringify(body);
  const sent = content === undefined ? headers : { ...headers, "Content-Type": "application/json" };
  const made = { method, address, headers: sent, content, ok: false, status: 0, statusText: "No answer", milliseconds: 0, text: "", data: null, next: null, cursor: null, etag: null };
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  const started = performance.now();
  try {
    // Browsers may keep answers for seconds, and would not show what was just signed.
    const response = await fetch(address, { method, headers: sent, body: content, cache: "no-cache", signal: signal ? AbortSignal.any([signal, limit]) : limit });
    const text = await response.text();
    return { ...made, ...read(response, text), milliseconds: Math.round(performance.now() - started) };
  } catch (cause) {
    signal?.throwIfAborted();
    return { ...made, cause };
  }
}

/** @param {Response} response @param {string} text */
function read(response, text) {
  const { status, statusText, headers } = response;
  const seconds = Number(headers.get("Retry-After") ?? NaN);
  const link = /<([^>]*)>\s*;\s*rel="?next"?/.exec(headers.get("Link") ?? ""); // RFC 8288
  const facts = { status, statusText, text, cursor: headers.get("X-Events-Cursor"), etag: headers.get("ETag"), retryAfter: seconds >= 0 ? seconds : undefined, next: link && new URL(link[1], response.url || undefined).href };
  try {
    return { ...facts, data: status === NOT_MODIFIED ? null : parse(text), ok: response.ok || status === NOT_MODIFIED };
  } catch {
    return { ...facts, data: null };
  }
}

/** Why it failed. @param {Exchange} made */
export function errorOf({ status, data, retryAfter, cause, ok }) {
  if (!status) return new MarketError("UNREACHABLE", undefined, { cause });
  const isOurs = !ok && typeof data?.reason === "string";
  const reason = isOurs ? data.reason : BUSY.includes(status) ? "TRY_AGAIN" : "ANSWER_INVALID";
  const message = isOurs ? data.message : `The market answered ${status} with something else than JSON of its API`;
  return new MarketError(reason, message, { status, retryAfter, errors: data?.errors });
}

/**
 * Send a request, again if that may help: every call of the API can be repeated.
 * @param {() => Promise<Exchange>} send
 * @param {{ retries: number, signal?: AbortSignal }} options
 */
export async function sendAgain(send, { retries, signal }) {
  for (let attempt = 0; ; attempt += 1) {
    const made = await send();
    const milliseconds = made.ok || attempt >= retries ? null : pauseAfter(made, attempt);
    if (milliseconds === null) return made;
    await pause(milliseconds, signal);
  }
}

/** Milliseconds to wait before the same request; null if it would not help. */
function pauseAfter(made, attempt) {
  const { status, retryAfter } = made;
  const mayHelp = status === 0 || BUSY.includes(status) || errorOf(made).reason === "ANSWER_INVALID";
  const milliseconds = retryAfter === undefined ? FIRST_PAUSE_MS * 2 ** attempt : retryAfter * 1000;
  return mayHelp && milliseconds <= LONGEST_PAUSE_MS ? milliseconds : null;
}

/** @param {number} milliseconds @param {AbortSignal} [signal] @returns {Promise<void>} */
export function pause(milliseconds, signal) {
  return new Promise((done, fail) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      fail(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      done();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
