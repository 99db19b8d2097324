// What happens while a list is shown: cards say so where they stand, and new listings wait for a click.

import { hbar } from "./amount.js";
import { element } from "./element.js";
import { Feed } from "./feed.js";

const CHANGES = {
  LISTED: ({ price }) => hbar(price),
  PRICE_CHANGED: ({ price }) => hbar(price),
  SOLD: ({ to }) => (to ? `Sold to ${to.accountId}` : "Sold"),
  WITHDRAWN: () => "Not for sale",
  TRANSFERRED: ({ to }) => (to ? `Moved to ${to.accountId}` : "Moved"),
  BURNED: () => "Burned",
};
const keyOf = ({ token, serialNo }) => `${token}/${serialNo}`;

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
    const card = document.querySelector(`.card[data-key="${CSS.escape(key)}"]`);
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
      button.hidden = !arrived.size;
      button.textContent = `${arrived.size} new`;
    },
    () => location.reload(),
  );
}

const isPriced = ({ kind }) => kind === "LISTED" || kind === "PRICE_CHANGED";

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
