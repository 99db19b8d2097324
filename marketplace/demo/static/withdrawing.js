// Withdrawing an NFT: its owner deletes the allowance by which the marketplace could sell it.

import { listingPage, marketplace } from "./addresses.js";
import { element } from "./element.js";
import { Signing } from "./signing.js";
import { Steps } from "./step.js";
import { Trade } from "./trade.js";

const dialog = document.getElementById("withdrawing");

/** Make the dialog work; returns a function that prepares it. nft() is the record as shown; refresh() reads it again. */
export function offerWithdrawal({ nft, refresh }) {
  const steps = new Steps(dialog);
  const signing = new Signing(steps, {
    path: "/delist/{wallet}",
    order() {
      const { token: tokenId, serialNo, owner } = nft();
      return { accountId: owner.accountId, tokenId, serialNo };
    },
    says: "Once it is signed and submitted, the marketplace may no longer sell this one NFT.",
    roles: ({ accountId }) => ({ [accountId]: "the owner", [marketplace]: "the marketplace" }),
    reported: refresh,
  });
  const trade = new Trade(dialog.querySelector("[data-trade]"), signing, {
    ended() {
      const { name, token, serialNo, owner } = nft();
      const again = listingPage({ account: owner.accountId, token, serial_no: serialNo });
      return {
        nft: nft(),
        title: `${name} is no longer for sale`,
        words: "It stays yours. The network took about 0.5 HBAR for that.",
        ways: [
          element("button", { class: "button", type: "button", onclick: () => dialog.close() }, "See it"),
          element("a", { class: "button quiet", href: again }, "List it again"),
        ],
      };
    },
  });
  return () => {
    trade.reset();
    if (steps.prepare.isLocked) steps.prepare.open({ focus: false });
  };
}
