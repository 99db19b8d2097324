// A list of cards: choices apply at once and without a new page, more follow on demand, and what happens shows.

import { plainNumber } from "./amount.js";
import { followCards } from "./live.js";
import { recall, remember } from "./memory.js";
import { clearFailure, extend, extendOnDemand, part, readPage, show, showFailure } from "./fragments.js";
import { keepPlace, keptPlace, returnTo, watchPlace } from "./scroll.js";
import { sayUnloaded } from "./toast.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("filter"));
const dense = document.getElementById("dense");
const collection = document.getElementById("collection")?.dataset.token;
const account = document.getElementById("account")?.dataset.account;
const isOfSome = part("cards").dataset.some === "yes"; // of all collections, only those that the form names
let pages = 1;
let question; // the newest one, whose answer is shown

/** The address that the form asks for: empty fields stay out, and 1,000 is 1000. */
function chosen() {
  const fields = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()]);
  const query = new URLSearchParams(fields.filter(([, value]) => value).map(([name, value]) => [name, /Price$/.test(name) ? plainNumber(value) : value]));
  return query.size ? `?${query}` : location.pathname;
}

/** Show the page at this address in place of this one. An older answer never takes the place of a newer one. */
async function go(href, { isNew = true } = {}) {
  const asked = (question = Symbol());
  const values = new Map(fieldsOf(form).map((field) => [field, valueOf(field)]));
  part("cards").setAttribute("aria-busy", "true");
  let page;
  try {
    page = await readPage(href);
  } catch (error) {
    if (asked === question) showFailure(error, () => go(href, { isNew }));
  }
  if (asked !== question) return;
  part("cards").removeAttribute("aria-busy");
  if (!page) return;
  clearFailure();
  if (isNew) history.pushState({}, "", href);
  show(page);
  fill(page, values);
  showDensity();
  pages = 1;
}

/**
 * Give the fields of the form the values of another page: the form keeps its place, its folds and its focus.
 * A field that has changed since it had one of these values keeps what was typed: it is not asked for yet.
 */
function fill(page, values) {
  const fresh = fieldsOf(page.getElementById("filter"));
  for (const field of fieldsOf(form)) {
    const other = fresh.find((one) => one.name === field.name && (!isChoice(one) || one.value === field.value));
    if (!other) continue;
    countAnew(field, other);
    if (valueOf(field) !== values.get(field)) continue;
    if (isChoice(field)) field.checked = other.checked;
    else field.value = other.value;
    const said = field.getAttribute("aria-describedby");
    if (!said) continue;
    field.setAttribute("aria-invalid", String(other.hasAttribute("aria-invalid")));
    document.getElementById(said).textContent = page.getElementById(said).textContent;
  }
  fieldsOf(form).find((field) => field.ariaInvalid === "true")?.focus({ preventScroll: true });
}

/** The number beside a choice follows the other choices. */
function countAnew(field, other) {
  const [number, fresh] = [field, other].map((one) => one.closest("label")?.querySelector(".number"));
  if (number && fresh) number.textContent = fresh.textContent;
}

/** @returns {HTMLInputElement[]} */
const fieldsOf = (one) => [...one.elements].filter(({ tagName }) => tagName !== "BUTTON");
/** Whether somebody has changed it since the page came. */
const isTouched = (field) =>
  field instanceof HTMLSelectElement
    ? [...field.options].some((one) => one.selected !== one.defaultSelected)
    : field.checked !== field.defaultChecked || field.value !== field.defaultValue;
const valueOf = (field) => (isChoice(field) ? field.checked : field.value);
const isChoice = ({ type }) => type === "checkbox" || type === "radio";

function showDensity() {
  const isDense = recall("dense") === "yes";
  document.getElementById("gallery").classList.toggle("dense", isDense);
  dense?.setAttribute("aria-checked", String(isDense));
}

function countOn(page) {
  pages += 1;
  keepPlace(pages);
  const count = part("count");
  const number = part("cards").children.length;
  if (count.textContent.startsWith("More than")) count.textContent = `${page && part("more").children.length ? "More than " : ""}${number} for sale`;
}

/** Whether a new listing could be on this page, as far as the event says. */
function couldShow({ token, price, from }) {
  const query = new URLSearchParams(location.search);
  const [low, high] = [query.get("minPrice"), query.get("maxPrice")];
  if (query.has("trait") || (low && price < Number(low)) || (high && price > Number(high))) return false;
  if (query.get("collection") && query.get("collection") !== token) return false;
  if (isOfSome && !fieldsOf(form).some(({ name, value }) => name === "collection" && value === token)) return false;
  if (account) return from?.accountId === account;
  return !collection || collection === token;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  go(chosen());
});
document.addEventListener("change", ({ target }) => {
  if (/** @type {HTMLInputElement} */ (target).form === form) go(chosen());
});
document.addEventListener("click", (event) => {
  const link = /** @type {HTMLElement} */ (event.target).closest('[data-part="chosen"] a, [data-part="head"] a');
  if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  go(link.href);
});
addEventListener("popstate", () => {
  if (!location.hash) go(location.href, { isNew: false });
});
dense?.addEventListener("click", () => {
  remember("dense", recall("dense") === "yes" ? "no" : "yes");
  showDensity();
});
// The sheet of a narrow screen leaves the results in sight.
document.getElementById("sidebar")?.addEventListener("toggle", ({ newState }) => {
  if (newState === "open") document.querySelector(".results").scrollIntoView();
});
extendOnDemand(countOn);
showDensity();
// What was chosen before this script had come.
if (fieldsOf(form).some(isTouched)) go(chosen());

/** As many pages as there were when this one was left. */
async function restore() {
  const past = keptPlace();
  while (pages < past.pages) {
    const [first, page] = await extend();
    if (!first) break;
    countOn(page);
  }
  returnTo(past);
  watchPlace(() => keepPlace(pages));
}

restore();
const { cursor } = part("cards").dataset;
if (cursor && cursor !== "None") followCards(cursor, couldShow, () => go(location.href, { isNew: false }));
const again = () => go(location.pathname + location.search, { isNew: false });
if (document.getElementById("choosing")) import("./choosing.js").then(({ offerChoice }) => offerChoice(again), sayUnloaded);
document.getElementById("begin-sweep")?.addEventListener("click", () => import("./sweep.js").then(({ open }) => open(), sayUnloaded));
