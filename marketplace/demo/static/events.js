// A list of events, newest first: older ones on demand, new ones by themselves.

import { get } from "./call.js";
import { element, notice } from "./element.js";
import { Feed, GONE } from "./feed.js";

const PAGE = 30;

export class Events {
  /**
   * In root. url(query) returns the address of the events, row(event, earlier) an <li>, with earlier ones newest first;
   * empty() returns what to show if there are none.
   * changed(events) gets all that are shown, called(answer) each call (no empty poll); arrived() follows new events.
   */
  constructor(root, { url, row, empty, called, changed = () => {}, arrived = () => {} }) {
    Object.assign(this, { root, url, row, empty, called, changed, arrived });
    this.list = element("ol", { class: "events" });
    this.more = element("div", { class: "more" });
    this.status = element("p", { class: "visually-hidden", role: "status" });
    this.feed = new Feed({ show: (answer) => this.showNew(answer), begin: () => this.begin() });
  }

  /** Read the events, or only new ones if some are shown. */
  async refresh() {
    return this.shown ? this.feed.ask() : this.begin();
  }

  /** Without a cursor the API returns the newest events, oldest first, and a Link to the events after them. */
  async begin() {
    const answer = await get(this.url({ limit: PAGE }));
    this.called(answer);
    this.root.setAttribute("aria-busy", "false");
    this.root.replaceChildren(this.list, this.more, this.status);
    this.shown = [];
    this.list.replaceChildren();
    this.more.replaceChildren();
    if (!answer.ok) return this.fail(answer);
    this.add(answer.data);
    this.offerOlder(answer.data);
    this.feed.follow(answer.next);
    return answer;
  }

  showNew(answer) {
    if (!this.shown.length) this.more.replaceChildren();
    this.called(answer);
    const rows = this.add(answer.data);
    for (const row of rows) row.classList.add("new");
    this.status.textContent = rows.length === 1 ? "1 new event" : `${rows.length} new events`;
    this.arrived();
  }

  add(events) {
    const newest = events.toReversed();
    this.shown.unshift(...newest);
    const rows = newest.map((event, i) => this.row(event, this.shown.slice(i + 1)));
    this.list.prepend(...rows);
    this.changed(this.shown);
    return rows;
  }

  offerOlder(page) {
    const isLast = page.length < PAGE;
    if (!this.shown.length) this.more.replaceChildren(element("div", { class: "empty" }, ...this.empty()));
    else this.more.replaceChildren(...(isLast ? [] : [this.button("Show older", (button) => this.extend(button))]));
  }

  /** Show older events, and move the keyboard's focus to the first of them. */
  async extend(button) {
    if (button.getAttribute("aria-busy")) return;
    button.setAttribute("aria-busy", "true");
    const answer = await get(this.url({ limit: PAGE, order: "desc", after: this.shown.at(-1).id }));
    this.called(answer);
    if (answer.status === GONE) return this.begin();
    if (!answer.ok) return this.fail(answer);
    const rows = answer.data.map((event, i) => this.row(event, answer.data.slice(i + 1)));
    this.shown.push(...answer.data);
    this.list.append(...rows);
    this.changed(this.shown);
    this.offerOlder(answer.data);
    rows[0]?.querySelector("a")?.focus({ preventScroll: true });
  }

  fail(answer) {
    // A refused request would be refused again.
    const isRefused = answer.status >= 400 && answer.status < 500;
    const again = isRefused ? "" : this.button("Try again", () => this.begin());
    this.more.replaceChildren(element("div", { class: "empty", role: "alert" }, notice("bad", answer.message), again));
    return answer;
  }

  button(label, act) {
    const button = element("button", { class: "button quiet", type: "button" }, label);
    button.addEventListener("click", () => act(button));
    return button;
  }
}
