// Parts of pages: the server writes them, and here they are read again, replaced, and added to.

import { element, notice } from "./element.js";

const UNREACHABLE = "Can't reach the market. Check your connection and try again.";
const SLOW_MS = 20_000;
const SENTENCES = {
  401: "The page is too old. Reload it, and try again.",
  429: "The market is busy. Try again in a few seconds.",
};

/**
 * Read one of the demo's pages; its scripts do not run. Throws an error with a sentence for people.
 * @param {string} href
 * @returns {Promise<Document>}
 */
export function readPage(href) {
  return new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    request.open("GET", href);
    request.setRequestHeader("Accept", "text/html");
    request.responseType = "document";
    request.timeout = SLOW_MS;
    request.onload = () => {
      // What was refused may be a page, too, which says why.
      if (request.responseXML?.querySelector("[data-part]")) done(request.responseXML);
      else fail(new Error(SENTENCES[request.status] ?? `Something went wrong (${request.status}). Try again.`));
    };
    request.onerror = () => fail(new Error(UNREACHABLE));
    request.ontimeout = () => fail(new Error("The market takes too long. Try again."));
    request.send();
  });
}

/** @param {string} name @param {ParentNode} page @returns {HTMLElement | null} */
export const part = (name, page = document) => page.querySelector(`[data-part="${name}"]`);

/** Replace these parts by those of another page, or all. Whoever changes them listens to "parts". */
export function show(page, names = null) {
  for (const old of document.querySelectorAll("[data-part]")) {
    const { part: name } = /** @type {HTMLElement} */ (old).dataset;
    const fresh = part(name, page);
    if (fresh && (!names || names.includes(name)) && !old.isEqualNode(fresh)) old.replaceWith(document.adoptNode(fresh));
  }
  document.dispatchEvent(new Event("parts"));
}

/** Say above the list why it is not shown: what is dimmed there is not what was asked for. */
export function showFailure(error, again) {
  const button = element("button", { class: "button quiet", type: "button", onclick: again }, "Try again");
  const failure = element("div", { class: "failure", role: "alert" }, notice("bad", error.message), button);
  document.querySelector(".failure")?.remove();
  part("cards").before(failure);
  part("cards").classList.add("dimmed");
}

export function clearFailure() {
  document.querySelector(".failure")?.remove();
  part("cards").classList.remove("dimmed");
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
    first?.querySelector("h2 a, .of a, th a")?.focus({ preventScroll: true });
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
  if (!link) return [null, null];
  link.setAttribute("aria-busy", "true");
  let page;
  try {
    page = await readPage(link.href);
  } catch (error) {
    link.removeAttribute("aria-busy");
    part("empty").replaceChildren(element("div", { class: "empty", role: "alert" }, notice("bad", error.message)));
    return [null, null];
  }
  part("empty").replaceChildren();
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
