// A withdrawal: the owner of NFTs cancels their listings, with one signature.

import { tradePage } from "../addresses.js";
import { visitor } from "../visitor.js";
import { Trade } from "./trade.js";

export class Withdrawal extends Trade {
  /**
   * @param {HTMLElement} root
   * @param {{ items: () => string[], done: () => unknown }} page
   */
  constructor(root, { items, done }) {
    super(root, {
      address: () => tradePage("withdrawal", { nft: items(), account: visitor() }),
      kind: "withdraw",
      done,
    });
  }
}
