// Parts of a page: the server writes them, and here they are read again, replaced, and added to.

import { element, notice } from "./element.js";

/**
 * Read one of the demo's pages; its scripts do not run. Null if the service did not answer.
 * @param {string} href
 * @returns {Promise<Document | null>}
 */
export function readPage(href) {
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    request.open("GET", href);
    request.setRequestHeader("Accept", "text/html");
    request.responseType = "document";
    request.onload = () => done(request.responseXML);
    request.onerror = () => done(null);
    request.send();
  });
}

/** @param {string} name @returns {HTMLElement | null} */
export const part = (name, page = document) => page.querySelector(`[data-part="${name}"]`);

/** Replace these parts by those of another page, or all. Whoever changes them listens to "parts". */
export function show(page, names = null) {
  for (const old of document.querySelectorAll("[data-part]")) {
    const { part: name } = /** @type {HTMLElement} */ (old).dataset;
    const fresh = part(name, page);
    if (fresh && (!names || names.includes(name))) old.replaceWith(document.adoptNode(fresh));
  }
  document.dispatchEvent(new Event("parts"));
}

/** Say that the service did not answer, where the list is. */
export function showGone(again) {
  const button = element("button", { class: "button quiet", type: "button", onclick: again }, "Try again");
  const said = notice("bad", "The service did not answer. Is it still running?");
  part("empty").replaceChildren(element("div", { class: "empty", role: "alert" }, said, button));
}

/**
 * Extend the list of a page whenever its link is pressed, and call done(page) then.
 * @param {(page: Document) => void} done
 */
export function extendOnDemand(done = () => {}) {
  document.addEventListener("click", async (event) => {
    const link = /** @type {HTMLElement} */ (event.target).closest('[data-part="more"] a');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const [first, page] = await extend();
    first?.querySelector("h2 a, .of a")?.focus({ preventScroll: true });
    if (page) done(page);
  });
}

let extending = null;

/** Show what follows, moving the keyboard's focus nowhere; returns the first new row, and the page it came from. */
export function extend() {
  extending ??= read().finally(() => (extending = null));
  return extending;
}

async function read() {
  const link = part("more").querySelector("a");
  link?.setAttribute("aria-busy", "true");
  const page = link && (await readPage(link.href));
  if (link && !page) showGone(() => location.reload());
  if (!page) return [null, null];
  const list = part("cards");
  const keys = new Set([...list.children].map(keyOf));
  const rows = [...part("cards", page).children].filter((row) => !keys.has(keyOf(row)));
  list.append(...rows.map((row) => document.adoptNode(row)));
  part("more").replaceWith(document.adoptNode(part("more", page)));
  return [rows[0], page];
}

/** @param {Element} row */
export function keyOf(row) {
  const { dataset } = /** @type {HTMLElement} */ (row);
  return dataset.key ?? dataset.id;
}
