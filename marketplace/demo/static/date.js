// Dates: a <time> in words or in full, and a countdown.

const full = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const REFRESH_MS = 20_000;

export function time(iso) {
  return moment(iso, full.format(new Date(iso)));
}

/** "3 days ago", kept up to date, with the full date on hover. */
export function timeAgo(iso) {
  return moment(iso, ago(iso), full.format(new Date(iso)));
}

function ago(iso) {
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? [];
  return unit ? relative.format(Math.round(seconds / size), unit) : "just now";
}

/** Keep all dates in words up to date. */
export function keepTimes() {
  setInterval(() => {
    const shown = /** @type {NodeListOf<HTMLTimeElement>} */ (document.querySelectorAll("time[title]"));
    for (const one of shown) one.textContent = ago(one.dateTime);
  }, REFRESH_MS);
}

/** A mirror node's 1234567890.123456789 as an ISO date. */
export const fromConsensus = (timestamp) => new Date(Number(timestamp) * 1000).toISOString();

function moment(iso, words, title) {
  const made = document.createElement("time");
  made.dateTime = iso;
  made.textContent = words;
  if (title) made.title = title;
  return made;
}

/** Count down to a date in an element while it is on the page, then call over(); returns a function that stops it. */
export function countDown(shown, iso, over) {
  let isStopped = false;
  const tick = () => {
    if (isStopped || !shown.isConnected) return;
    const seconds = Math.floor((Date.parse(iso) - Date.now()) / 1000);
    const isOver = seconds < 0;
    shown.textContent = isOver
      ? "expired: prepare it again"
      : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left`;
    shown.classList.toggle("over", isOver);
    shown.classList.toggle("soon", !isOver && seconds < 30);
    if (isOver) over?.();
    else setTimeout(tick, 1000 - (Date.now() % 1000));
  };
  tick();
  return (words) => {
    isStopped = true;
    if (!words) return;
    shown.textContent = words;
    shown.classList.remove("over", "soon");
  };
}
