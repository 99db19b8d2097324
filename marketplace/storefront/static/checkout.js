// The basket's page: what its address names, what has changed since, and its purchase.

import { basketPage } from "./addresses.js";
import { hbar } from "./amount.js";
import { idOf, items, see, takeOut } from "./basket.js";
import { followAddress } from "./dialog.js";
import { Feed } from "./feed.js";
import { part, readPage, show } from "./fragments.js";
import { onVisitor, visitor } from "./visitor.js";

const { cursor } = document.getElementById("lines").dataset;
const lines = () => /** @type {HTMLElement[]} */ ([...part("cards").children]);
const ids = () => lines().map(({ dataset }) => dataset.key);

// Without NFTs in the address, it is about what this browser has kept.
const asked = () => new URLSearchParams(location.search).getAll("nft").map((text) => text.trim());
if (!asked().length && items().length) location.replace(basketPage(items()));

/** What you can buy of it, each with the price that was seen before this page. */
function offered() {
  const buyable = new Map(bought().map(({ dataset }) => [dataset.key, dataset.price]));
  const seen = asked().filter((item) => buyable.has(idOf(item)));
  const priced = asked().filter((item) => buyable.has(item)).map((id) => `${id}:${buyable.get(id)}`);
  return [...seen, ...priced];
}

/** Your own are left out. */
const bought = () => lines().filter(({ dataset }) => dataset.price !== "0" && dataset.owner !== visitor());

/** @type {import("./trading/purchase.js").Purchase | undefined} */
let purchase;
const page = {
  items: offered,
  accept(accepted) {
    see(accepted);
    history.replaceState(history.state, "", basketPage(accepted) + location.hash);
    refresh();
  },
  done: refresh,
};

/** Show all that may have changed. */
async function refresh() {
  try {
    show(await readPage(location.href));
  } catch {
    return; // the next event tries again
  }
  showSum();
  if (purchase?.dialog.open) purchase.load();
}

function showSum() {
  const amount = bought().reduce((all, { dataset }) => all + Number(dataset.price), 0);
  const button = document.getElementById("checkout");
  const words = `Buy ${bought().length} for ${hbar(amount)}`;
  if (!button || button.textContent === words) return;
  button.textContent = words;
  button.hidden = !bought().length;
  document.querySelector(".sum .price").textContent = hbar(amount);
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

followAddress(async () => {
  const { Purchase } = await import("./trading/purchase.js");
  purchase ??= new Purchase(document.getElementById("purchase"), page);
  purchase.begin();
});
onVisitor(showSum);
showSum();
if (cursor && cursor !== "None") {
  const isHere = ({ token, serialNo }) => ids().includes(`${token}:${serialNo}`);
  new Feed(cursor, (events) => events.some(isHere) && refresh(), () => location.reload());
}
