// What happens while a list is shown: cards say so where they stand, and new listings wait for a click.

import { hbar } from "./amount.js";
import { element } from "./element.js";
import { Feed } from "./feed.js";
import { readPage } from "./fragments.js";

const CHANGES = {
  LISTED: ({ price }) => hbar(price),
  PRICE_CHANGED: ({ price }) => hbar(price),
  SOLD: ({ to }) => (to ? `Sold to ${to.accountId}` : "Sold"),
  WITHDRAWN: () => "Not for sale",
  TRANSFERRED: ({ to }) => (to ? `Moved to ${to.accountId}` : "Moved"),
  BURNED: () => "Burned",
  HIDDEN: () => "Hidden",
  SHOWN: ({ price }) => (price ? hbar(price) : "Not for sale"),
};
const keyOf = ({ token, serialNo }) => `${token}/${serialNo}`;
const cardOf = (key, page = document) => page.querySelector(`.card[data-key="${CSS.escape(key)}"]`);

/**
 * Follow the events since the page was made. Only listings that it could show are counted as new.
 * @param {string} cursor
 * @param {(event: any) => boolean} isOfThisPage
 * @param {() => void} refresh reads the list again
 */
export function followCards(cursor, isOfThisPage, refresh) {
  const arrived = new Set();
  const button = element("button", { class: "button arrived", type: "button", hidden: true, onclick: refresh });
  const status = element("div", { role: "status" }, button);
  document.getElementById("main").append(status);

  function follow(event) {
    const words = CHANGES[event.kind]?.(event);
    if (!words) return;
    const key = keyOf(event);
    const card = cardOf(key);
    if (card) change(card, words, "price" in event && CHANGES[event.kind].length > 0 && isPriced(event));
    else if (!isPriced(event)) arrived.delete(key);
    else if (isOfThisPage(event)) arrived.add(key);
  }

  document.addEventListener("parts", () => {
    arrived.clear();
    button.hidden = true;
  });
  return new Feed(
    cursor,
    (events) => {
      events.forEach(follow);
      const changed = events.filter(({ kind }) => kind === "METADATA_CHANGED").map(keyOf);
      if (changed.some((key) => cardOf(key))) renew(changed);
      button.hidden = !arrived.size;
      button.textContent = `${arrived.size} new`;
    },
    () => location.reload(),
  );
}

/** Pictures and names that came later, read for all cards at once. If that fails, the next visit shows them. */
async function renew(keys) {
  const page = await readPage(location.href).catch(() => null);
  for (const key of page ? keys : []) {
    const [card, fresh] = [cardOf(key), cardOf(key, page)];
    for (const shown of card && fresh ? [".artwork", ".words"] : [])
      card.querySelector(shown).replaceWith(document.adoptNode(fresh.querySelector(shown)));
  }
}

const isPriced = ({ kind, price }) => kind === "LISTED" || kind === "PRICE_CHANGED" || (kind === "SHOWN" && price);

/** Nothing moves: the words stand where the price stood. */
function change(card, words, isForSale) {
  const price = card.querySelector(".price");
  price.textContent = words;
  price.classList.toggle("off", !isForSale);
  card.classList.toggle("gone", !isForSale);
  for (const way of card.querySelectorAll(".buy, .keep")) way.toggleAttribute("inert", !isForSale);
  card.classList.remove("changed");
  requestAnimationFrame(() => card.classList.add("changed"));
}
