// Withdrawing: the owner of NFTs deletes the allowance by which the marketplace could sell them.

import { listingPage, marketplace } from "./addresses.js";
import { Deal } from "./deal.js";
import { element } from "./element.js";
import { named } from "./group.js";

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("withdrawing"));

class Withdrawal extends Deal {
  path = "/delist/{wallet}";
  says = "Once it is signed and submitted, the marketplace may no longer sell this one NFT.";

  order() {
    this.withdrawn = this.page.nfts();
    const [{ token: tokenId, owner }] = this.withdrawn;
    const serialNos = this.withdrawn.map(({ serialNo }) => serialNo);
    const isOne = serialNos.length === 1;
    if (!isOne) this.says = "Once it is signed and submitted, the marketplace may no longer sell these NFTs.";
    return { accountId: owner.accountId, tokenId, ...(isOne ? { serialNo: serialNos[0] } : { serialNos }) };
  }

  roles() {
    return { [this.body.accountId]: "the owner", [marketplace]: "the marketplace" };
  }

  /** How it ended well. */
  ended() {
    const [{ token, owner }, ...others] = this.withdrawn;
    const serials = this.withdrawn.map(({ serialNo }) => serialNo).join(",");
    const again = listingPage({ account: owner.accountId, token, serial_no: serials });
    return {
      nfts: this.withdrawn.map((nft) => ({ ...nft, listingPrice: 0 })),
      title: `${named(this.withdrawn)} ${others.length ? "are" : "is"} no longer for sale`,
      words: `${others.length ? "They stay" : "It stays"} yours. The network took about 0.5 HBAR for that.`,
      ways: [this.see(), element("a", { class: "button quiet", href: again }, others.length ? "List them again" : "List it again")],
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
