// The basket: NFTs to buy together, each with the price that was seen of it. The browser keeps it; nobody trusts it.

import { basketPage } from "./addresses.js";
import { recall, remember } from "./memory.js";
import { toast } from "./toast.js";

const AT_MOST = 10; // as the API takes them
const link = /** @type {HTMLAnchorElement} */ (document.getElementById("basket"));

// An item is an NFT as an address names it, with the price that was seen: "0.0.5001:7:60".
const isItem = (text) => /^\d+\.\d+\.\d+:\d{1,19}:\d{1,11}$/.test(text);
export const idOf = (item) => item.split(":", 2).join(":");

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
  else return toast(`A basket holds ${AT_MOST} NFTs. Buy these first, or remove one.`);
  toast(`${items().length} in the basket`);
}

function show() {
  const kept = items();
  const ids = new Set(kept.map(idOf));
  link.href = basketPage(kept);
  link.querySelector(".number").textContent = String(kept.length);
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-keep]"))) {
    const isKept = ids.has(button.dataset.keep);
    if (isKept === button.classList.contains("kept")) continue; // as the server wrote it
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
