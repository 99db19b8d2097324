// The prices of an NFT over time: a small chart, and the same as a table for screen readers.

import { hbar } from "./amount.js";
import { time, timeAgo } from "./date.js";
import { element, fields, svg } from "./element.js";

const WORDS = { LISTED: "Listed", PRICE_CHANGED: "Price changed", SOLD: "Sold" };
const ENDS = new Set(["WITHDRAWN", "SOLD", "TRANSFERRED", "BURNED"]); // of a listing

/** [figure], or [] if there is nothing to compare. Events are oldest first. */
export function priceFigure(events) {
  const moments = events.filter(({ kind, price }) => price !== null || ENDS.has(kind));
  const priced = moments.filter(({ price }) => price !== null);
  if (priced.length < 2) return [];
  const prices = priced.map(({ price }) => price);
  const highest = Math.max(...prices);
  const labels = [["Lowest", Math.min(...prices)], ["Highest", highest], ["Last", prices.at(-1)]];
  const isListed = !ENDS.has(moments.at(-1).kind);
  const picture = element(
    "div",
    { class: "plot", "aria-hidden": "true" },
    element("dl", {}, fields(labels.map(([label, price]) => [label, hbar(price)]))),
    plot(place(moments, highest, isListed), isListed),
    element("p", { class: "span" }, timeAgo(moments[0].date), isListed ? "now" : timeAgo(moments.at(-1).date)),
  );
  return [element("figure", { class: "prices" }, picture, legend(priced), table(priced))];
}

/** Give each event its place between 0 and 100. All steps are equally wide, so that minutes are seen beside weeks. */
function place(moments, highest, isListed) {
  const steps = moments.length - (isListed ? 0 : 1);
  return moments.map(({ kind, price }, i) => {
    return { kind, price, x: round((100 * i) / steps), y: round(100 - (100 * price) / highest) };
  });
}

function round(percent) {
  return Math.round(100 * percent) / 100;
}

function plot(points, isListed) {
  const sales = points.filter(({ kind, price }) => kind === "SOLD" && price !== null);
  return svg(
    "svg",
    { viewBox: "0 0 100 100", preserveAspectRatio: "none" },
    svg("path", { class: "ticks", d: points.map(({ x }) => `M${x} 100v-4`).join("") }),
    svg("path", { class: "asked", d: asked(points) + (isListed ? "H100" : "") }),
    // A line without length has round ends: a dot that is not stretched.
    svg("path", { class: "sold", d: sales.map(({ x, y }) => `M${x} ${y}h.01`).join("") }),
  );
}

/** The line of what was asked for: steps, with a gap while it was not listed. */
function asked(points) {
  let path = "";
  let isListed = false;
  for (const { kind, x, y } of points) {
    if (isListed) path += `H${x}`;
    const isEnd = ENDS.has(kind);
    if (!isEnd) path += isListed ? `V${y}` : `M${x} ${y}`;
    isListed = !isEnd;
  }
  return path;
}

function legend(priced) {
  const isSold = priced.some(({ kind }) => kind === "SOLD");
  const signs = [element("span", { class: "asked" }, "Asked for"), isSold && element("span", { class: "sold" }, "Sold")];
  const scale = element("small", {}, "One step for each event, not to scale of time");
  return element("figcaption", { "aria-hidden": "true" }, signs, scale);
}

function table(priced) {
  const head = ["Date", "Event", "Price"].map((name) => element("th", { scope: "col" }, name));
  const rows = priced.map(({ kind, price, date }) =>
    element("tr", {}, element("td", {}, time(date)), element("td", {}, WORDS[kind]), element("td", {}, hbar(price))),
  );
  return element(
    "div",
    { class: "visually-hidden" },
    element("table", {}, element("caption", {}, "Prices over time"), element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows)),
  );
}
