// The basket's page: what its address names, what has changed since, and its purchase.

import { api, basketPage, withQuery } from "./addresses.js";
import { hbar } from "./amount.js";
import { itemOf, items, see, takeOut } from "./basket.js";
import { get } from "./call.js";
import { followAddress } from "./dialog.js";
import { dollars } from "./dollars.js";
import { Feed } from "./feed.js";
import { idOf } from "./group.js";
import { part, readPage, show } from "./parts.js";
import { onYou, you } from "./you.js";

const { cursor } = document.getElementById("several").dataset;
const lines = () => /** @type {HTMLElement[]} */ ([...part("cards").children]);
const ids = () => lines().map(({ dataset }) => dataset.key);
const collections = new Map();
let nfts = []; // of the address, as they are now

// Without NFTs in the address, it is about what this browser has kept.
if (!new URLSearchParams(location.search).has("nft") && items().length) location.replace(basketPage(items()));

async function readNfts() {
  const asked = ids();
  const answer = asked.length ? await get(withQuery(api("/nfts"), { id: asked })) : null;
  if (answer?.ok) nfts = answer.data.filter(Boolean);
  const unread = [...new Set(nfts.map(({ token }) => token))].filter((token) => !collections.has(token));
  const read = await Promise.all(unread.map((token) => get(api("/collection/{token}", { token }))));
  unread.forEach((token, i) => read[i].ok && collections.set(token, read[i].data));
}

/** Show all that may have changed; returns all records of the address. */
async function refresh() {
  const fresh = await readPage(location.href);
  if (fresh) show(fresh);
  showSum();
  await readNfts();
  (await import("./buying.js")).showPrice(page, nfts);
  return nfts;
}

/** The price that the address names: what was seen before this page. */
function seenPrice(nft) {
  const asked = new URLSearchParams(location.search).getAll("nft").map((text) => text.trim());
  const seen = asked.find((text) => text.startsWith(`${idOf(nft)}:`));
  return seen ? Number(seen.slice(idOf(nft).length + 1)) : nft.listingPrice;
}

/** What you can buy of it. */
const page = {
  nfts: () => nfts.filter(({ isForSale, owner }) => isForSale && owner.accountId !== you()),
  offered: () => page.nfts().map((nft) => ({ ...nft, listingPrice: seenPrice(nft) })),
  accept() {
    const left = nfts.filter(({ isForSale }) => isForSale).map(itemOf);
    see(left);
    history.replaceState(history.state, "", basketPage(left) + location.hash);
    refresh();
  },
  fees: (token) => collections.get(token),
  refresh,
};

/** Your own are left out. */
function showSum() {
  const bought = lines().filter(({ dataset }) => dataset.price !== "0" && dataset.owner !== you());
  const amount = bought.reduce((all, { dataset }) => all + Number(dataset.price), 0);
  const button = document.getElementById("checkout");
  const words = `Buy ${bought.length} for ${hbar(amount)}`;
  if (!button || button.textContent === words) return;
  button.textContent = words;
  button.hidden = !bought.length;
  document.querySelector(".sum .price").replaceChildren(hbar(amount), " ", dollars(amount));
}

/** Take one out, of the address and of what the browser has kept. */
async function leave(link) {
  const place = lines().indexOf(link.closest("li"));
  takeOut([link.dataset.leave]);
  history.replaceState(history.state, "", link.href);
  await refresh();
  const next = lines()[Math.min(place, lines().length - 1)]?.querySelector("[data-leave]") ?? document.querySelector("h1");
  /** @type {HTMLElement} */ (next).focus();
}

document.addEventListener("click", (event) => {
  const link = /** @type {HTMLElement} */ (event.target).closest("[data-leave]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  leave(link);
});

/** @type {(() => void) | null} */
let begin = null;
followAddress(async () => {
  await readNfts();
  begin ??= (await import("./buying.js")).offerPurchase(page);
  if (page.nfts().length) begin();
  return page.nfts().length > 0;
});
onYou(() => {
  showSum();
  refresh();
});
showSum();
if (cursor && cursor !== "None") {
  new Feed(
    cursor,
    (events) => events.some((event) => ids().includes(idOf(event))) && refresh(),
    () => location.reload(),
  );
}
