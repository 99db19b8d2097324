// Search in the masthead: collections, NFTs and accounts while somebody types.

import { accountPage, collectionPage, nftPage } from "./addresses.js";
import { inWords, market } from "./call.js";
import { hbar } from "./amount.js";
import { element } from "./element.js";

const PAUSE_MS = 120; // between two keys of one word
const input = /** @type {HTMLInputElement} */ (document.getElementById("search"));
const list = document.getElementById("found");
const status = document.getElementById("found-status");
let timer;
let question; // the last one, whose answer is shown

const options = () => [...list.children];
const chosen = () => options().find((one) => one.ariaSelected === "true");

async function ask() {
  forget();
  const asked = (question = Symbol());
  const q = input.value.trim();
  let rows = [], words = `No results for “${q}”.`;
  try {
    if (q) rows = found(await market.ask("search_marketplace", { q, shown: true }));
  } catch (error) {
    words = inWords(error.message);
  }
  if (asked !== question) return;
  show(rows);
  status.hidden = !q || options().length > 0;
  status.textContent = words;
}

function found({ collections, nfts, accounts }) {
  return [
    ...collections.map((one) => option(collectionPage(one.token), one, one.name ?? one.token, `${one.listed} for sale`)),
    ...nfts.map((one) => option(nftPage(one.token, one.serialNo), one, one.name, one.isForSale ? hbar(one.listingPrice) : "")),
    ...accounts.map((one) => option(accountPage(one.accountId), {}, one.accountId, `${one.listed} for sale`)),
  ];
}

/** The same image in 320 pixels, if there is one. @param {{ imageUrl?: string }} nft */
const thumbnail = ({ imageUrl }) =>
  element("img", { src: imageUrl.replace(/-640\.webp$/, "-320.webp"), alt: "", width: 320, height: 320, loading: "lazy", decoding: "async" });

/** @param {{ imageUrl?: string }} nft */
function option(href, nft, name, words) {
  const picture = nft.imageUrl ? thumbnail(nft) : element("i");
  const parts = [picture, element("bdi", { class: "clipped" }, name), element("span", {}, words)];
  const made = element("li", { role: "option", "aria-selected": "false" }, parts);
  made.addEventListener("click", () => location.assign(href));
  return made;
}

function show(shown) {
  shown.forEach((one, i) => (one.id = `found-${i}`));
  list.replaceChildren(...shown);
  list.hidden = !shown.length;
  input.ariaExpanded = String(shown.length > 0);
  choose(null);
}

function choose(wanted) {
  for (const one of options()) one.ariaSelected = String(one === wanted);
  if (wanted) input.setAttribute("aria-activedescendant", wanted.id);
  else input.removeAttribute("aria-activedescendant");
  wanted?.scrollIntoView({ block: "nearest" });
}

/** Down from the last leads to the first, and up from the first to the last. */
function move(step) {
  const all = options();
  const place = all.indexOf(chosen());
  const next = place < 0 && step < 0 ? all.length - 1 : (place + step + all.length) % all.length;
  choose(all[next]);
}

/** Ignore an answer that is still to come. */
function forget() {
  clearTimeout(timer);
  question = null;
}

function close() {
  forget();
  show([]);
  status.hidden = true;
}

const KEYS = {
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  Escape: close,
};

input.addEventListener("keydown", (event) => {
  if (event.key === "Escape") forget();
  const act = list.hidden ? null : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
input.addEventListener("input", () => {
  choose(null); // it was found for the text before
  forget();
  timer = setTimeout(ask, PAUSE_MS);
});
input.addEventListener("focus", ask);
input.addEventListener("blur", close);
// The field keeps the focus while somebody presses on what was found.
list.addEventListener("pointerdown", (event) => event.preventDefault());
// Enter leads to what was chosen, or else to the page of all that is found.
input.form.addEventListener("submit", (event) => {
  const wanted = /** @type {HTMLElement | undefined} */ (chosen());
  if (!wanted) return;
  event.preventDefault();
  wanted.click();
});

if (document.activeElement === input) ask();
