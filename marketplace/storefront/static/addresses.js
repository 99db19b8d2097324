// Addresses of the API and of pages: the only module that reads the page's <meta> elements.

const meta = (name) => /** @type {HTMLMetaElement | null} */ (document.querySelector(`meta[name="market-${name}"]`))?.content ?? "";

export const accessToken = meta("token");
/** Where another one is got when it has expired. */
export const tokenRenewal = meta("renewal");
export const wallet = meta("wallet");
/** A visitor's first account; empty where a wallet has to be connected first. */
export const suggestedAccount = meta("visitor");
/** Of the relay for wallets; empty if none is served. */
export const relay = meta("relay");
/** The shop's project at the relay's operator. */
export const project = meta("project");
export const network = meta("network");
export const isSandbox = network === "sandbox";

/** The page that checks a wallet; empty where there is none. */
export const checkPage = meta("check");

/** Fills {names} in a path of the public API: api("/nft/{token}/{serial}", { token, serial }). */
export const api = (path, values) => meta("api") + fill(path, values);

export const sandbox = (path, values) => meta("sandbox") + fill(path, values);

export const nftPage = (token, serial) =>
  meta("nft").replace("TOKEN", encodeURIComponent(token)).replace("SERIAL", encodeURIComponent(serial));

export const collectionPage = (token) => meta("collection").replace("TOKEN", encodeURIComponent(token));

export const accountPage = (account) => meta("holder").replace("ACCOUNT", encodeURIComponent(account));

export const galleryPage = (filter = {}) => withQuery(meta("gallery"), filter);

/** @param {string[]} items as basket.js names them */
export const basketPage = (items) => withQuery(meta("basket"), { nft: items });

/** A fragment of a trade's dialog: tradePage("purchase", { nft: [...], account }) */
export const tradePage = (name, values) => withQuery(meta("trade").replace("NAME", name), values);

export const listingPage = (values = {}) => withQuery(meta("listing"), values);

function fill(path, values = {}) {
  return path.replace(/{(\w+)}/g, (_, name) => encodeURIComponent(values[name]));
}

/** An address with a query: undefined and empty values are left out, a list becomes a parameter for each value. */
export function withQuery(path, values) {
  const pairs = Object.entries(values).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const given = pairs.filter(([, value]) => value !== undefined && value !== "");
  const query = new URLSearchParams(given).toString();
  return query ? `${path}?${query}` : path;
}
