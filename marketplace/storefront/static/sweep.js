// The cheapest of a collection, to be bought together: as many as one likes.

import { tradePage } from "./addresses.js";
import { notice } from "./element.js";
import { part, readPage } from "./fragments.js";
import { visitor } from "./visitor.js";

const root = /** @type {HTMLDialogElement} */ (document.getElementById("sweep"));
const place = root.querySelector("[data-swept]");
const range = root.querySelector("input");
let loads = 0; // an older answer never takes the place of a newer one

async function load() {
  const mine = (loads += 1);
  const { token: collection } = document.getElementById("collection").dataset;
  try {
    const fresh = part("sweep", await readPage(tradePage("sweep", { collection, account: visitor(), number: range.value })));
    if (mine < loads) return;
    range.max = fresh.dataset.most;
    range.setAttribute("aria-valuetext", fresh.querySelector("a")?.textContent ?? "");
    place.replaceChildren(document.adoptNode(fresh));
  } catch (error) {
    if (mine === loads) place.replaceChildren(notice("bad", error.message));
  }
}

export function open() {
  root.showModal();
  return load();
}

range.addEventListener("input", load);
