// Withdrawing an NFT: its owner deletes the allowance by which the marketplace could sell it.

import { listingPage, marketplace } from "./addresses.js";
import { element } from "./element.js";
import { Signing } from "./signing.js";
import { Steps } from "./step.js";
import { Trade } from "./trade.js";

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("withdrawing"));

class Withdrawal extends Signing {
  path = "/delist/{wallet}";
  says = "Once it is signed and submitted, the marketplace may no longer sell this one NFT.";

  /** @param {import("./buying.js").Page} page */
  constructor(page) {
    super(new Steps(dialog));
    this.page = page;
  }

  order() {
    const { token: tokenId, serialNo, owner } = this.page.nft();
    return { accountId: owner.accountId, tokenId, serialNo };
  }

  roles() {
    return { [this.body.accountId]: "the owner", [marketplace]: "the marketplace" };
  }

  async report() {
    const isSeen = await super.report();
    if (isSeen) await this.page.refresh();
    return isSeen;
  }

  /** How it ended well. */
  ended() {
    const nft = this.page.nft();
    const again = listingPage({ account: nft.owner.accountId, token: nft.token, serial_no: nft.serialNo });
    return {
      nft,
      title: `${nft.name} is no longer for sale`,
      words: "It stays yours. The network took about 0.5 HBAR for that.",
      ways: [
        element("button", { class: "button", type: "button", onclick: () => dialog.close() }, "See it"),
        element("a", { class: "button quiet", href: again }, "List it again"),
      ],
    };
  }
}

/**
 * Make the dialog work; returns a function that prepares it.
 * @param {import("./buying.js").Page} page
 */
export function offerWithdrawal(page) {
  const withdrawal = new Withdrawal(page);
  const trade = new Trade(dialog.querySelector("[data-trade]"), withdrawal, () => withdrawal.ended());
  return () => {
    trade.reset();
    withdrawal.steps.begin();
  };
}
