// The market's API, by the client that dApps have (clients/market, bundled); and a call as a page shows it.

import { accessToken, api, tokenRenewal, wallet } from "./addresses.js";
import * as client from "./market.js";

/** @type {any} */
const { exchange: send, Market } = client;

/** Some browsers are set to remember nothing: the client does without. */
const storage = { getItem: (name) => localStorage.getItem(name), setItem: (name, text) => localStorage.setItem(name, text) };

/** @type {import("../../../clients/market/src/market.js").Market} */
export const market = new Market({ url: api("").replace(/v1$/, ""), token: accessToken, wallet, storage, fetch: ask });

const NOT_AUTHENTICATED = 401;

let hasToken = Boolean(accessToken);
/** @type {Promise<boolean> | null} */
let renewing = null; // for all calls that wait for it

/** All visitors get the same page, without a token: it gets one before its first call, and another when that has expired. @type {typeof globalThis.fetch} */
async function ask(address, request) {
  if (!new Headers(request.headers).has("Authorization")) return globalThis.fetch(address, request);
  const fetchWithToken = () => globalThis.fetch(address, { ...request, headers: { .../** @type {any} */ (request.headers), ...market.headers } });
  if (!hasToken) await renew();
  const response = await fetchWithToken();
  return response.status === NOT_AUTHENTICATED && (await renew()) ? fetchWithToken() : response;
}

function renew() {
  renewing ??= readToken().finally(() => (renewing = null));
  return renewing;
}

async function readToken() {
  const response = await globalThis.fetch(tokenRenewal, { cache: "no-store" });
  if (response.ok) market.headers.Authorization = `Bearer ${(await response.json()).token}`;
  return (hasToken = response.ok);
}

/** @type {typeof import("../../../clients/market/src/http.js").exchange} */
const exchange = send;

/** JSON whose integers stay whole. */
export const { parse, stringify } = client;

const UNREACHABLE = "Can't reach the market. Check your connection and try again.";

/** @typedef {import("../../../clients/market/src/http.js").Exchange & { message: string, curl: string }} Answer of a call: look at `ok`, then at `data` or `message` */

/**
 * Make a call. Never throws.
 * @param {string} method @param {string} url @param {any} [body]
 * @returns {Promise<Answer>}
 */
export async function call(method, url, body) {
  const address = new URL(url, document.baseURI).href;
  const isPublic = address.startsWith(new URL(api("/"), document.baseURI).href);
  return answerOf(await exchange(method, address, body, { headers: isPublic ? market.headers : {}, fetch: ask }));
}

export const get = (url) => call("GET", url);
export const post = (url, body) => call("POST", url, body);

/** @param {any} made an exchange of the client, or an answer @returns {Answer} */
export function answerOf(made) {
  return { curl: curl(made), message: made.ok ? "" : sentence(made), ...made };
}

/** The marketplace and the sandbox have it in `message`, mirror nodes in `_status`. */
function sentence({ status, statusText, data }) {
  if (!status) return UNREACHABLE;
  const messages = data?._status?.messages?.map(({ message }) => message).join("; ");
  return (data?.message && inWords(data.message)) || messages || `The service answered ${status} ${statusText}`;
}

function curl({ method, address, headers = {}, content }) {
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
export function inWords(message) {
  const plain = message
    .replace(/^\w+ must not be above maxPrice.*/, "The lowest price is above the highest")
    .replace(NAMED, (name) => NAMES[name])
    .replace(/(?<![\d.,"#])\d{5,}(?![\d.,]*\d|")/g, (digits) => Number(digits).toLocaleString("en"))
    .replace(/\. The ledger would say \w+/, "")
    .replace(/[;:,.]? *\b(POST|GET|DELETE) \/\S+[^;]*/g, "");
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}
