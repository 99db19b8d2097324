// A transaction about the NFTs that the page shows, in a dialog of its own: a purchase, or a withdrawal.

import { element } from "./element.js";
import { Signing } from "./signing.js";
import { Steps } from "./step.js";
import { Trade } from "./trade.js";

/**
 * @typedef {object} Page
 * @property {() => any[]} nfts the records as they are shown: one, or several
 * @property {(token: string) => any} fees their collection, with its royalties and fixed fees
 * @property {() => any[]} [offered] the same, each for the price that was seen of it before
 * @property {() => void} [accept] takes the present prices over
 * @property {() => Promise<any[]>} refresh reads the records again, and returns them
 */
export class Deal extends Signing {
  /**
   * @param {HTMLDialogElement} dialog
   * @param {Page} page
   */
  constructor(dialog, page) {
    super(new Steps(dialog));
    this.dialog = dialog;
    this.page = page;
    this.trade = new Trade(dialog.querySelector("[data-trade]"), this, () => this.ended());
  }

  /** Before the dialog opens. */
  begin() {
    this.trade.reset();
    this.steps.begin();
  }

  async report() {
    const isSeen = await super.report();
    if (isSeen) await this.page.refresh();
    return isSeen;
  }

  /**
   * How it ended well.
   * @returns {import("./trade.js").Outcome}
   */
  ended() {
    throw new Error("a subclass says what was done");
  }

  /** A button that leads back to the page. */
  see() {
    return element("button", { class: "button", type: "button", onclick: () => this.dialog.close() }, "See it");
  }
}
