// A trade in one click: all steps one after the other, how far they are, and how it ended.

import { element, notice } from "./element.js";
import { onSubmit } from "./form.js";
import { pictures } from "./group.js";
import { picture } from "./picture.js";
import { showBalance } from "./you.js";

const STAGES = {
  prepare: "Preparing the transaction",
  look: "Looking inside",
  sign: "Signing with the demo wallet",
  submit: "Submitting to the ledger",
  report: "Waiting for the marketplace to see it",
};
const REPORTS_AT_MOST = 10;
const PAUSE_MS = 1_000;

/** @typedef {{ nfts: any[], title: string, words: string, thanks?: string | null, more?: Node | string, ways: Node[] }} Outcome */

export class Trade {
  /**
   * In root. The signing takes the steps.
   * @param {HTMLElement} root
   * @param {import("./signing.js").Signing} signing
   * @param {() => Outcome} ended says how it ended well
   * @param {() => Promise<boolean>} first is done before the steps
   */
  constructor(root, signing, ended, first = async () => true) {
    this.signing = signing;
    this.ended = ended;
    this.first = first;
    this.form = root.querySelector("form");
    /** @type {HTMLElement} */
    this.progress = root.querySelector("[data-progress]");
    this.outcome = root.querySelector("[data-outcome]");
    /** @type {HTMLElement} */
    this.title = root.closest("dialog, main").querySelector("h1, h2");
    onSubmit(this.form, () => this.run());
  }

  /** Show the form again, and no outcome. */
  reset() {
    if (this.form.hidden) this.title.textContent = this.asked;
    this.form.hidden = false;
    this.progress.hidden = true;
    this.outcome.replaceChildren();
  }

  async run() {
    const { steps } = this.signing;
    this.reset();
    this.progress.hidden = false;
    steps.isLed = false; // the focus stays while all steps are taken
    const isDone = (await this.first()) && (await this.takeSteps());
    steps.isLed = true;
    this.progress.hidden = true;
    if (isDone) this.succeed(this.ended());
    else this.fail(steps);
    showBalance();
  }

  async takeSteps() {
    for (const name of Object.keys(STAGES)) {
      this.show(name);
      const isTaken = name === "report" ? await this.reportUntilSeen() : await this.signing[name]();
      if (!isTaken) return false;
    }
    return true;
  }

  /** The mirror node may be some seconds behind. */
  async reportUntilSeen() {
    for (let i = 0; i < REPORTS_AT_MOST; i += 1) {
      if (await this.signing.report()) return true;
      if (!this.signing.steps.named.report.isWaiting) return false;
      await new Promise((go) => setTimeout(go, PAUSE_MS));
    }
    return false;
  }

  show(name) {
    const names = Object.keys(STAGES);
    this.progress.querySelector("progress").value = names.indexOf(name) + 1;
    this.progress.querySelector("p").textContent = `${STAGES[name]}…`;
  }

  /**
   * The title says what was done; `more` stands beneath.
   * @param {Outcome} outcome
   */
  succeed({ nfts, title, words, thanks, more, ways }) {
    this.asked = this.title.textContent;
    this.title.textContent = title;
    const said = element("div", {}, element("p", {}, words), thanks && element("p", { class: "thanks" }, thanks), element("p", { class: "row" }, ways));
    this.form.hidden = true;
    this.outcome.replaceChildren(element("div", { class: "piece done" }, nfts.length === 1 ? picture(nfts[0], { eager: true }) : pictures(nfts), said, more));
    this.title.focus();
  }

  /** Show the message of the step that failed. */
  fail(steps) {
    const said = steps.all.map(({ outcome }) => outcome.querySelector(".notice.bad, .notice.wait")).find(Boolean);
    this.outcome.replaceChildren(said?.cloneNode(true) ?? notice("bad", "It did not go through."));
  }
}
