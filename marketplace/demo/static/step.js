// A step of the listing: locked, open, done or failed, with what it said and what it called.

import { notice } from "./element.js";
import { exchange } from "./exchange.js";

export class Step {
  constructor(id) {
    this.root = document.getElementById(id);
    this.form = this.root.querySelector("form");
    this.outcome = this.root.querySelector("[data-outcome]");
    this.calls = this.root.querySelector("[data-calls]");
  }

  /** Let it be taken; focus leads whoever works with the keyboard there. */
  open({ focus = true } = {}) {
    this.set("open");
    if (!focus) return;
    const heading = this.root.querySelector("h2");
    heading.focus({ preventScroll: true });
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    this.root.scrollIntoView({ behavior, block: "start" });
  }

  lock() {
    this.set("locked");
    this.clear();
  }

  clear() {
    this.outcome.replaceChildren();
    this.calls.replaceChildren();
  }

  show(...made) {
    this.calls.append(...made.map((one) => exchange(one)));
  }

  succeed(...sentence) {
    this.set("done");
    this.outcome.replaceChildren(notice("good", ...sentence));
  }

  wait(...sentence) {
    this.outcome.replaceChildren(notice("wait", ...sentence));
  }

  fail(...sentence) {
    this.set("open");
    this.outcome.replaceChildren(notice("bad", ...sentence));
  }

  set(state) {
    this.root.classList.remove("locked", "open", "done");
    this.root.classList.add(state);
    this.root.querySelector("fieldset").disabled = state === "locked";
  }
}
