// Dates in words, "3 days ago", which the server has written: they go on.

import { now } from "./clock.js";

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const REFRESH_MS = 20_000;

function ago(iso) {
  const seconds = (Date.parse(iso) - now()) / 1000;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? [];
  return unit ? relative.format(Math.round(seconds / size), unit) : "just now";
}

export function keepTimes() {
  const show = () => {
    const shown = /** @type {NodeListOf<HTMLTimeElement>} */ (document.querySelectorAll("time[title]"));
    for (const one of shown) one.textContent = ago(one.dateTime);
  };
  setInterval(show, REFRESH_MS);
}
