// What people do with an offer: its bidder makes and withdraws it, the NFT's owner accepts or declines it.

import { tradePage } from "../addresses.js";
import { wholeNumber } from "../amount.js";
import { visitor } from "../visitor.js";
import { Trade } from "./trade.js";

/** @typedef {{ items: () => string[], offerId: () => string, done: () => unknown }} Page */

export class Offer extends Trade {
  /** @param {HTMLElement} root @param {Page} page */
  constructor(root, { items, done }) {
    super(root, { address: () => tradePage("offer", { nft: items(), account: visitor(), ...this.typed() }), kind: "offer", done });
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
    super(root, { address: () => tradePage("acceptance", { nft: items(), account: visitor(), offer: offerId() }), kind: "accept", done });
  }
}

export class OfferWithdrawal extends Trade {
  /** @param {HTMLElement} root @param {Page} page */
  constructor(root, { items, offerId, done }) {
    super(root, { address: () => tradePage("retraction", { nft: items(), account: visitor(), offer: offerId() }), kind: "withdrawOffer", done });
  }
}
