// One event in people's words, with its glyph: "Sold by 0.0.2007 to 0.0.2008 for 100 HBAR".

import { sandbox } from "./addresses.js";
import { hbar } from "./amount.js";
import { timeAgo } from "./date.js";
import { element, svg, tabLink } from "./element.js";
import { account } from "./sale.js";

const GLYPHS = {
  ADDED: "M12 5v14M5 12h14",
  LISTED: "M4 4h7l9 9-7 7-9-9zM8.5 8.5h.01",
  PRICE_CHANGED: "M7 19V6M3 10l4-4 4 4M17 5v13M13 14l4 4 4-4",
  WITHDRAWN: "M9 14 4 9l5-5M4 9h10a5.5 5.5 0 0 1 0 11h-3",
  SOLD: "M5 12.5l5 5L19.5 7",
  TRANSFERRED: "M4 12h15M13 6l6 6-6 6",
  BURNED: "M6 6l12 12M18 6L6 18",
  METADATA_CHANGED: "M4 20h4L19.5 8.5l-4-4L4 16z",
};

const amount = (price) => element("strong", { class: "amount" }, hbar(price));
const former = (price) => element("span", { class: "amount" }, hbar(price));
const who = (word, party) => (party ? [` ${word} `, account(party.accountId)] : []);

const SENTENCES = {
  ADDED: ({ to }) => ["Added here,", ...who("owned by", to)],
  LISTED: ({ from, price, previousPrice }) => {
    const verb = previousPrice === null ? "Listed" : "Listed again";
    return [verb, ...who("by", from), " for ", amount(price)];
  },
  PRICE_CHANGED: ({ from, price, previousPrice }) => {
    const verb = price < previousPrice ? "Price lowered" : "Price raised";
    return [verb, ...who("by", from), " from ", former(previousPrice), " to ", amount(price)];
  },
  WITHDRAWN: ({ from, previousPrice }) => {
    return ["Withdrawn", ...who("by", from), "; it was listed for ", former(previousPrice)];
  },
  SOLD: ({ from, to, price }) => ["Sold", ...who("by", from), ...who("to", to), " for ", amount(price)],
  TRANSFERRED: ({ from, to, previousPrice }) => ["Moved", ...who("from", from), ...who("to", to), ...ended(previousPrice)],
  BURNED: ({ previousPrice }) => ["Burned", ...ended(previousPrice)],
  METADATA_CHANGED: (_, earlier) => {
    return [isFirst(earlier) ? "Picture and traits found" : "Name, picture or traits changed"];
  },
};

function ended(price) {
  return price === null ? [] : [", which ended its listing for ", former(price)];
}

/** Whether these are the first metadata since the NFT was added, and so no change. Earlier events: newest first. */
function isFirst(earlier) {
  return earlier.find(({ kind }) => kind === "ADDED" || kind === "METADATA_CHANGED")?.kind === "ADDED";
}

/** What happened, as text and links. An unknown kind is shown by its name. */
export const sentence = (event, earlier = []) => SENTENCES[event.kind]?.(event, earlier) ?? [event.kind];

/** A sign for the eye; the sentence says the same. */
export function glyph(kind) {
  const path = svg("path", { d: GLYPHS[kind] ?? "M12 12h.01" });
  return svg("svg", { class: `glyph ${kind.toLowerCase()}`, viewBox: "0 0 24 24", "aria-hidden": "true" }, path);
}

/** When it happened, whether that was before the NFT was added here, and its transaction, if it has one. */
export function when({ date, transactionId }, earlier = []) {
  const isOlder = earlier.some((other) => other.kind === "ADDED" && other.date > date);
  const shown = element("p", { class: "when" }, timeAgo(date), isOlder && ", before it was added here");
  // 0.0.2007@1763640000.000000001 is 0.0.2007-1763640000-000000001 to mirror nodes.
  const id = transactionId?.replace("@", "-").replace(/\.(\d+)$/, "-$1");
  const href = id && sandbox("/api/v1/transactions/{id}", { id });
  if (href) shown.append(" · ", tabLink(href, "Transaction", transactionId));
  return shown;
}
