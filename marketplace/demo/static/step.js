// A step (locked, open or done) with its outcome and its calls; and a list of steps, one after the other.

import { notice } from "./element.js";
import { exchange } from "./exchange.js";

export class Step {
  constructor(root, steps) {
    this.root = root;
    this.steps = steps;
    this.name = root.dataset.step;
    this.form = root.querySelector("form");
    this.outcome = root.querySelector("[data-outcome]");
    this.calls = root.querySelector("[data-calls]");
  }

  /** Open the step, and move the keyboard's focus to it. */
  open({ focus = true } = {}) {
    this.set("open");
    if (focus && this.steps.isLed) lead(this.root.querySelector(".title"), this.root);
  }

  lock() {
    this.set("locked");
    this.clear();
  }

  clear() {
    this.outcome.replaceChildren();
    for (const made of this.calls.querySelectorAll(".exchange")) made.remove();
  }

  show(...made) {
    this.calls.append(...made.map((one) => exchange(one, made.length > 1 ? { open: false } : {})));
  }

  /** succeed(), wait() and fail() return whether the step was taken. */
  succeed(...sentence) {
    this.set("done");
    return this.say("good", sentence);
  }

  wait(...sentence) {
    return this.say("wait", sentence);
  }

  fail(...sentence) {
    this.set("open");
    return this.say("bad", sentence);
  }

  say(kind, sentence) {
    this.outcome.replaceChildren(notice(kind, ...sentence));
    return kind === "good";
  }

  get isLocked() {
    return this.root.classList.contains("locked");
  }

  get isWaiting() {
    return this.outcome.querySelector(".notice.wait") !== null;
  }

  set(state) {
    this.root.classList.remove("locked", "open", "done");
    this.root.classList.add(state);
    this.root.querySelector("fieldset").disabled = state === "locked";
  }
}

/** The steps of a list, each by its name: steps.named.sign. */
export class Steps {
  constructor(list) {
    this.isLed = true; // the focus moves from each step to the next
    this.all = [...list.querySelectorAll("[data-step]")].map((root) => new Step(root, this));
    this.named = Object.fromEntries(this.all.map((step) => [step.name, step]));
  }

  /** Open the first step, unless it is open already. */
  begin() {
    const [first] = this.all;
    if (first.isLocked) first.open({ focus: false });
  }

  /** Start a step over, and lock the steps after it. */
  restart(step) {
    step.clear();
    for (const later of this.all.slice(this.all.indexOf(step) + 1)) later.lock();
  }
}

/** Focus a heading, and scroll its section into view. */
export function lead(heading, root) {
  heading.focus({ preventScroll: true });
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  root.scrollIntoView({ behavior, block: "start" });
}
