// Offers that were made and not signed: the browser that made them knows their ids, because no list of the API has them.

import { tradePage } from "../addresses.js";
import { parse, stringify } from "../json.js";
import { part, readPage } from "../fragments.js";
import { recall, remember } from "../memory.js";
import { visitor } from "../visitor.js";

const KEPT_MS = 1_800_000; // then the same order makes another offer
const KEY = "unsigned";

/** @returns {{ order: import("./transaction.js").Order, offerId: string, at: number }[]} */
function all() {
  try {
    return parse(recall(KEY) ?? "[]").filter(({ at }) => Date.now() - at < KEPT_MS);
  } catch {
    return [];
  }
}

const others = (id) => all().filter(({ offerId }) => offerId !== id);

/** @param {import("./transaction.js").Transaction} transaction */
export const keepUnsigned = ({ order, offerId }) => remember(KEY, stringify([...others(offerId), { order, offerId, at: Date.now() }]));

export const forgetUnsigned = (offerId) => remember(KEY, stringify(others(offerId)));

/**
 * Show the visitor's, with ways to go on: those that isShown() takes.
 * @param {Element} place
 * @param {(order: import("./transaction.js").Order) => boolean} isShown
 */
export async function showUnsigned(place, isShown) {
  const account = visitor();
  const mine = all().filter(({ order }) => order.accountId === account && isShown(order));
  const address = tradePage("unsigned", { offer: mine.map(({ offerId }) => offerId), account });
  const page = mine.length ? await readPage(address).catch(() => null) : null;
  if (account !== visitor()) return; // the next one shows it
  const list = page && part("unsigned", page);
  place.replaceChildren(...(list?.children.length ? [document.adoptNode(list)] : []));
}
