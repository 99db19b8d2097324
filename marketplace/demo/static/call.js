// One call of the API: the request, the answer, and a sentence if it failed.

import { accessToken, api } from "./addresses.js";
import { parse, stringify } from "./json.js";

/**
 * @typedef {object} Answer of a call: look at `ok`, then at `data` or `message`
 * @property {boolean} ok
 * @property {number} status
 * @property {string} reason
 * @property {number} [milliseconds]
 * @property {string} text
 * @property {any} data
 * @property {string | null} next the address of the next page
 * @property {string} message
 * @property {string} method
 * @property {string} address
 * @property {string} [content]
 * @property {string} curl
 */

/**
 * Make a call. Never throws.
 * @returns {Promise<Answer>}
 */
export async function call(method, url, body) {
  const address = new URL(url, document.baseURI).href;
  const isPublic = address.startsWith(new URL(api("/"), document.baseURI).href);
  const headers = isPublic ? { Authorization: `Bearer ${accessToken}` } : {};
  const content = body === undefined ? undefined : stringify(body);
  if (content !== undefined) headers["Content-Type"] = "application/json";
  const made = { method, address, content, curl: curl(method, address, headers, content) };
  const started = performance.now();
  try {
    // Browsers may cache the mirror node's answers for seconds, and would not show what was just signed.
    const response = await fetch(address, { method, headers, body: content, cache: "no-cache" });
    const text = await response.text();
    const data = read(text);
    return {
      ...made,
      ok: response.ok,
      status: response.status,
      reason: response.statusText,
      milliseconds: Math.round(performance.now() - started),
      text,
      data,
      next: next(response),
      message: response.ok ? "" : sentence(data, response),
    };
  } catch {
    const message = "Can't reach the market. Check your connection and try again.";
    return { ...made, ok: false, status: 0, reason: "No answer", text: "", data: null, next: null, message };
  }
}

export const get = (url) => call("GET", url);
export const post = (url, body) => call("POST", url, body);

function read(text) {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

/** The marketplace and the sandbox have it in `message`, mirror nodes in `_status`. */
function sentence(data, response) {
  const messages = data?._status?.messages?.map(({ message }) => message).join("; ");
  return (data?.message && inWords(data.message)) || messages || `The service answered ${response.status} ${response.statusText}`;
}

/** RFC 8288: the address of the next page, if there is one. */
function next(response) {
  const match = /<([^>]*)>\s*;\s*rel="?next"?/.exec(response.headers.get("Link") ?? "");
  return match && new URL(match[1], response.url).href;
}

function curl(method, address, headers, content) {
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = [method === "GET" ? "curl" : `curl -X ${method}`];
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quote(`${name}: ${value}`)}`);
  if (content !== undefined) parts.push(`-d ${quote(content)}`);
  parts.push(quote(address));
  return parts.join(" \\\n  ");
}

// What the API says of a field, in people's words.
const NAMES = {
  accountId: "the account",
  expectedPrice: "the price",
  listingPrice: "the price",
  expiresIn: "the number of days",
  maxPrice: "the highest price",
  minPrice: "the lowest price",
  offerPrice: "the price",
  serialNo: "the serial number",
  tokenId: "the token",
};
const NAMED = new RegExp(`\\b(${Object.keys(NAMES).join("|")})\\b`, "g");

/** "minPrice must be above 0; tokenId is required" as "The lowest price must be above 0; the token is required". */
function inWords(message) {
  const plain = message
    .replace(/^\w+ must not be above maxPrice.*/, "The lowest price is above the highest")
    .replace(NAMED, (name) => NAMES[name])
    .replace(/(?<![\d.,"#])\d{5,}(?![\d.,]*\d|")/g, (digits) => Number(digits).toLocaleString("en"))
    .replace(/\. The ledger would say \w+/, "")
    .replace(/[;:,.]? *\b(POST|GET|DELETE) \/\S+[^;]*/g, "");
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}
