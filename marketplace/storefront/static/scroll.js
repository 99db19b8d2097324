// The place in a list that was extended: kept with the page's entry in the browser's history, so that Back returns to it.

history.scrollRestoration = "manual"; // a browser scrolls before the list is long enough
const cards = () => /** @type {HTMLElement[]} */ ([...document.getElementById("gallery").children]);

/** How far the list was extended, and which card was where; nothing for a new visit. */
export function keptPlace() {
  const [entry] = performance.getEntriesByType("navigation");
  // A link to the page that is shown keeps its state in some browsers.
  const isNew = /** @type {PerformanceNavigationTiming} */ (entry)?.type === "navigate";
  return (!isNew && history.state?.place) || {};
}

export function keepPlace(pages) {
  const card = cards().find((one) => one.getBoundingClientRect().bottom > 0);
  const place = { pages, key: card?.dataset.key, top: card?.getBoundingClientRect().top, scroll: scrollY };
  history.replaceState({ ...history.state, place }, "");
}

/** Scroll to the kept card or, if that card is gone, as far down as before. */
export function returnTo({ key, top, scroll }) {
  if (scroll === undefined || location.hash) return;
  const card = cards().find((one) => one.dataset.key === key);
  const y = card && scroll > 0 ? scrollY + card.getBoundingClientRect().top - top : scroll;
  scrollTo({ top: y, behavior: "instant" });
}

/** Call keep whenever the place may have changed: after scrolling, and before a link is followed. */
export function watchPlace(keep) {
  let timer;
  addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(keep, 200);
  });
  addEventListener("click", keep, { capture: true });
}
