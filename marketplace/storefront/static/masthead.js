// What every page has: the visitor's account, the basket, a search, folds that stay open, calls that are made again, and times that go on.

import "./basket.js";
import { element } from "./element.js";
import { recall, remember } from "./memory.js";
import { sayUnloaded, toast } from "./toast.js";
import { showOwn } from "./visitor.js";

const TIMES_MS = 20_000; // until a date's words may change

for (const fold of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("details[data-fold]"))) {
  const key = `fold-${fold.dataset.fold}`;
  fold.open = recall(key) === "open";
  fold.addEventListener("toggle", () => remember(key, fold.open ? "open" : "closed"));
}

for (const shown of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-call]"))) {
  shown.addEventListener("toggle", () => import("./developer/exchange.js").then(({ fill }) => fill(shown), sayUnloaded), { once: true });
}

// The search is loaded when it is used for the first time. Without it, the form leads to all that is found.
const search = /** @type {HTMLInputElement} */ (document.getElementById("search"));
search.addEventListener("focus", () => import("./search.js").catch(() => {}), { once: true });
addEventListener("keydown", (event) => {
  const isTyping = /** @type {HTMLElement} */ (event.target).closest("input, select, textarea, dialog, :popover-open");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  search.focus();
});
/** A picture that does not come says so. */
function replaceLost(image) {
  if (!(image instanceof HTMLImageElement) || !image.closest(".artwork")) return;
  if (image.srcset) return image.removeAttribute("srcset");
  image.replaceWith(element("p", { class: "lost" }, "The image can't be loaded"));
}
addEventListener("error", ({ target }) => replaceLost(target), { capture: true });
for (const image of document.images) if (image.complete && !image.naturalWidth && image.loading === "eager") replaceLost(image);

setTimeout(() => import("./times.js").then(({ keepTimes }) => keepTimes(), () => {}), TIMES_MS);
showOwn();
// Of this shop's operator, in this browser.
if (recall("operator")) document.getElementById("moderate")?.removeAttribute("hidden");
if (history.state?.isAsking) {
  history.replaceState({ ...history.state, isAsking: false }, "");
  toast("The page was reloaded while your wallet asked. Nothing was bought: decline it there, and buy again.");
}
if (!["[]", null].includes(recall("pending"))) import("./trading/pending.js").then(({ resume }) => resume(), sayUnloaded);
