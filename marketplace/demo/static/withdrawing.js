// Withdrawing an NFT: its owner deletes the allowance by which the marketplace could sell it.

import { listingPage, marketplace } from "./addresses.js";
import { Deal } from "./deal.js";
import { element } from "./element.js";

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("withdrawing"));

class Withdrawal extends Deal {
  path = "/delist/{wallet}";
  says = "Once it is signed and submitted, the marketplace may no longer sell this one NFT.";

  order() {
    const { token: tokenId, serialNo, owner } = this.page.nft();
    return { accountId: owner.accountId, tokenId, serialNo };
  }

  roles() {
    return { [this.body.accountId]: "the owner", [marketplace]: "the marketplace" };
  }

  /** How it ended well. */
  ended() {
    const nft = this.page.nft();
    const again = listingPage({ account: nft.owner.accountId, token: nft.token, serial_no: nft.serialNo });
    return {
      nft,
      title: `${nft.name} is no longer for sale`,
      words: "It stays yours. The network took about 0.5 HBAR for that.",
      ways: [this.see(), element("a", { class: "button quiet", href: again }, "List it again")],
    };
  }
}

/**
 * Make the dialog work; returns a function that prepares it.
 * @param {import("./deal.js").Page} page
 */
export function offerWithdrawal(page) {
  const withdrawal = new Withdrawal(dialog, page);
  return () => withdrawal.begin();
}
