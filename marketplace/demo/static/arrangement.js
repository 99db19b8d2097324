// The arrangement of a list: its order, filter and tabs. A choice loads a new page, which opens at the same place.

import { recall, remember } from "./memory.js";

const controls = document.querySelector(".arranging");
let isChoosing = false;
let kept = take();

/** What the page before has remembered, if this page replaces it. */
function take() {
  const { path, ...left } = JSON.parse(recall("arrangement") || "{}");
  remember("arrangement", "");
  const isNew = performance.getEntriesByType("navigation")[0]?.type === "navigate";
  return isNew && path === location.pathname ? left : {};
}

const top = () => controls.getBoundingClientRect().top;
const folds = () => [...controls.querySelectorAll("details")];
const titleOf = (fold) => fold.querySelector("summary").textContent;
const nameOf = ({ name, value, textContent }) => `${name} ${value} ${textContent}`;

/** Restore the folds, the place and the keyboard's focus. Call it whenever more of the page has loaded. */
export function stayInPlace() {
  if (kept.top === undefined) return;
  for (const fold of folds()) fold.open = kept.open.includes(titleOf(fold));
  scrollTo({ top: scrollY + top() - kept.top, behavior: "instant" });
  if (!kept.focused || document.activeElement !== document.body) return;
  const all = [...controls.querySelectorAll("a, button, input")];
  all.find((one) => nameOf(one) === kept.focused)?.focus({ preventScroll: true });
}

if (kept.top !== undefined) {
  document.body.style.minHeight = `${kept.bottom}px`; // so that a shorter list can have the same place
  stayInPlace();
}
// Restore nothing more once the visitor scrolls, points or types.
for (const kind of ["keydown", "pointerdown", "touchmove", "wheel"]) {
  addEventListener(kind, () => (kept = {}), { once: true });
}
addEventListener("click", ({ target }) => (isChoosing = Boolean(target.closest(".arranging, .chips"))), true);
addEventListener("pagehide", () => {
  if (!isChoosing) return;
  const focused = controls.querySelector(":focus-visible");
  const open = folds().filter((fold) => fold.open).map(titleOf);
  const left = { top: top(), bottom: scrollY + innerHeight, open, focused: focused && nameOf(focused) };
  remember("arrangement", JSON.stringify({ path: location.pathname, ...left }));
});
