// A purchase: each NFT for the price that was seen when its dialog opened, until another one is accepted by a click.

import { tradePage } from "../addresses.js";
import { takeOut } from "../basket.js";
import { visitor } from "../visitor.js";
import { Trade } from "./trade.js";

export class Purchase extends Trade {
  /** @type {string[]} */
  items = []; // as basket.js names them

  /**
   * @param {HTMLElement} root
   * @param {{ items: () => string[], accept?: (items: string[]) => void, done: () => unknown }} page
   */
  constructor(root, { items, accept = () => {}, done }) {
    super(root, {
      address: () => tradePage("purchase", { nft: this.items, account: visitor() }),
      kind: "buy",
      done: () => {
        const { nfts, ...one } = this.order();
        takeOut((nfts ?? [one]).map(({ tokenId, serialNo }) => `${tokenId}:${serialNo}`));
        return done();
      },
    });
    this.readItems = items;
    this.accept = accept;
  }

  begin() {
    this.items = this.readItems();
    super.begin();
  }

  press(target) {
    super.press(target);
    const button = target.closest("[data-items]");
    if (!button) return;
    this.items = button.dataset.items.split(" ");
    this.accept(this.items);
    this.load();
    this.title.focus();
  }
}
