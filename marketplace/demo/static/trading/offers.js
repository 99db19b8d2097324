// What people do with an offer: its bidder makes and withdraws it, the NFT's owner accepts it.

import { tradePage } from "../addresses.js";
import { element } from "../element.js";
import { wholeNumber } from "../json.js";
import { visitor } from "../visitor.js";
import { Trade } from "./trade.js";
import { acceptOffer, deleteOffer, offer, withdrawOffer } from "./transaction.js";

/** @typedef {{ items: () => string[], offerId: () => string, done: () => unknown }} Page */

export class Offer extends Trade {
  /** @param {HTMLElement} root @param {Page} page */
  constructor(root, { items, done }) {
    super(root, { address: () => tradePage("offer", { nft: items(), account: visitor(), ...this.typed() }), act: offer, kind: "offer", done });
  }

  /** As it stands in the form, or at first in the page's address. */
  typed() {
    const fields = [...new URLSearchParams(location.search), ...new FormData(this.form)];
    const { price, days } = Object.fromEntries(fields.map(([name, value]) => [name, String(value).trim()]));
    return { price, days };
  }

  order() {
    const order = super.order();
    const { price = "", days = "" } = this.typed();
    return order && { ...order, offerPrice: wholeNumber(price), expiresIn: wholeNumber(days) };
  }
}

export class Acceptance extends Trade {
  /** @param {HTMLElement} root @param {Page} page */
  constructor(root, { items, offerId, done }) {
    super(root, { address: () => tradePage("acceptance", { nft: items(), account: visitor(), offer: offerId() }), act: acceptOffer, kind: "acceptoffer", done });
  }
}

export class OfferWithdrawal extends Trade {
  needsSignature = true;

  /** @param {HTMLElement} root @param {Page} page */
  constructor(root, { items, offerId, done }) {
    const act = (order, say, observe) => (this.needsSignature ? withdrawOffer(order, say, observe) : deleteOffer(order, say));
    super(root, { address: () => tradePage("retraction", { nft: items(), account: visitor(), offer: offerId() }), act, kind: "withdrawoffer", done });
  }

  async read() {
    await super.read();
    this.needsSignature = "signed" in this.written;
    /** @type {HTMLElement} */ (this.root.querySelector("details.every")).hidden = !this.needsSignature;
  }

  /** Where the wallet does not sign it, the marketplace can. */
  async fail(error) {
    const wasSigned = this.needsSignature;
    await super.fail(error);
    if (!wasSigned || !this.order()) return;
    const withdraw = () => {
      this.needsSignature = false;
      return this.run();
    };
    this.outcome.append(element("button", { class: "button quiet", type: "button", onclick: withdraw }, "Withdraw without a signature"));
  }
}
