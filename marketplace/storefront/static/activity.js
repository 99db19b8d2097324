// The activity of the market, of a collection, or of an account: new events appear by themselves, older ones on demand.

import { Feed } from "./feed.js";
import { extendOnDemand, keyOf, part, readPage, show } from "./fragments.js";

const { cursor } = document.getElementById("events").dataset;
const status = document.querySelector("#events [role=status]");
const live = document.getElementById("live");

/** Put the new rows before those that are shown. */
async function showNew() {
  const page = await readPage(location.href).catch(() => null);
  if (!page) return; // the next event tries again
  const list = part("cards");
  const shown = new Set([...list.children].map(keyOf));
  const rows = [...part("cards", page).children].filter((row) => !shown.has(keyOf(row)));
  for (const row of rows) row.classList.add("new");
  list.prepend(...rows.map((row) => document.adoptNode(row)));
  part("empty").replaceChildren();
  if (rows.length) status.textContent = rows.length === 1 ? "1 new event" : `${rows.length} new events`;
}

async function begin() {
  const page = await readPage(location.href).catch(() => null);
  if (page) show(page);
  follow(page?.getElementById("events").dataset.cursor ?? cursor);
}

let feed = null;
function follow(after) {
  if (after && after !== "None") feed = new Feed(after, showNew, begin);
}

follow(cursor);
extendOnDemand();
live.addEventListener("click", () => {
  const isLive = live.getAttribute("aria-checked") !== "true";
  live.setAttribute("aria-checked", String(isLive));
  feed?.pause(!isLive);
});
