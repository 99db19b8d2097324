// The place in a list that was extended: kept with the page's entry in the browser's history, so that Back returns to it.

const list = document.getElementById("gallery");
history.scrollRestoration = "manual"; // a browser scrolls before the list is long enough

/** { pages, key, top, scroll }: how far the list was extended, and which card was where; {} for a new visit. */
export function keptPlace() {
  // A link to the page that is shown keeps its state in some browsers.
  const isNew = performance.getEntriesByType("navigation")[0]?.type === "navigate";
  return (!isNew && history.state?.place) || {};
}

export function keepPlace(pages) {
  const card = [...list.children].find((one) => one.getBoundingClientRect().bottom > 0);
  const place = { pages, key: card?.dataset.key, top: card?.getBoundingClientRect().top, scroll: scrollY };
  history.replaceState({ ...history.state, place }, "");
}

/** Scroll to the kept card or, if that card is gone, as far down as before. */
export function returnTo({ key, top, scroll }) {
  if (scroll === undefined || location.hash) return;
  const card = [...list.children].find((one) => one.dataset.key === key);
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
