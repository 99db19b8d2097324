// Dates of the ledger: in full, and a countdown.

import { now } from "../clock.js";

const full = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });

export function time(iso) {
  const made = document.createElement("time");
  made.dateTime = iso;
  made.textContent = full.format(new Date(iso));
  return made;
}

/** A mirror node's 1234567890.123456789 as an ISO date. */
export const fromConsensus = (timestamp) => new Date(Number(timestamp) * 1000).toISOString();

/** Count down to a date in an element while it is on the page, then call over(); returns a function that stops it. */
export function countDown(shown, iso, over) {
  let isStopped = false;
  const tick = () => {
    if (isStopped || !shown.isConnected) return;
    const seconds = Math.floor((Date.parse(iso) - now()) / 1000);
    const isOver = seconds < 0;
    shown.textContent = isOver
      ? "expired: prepare it again"
      : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left`;
    shown.classList.toggle("over", isOver);
    shown.classList.toggle("soon", !isOver && seconds < 30);
    if (isOver) over?.();
    else setTimeout(tick, 1000 - (now() % 1000));
  };
  tick();
  return (words) => {
    isStopped = true;
    if (!words) return;
    shown.textContent = words;
    shown.classList.remove("over", "soon");
  };
}
