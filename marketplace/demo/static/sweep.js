// The cheapest of a collection, to be bought together: as many as one likes, and none of one's own.

import { api, basketPage, feeBasisPoints, withQuery } from "./addresses.js";
import { hbar } from "./amount.js";
import { itemOf } from "./basket.js";
import { get } from "./call.js";
import { pictures, sum } from "./group.js";
import { you } from "./you.js";

const AT_MOST = 10; // as the API takes them
const PAGES_AT_MOST = 5; // of the order book, for who owns the cheapest
// Who pays or gets HBAR in one transaction of the ledger, less the buyer and the marketplace.
const SELLERS = 10 - 1 - (feeBasisPoints ? 1 : 0);
const root = /** @type {HTMLDialogElement} */ (document.getElementById("sweep"));
const range = root.querySelector("input");
const button = root.querySelector("a");
const said = root.querySelector("[role=status]");
let offers = []; // the cheapest first

async function read() {
  const { token } = document.getElementById("collection").dataset;
  const sellers = new Set();
  const isOffer = ({ owner: { accountId } }) => {
    if (accountId === you() || (sellers.size === SELLERS && !sellers.has(accountId))) return false;
    return sellers.add(accountId);
  };
  const found = [];
  let answer;
  let next = withQuery(api("/orderbook"), { tokenId: token, sort: "price" });
  for (let i = 0; next && found.length < AT_MOST && i < PAGES_AT_MOST; i += 1) {
    answer = await get(next);
    found.push(...(answer.ok ? answer.data.filter(isOffer) : []));
    next = answer.next;
  }
  offers = found.slice(0, AT_MOST);
  range.max = String(offers.length || 1);
  said.textContent = answer.ok ? (offers.length ? "" : "All that is for sale is yours.") : answer.message;
  show();
}

/** Read what is for sale, and ask how many. */
export function open() {
  root.showModal();
  return read();
}

function show() {
  const chosen = offers.slice(0, Number(range.value));
  button.hidden = !chosen.length;
  button.textContent = `Sweep the floor: ${chosen.length} for ${hbar(sum(chosen))}`;
  button.href = `${basketPage(chosen.map(itemOf))}#buying`;
  range.setAttribute("aria-valuetext", `${chosen.length} for ${hbar(sum(chosen))}`);
  const shown = pictures(chosen);
  root.querySelector("ul").replaceChildren(...shown.children);
}

range.addEventListener("input", show);
