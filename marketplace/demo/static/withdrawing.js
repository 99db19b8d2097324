// Withdrawing an NFT: its owner deletes the allowance by which the marketplace could sell it.

import { marketplace } from "./addresses.js";
import { offerSigning } from "./signing.js";
import { Steps } from "./step.js";

/** Make the steps work. nft() is the record as it is shown; refresh() reads it anew. */
export function offerWithdrawal({ nft, refresh }) {
  const steps = new Steps(document.getElementById("withdrawing"));
  offerSigning(steps, {
    path: "/delist/{wallet}",
    order() {
      const { token: tokenId, serialNo, owner } = nft();
      return { accountId: owner.accountId, tokenId, serialNo };
    },
    says: "It takes back what let the marketplace sell this one NFT. Nothing is signed yet.",
    roles: ({ accountId }) => ({ [accountId]: "the owner", [marketplace]: "the marketplace" }),
    reported: refresh,
  });
  return () => steps.prepare.root.classList.contains("locked") && steps.prepare.open({ focus: false });
}
