// Where things are: the only module that reads the page's <meta> elements.

const meta = (name) => document.querySelector(`meta[name="market-${name}"]`).content;

export const accessToken = meta("token");
export const wallet = meta("wallet");

/** Fills {names} in a path of the public API: api("/nft/{token}/{serial}", { token, serial }). */
export const api = (path, values) => meta("api") + fill(path, values);

export const sandbox = (path, values) => meta("sandbox") + fill(path, values);

export const nftPage = (token, serial) =>
  meta("nft").replace("TOKEN", encodeURIComponent(token)).replace("SERIAL", encodeURIComponent(serial));

export const galleryPage = (filter = {}) => withQuery(meta("gallery"), filter);

export const listingPage = (values = {}) => withQuery(meta("listing"), values);

function fill(path, values = {}) {
  return path.replace(/{(\w+)}/g, (_, name) => encodeURIComponent(values[name]));
}

function withQuery(path, values) {
  const query = new URLSearchParams(values).toString();
  return query ? `${path}?${query}` : path;
}
