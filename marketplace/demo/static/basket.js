// The basket: NFTs to buy together, each with the price that was seen of it. The browser keeps it; nobody trusts it.

import { basketPage } from "./addresses.js";
import { element } from "./element.js";
import { recall, remember } from "./memory.js";

const AT_MOST = 10; // as the API takes them
const SAID_MS = 4_000;
const link = /** @type {HTMLAnchorElement} */ (document.getElementById("basket"));
const status = document.body.appendChild(element("p", { class: "toast", role: "status" }));

/** An NFT as the basket's address names it: "0.0.5001:7:60". */
export const itemOf = ({ token, serialNo, listingPrice }) => `${token}:${serialNo}:${listingPrice}`;
const isItem = (text) => /^\d+\.\d+\.\d+:\d{1,19}:\d{1,11}$/.test(text);
const idOf = (item) => item.slice(0, item.lastIndexOf(":"));

/** What is in it, each once. */
export function items() {
  const kept = (recall("basket") ?? "").split(" ").filter(isItem);
  return [...new Map(kept.map((item) => [idOf(item), item])).values()].slice(0, AT_MOST);
}

/** Take NFTs out of it: ["0.0.5001:7"]. */
export const takeOut = (ids) => keep(items().filter((item) => !ids.includes(idOf(item))));

/** Take over the prices that were seen of what is in it. */
export const see = (seen) => keep(items().map((item) => seen.find((one) => idOf(one) === idOf(item)) ?? item));

function keep(wanted) {
  remember("basket", wanted.join(" "));
  show();
}

/**
 * Put it into the basket or, if it is there, take it out.
 * @param {DOMStringMap} about
 */
function press({ keep: id, price }) {
  const before = items();
  if (before.some((item) => idOf(item) === id)) takeOut([id]);
  else if (before.length < AT_MOST) keep([...before, `${id}:${price}`]);
  else return say(`A basket has room for ${AT_MOST}: buy these first, or take one out.`);
  say(`${items().length} in the basket`);
}

let timer;
function say(sentence) {
  status.textContent = sentence;
  clearTimeout(timer);
  timer = setTimeout(() => (status.textContent = ""), SAID_MS);
}

function show() {
  const kept = items();
  const ids = new Set(kept.map(idOf));
  link.href = basketPage(kept);
  link.querySelector(".number").textContent = String(kept.length);
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-keep]"))) {
    const isKept = ids.has(button.dataset.keep);
    button.classList.toggle("kept", isKept);
    const words = isKept ? "In the basket" : "Add to basket";
    if (button.dataset.name) {
      button.title = words;
      button.ariaLabel = `${words}: ${button.dataset.name}`;
    } else button.textContent = words;
  }
}

document.addEventListener("click", ({ target }) => {
  const button = /** @type {HTMLElement} */ (/** @type {HTMLElement} */ (target).closest("[data-keep]"));
  if (button) press(button.dataset);
});
document.addEventListener("parts", show);
addEventListener("storage", show); // another window has changed it
addEventListener("pageshow", show);
show();
