// Buying an NFT by the marketplace's own transaction: who signs, who pays whom, and what everybody has afterwards.

import { api, marketplace } from "./addresses.js";
import { hbar } from "./amount.js";
import { balanceTable, readBalances } from "./balances.js";
import { get } from "./call.js";
import { offerSigning } from "./signing.js";
import { Steps } from "./step.js";

/** Make the steps work. nft() is the record as it is shown; refresh() reads it anew, and returns it. */
export function offerPurchase({ nft, refresh }) {
  const section = document.getElementById("buying");
  const steps = new Steps(section);
  const { prepare, settled } = steps;
  const sale = {}; // { roles, before }: who takes part, and what they had

  offerSigning(steps, {
    path: "/buy/{wallet}",
    order({ buyer }) {
      const { token: tokenId, serialNo, listingPrice, owner } = nft();
      sale.roles = { [marketplace]: "the marketplace", [owner.accountId]: "the seller", [buyer]: "the buyer" };
      return { accountId: buyer, tokenId, serialNo, expectedPrice: listingPrice };
    },
    says: "The marketplace has signed it, as the one who may move the NFT. Without the buyer's signature it is worth nothing.",
    roles: () => sale.roles,
    async refused(answer) {
      if (answer.status !== 409) return;
      const { listingPrice: seen } = nft();
      const { isForSale, listingPrice } = await refresh();
      if (isForSale && listingPrice !== seen) {
        prepare.wait(`It costs ${hbar(listingPrice)} now, and no longer ${hbar(seen)}. Press again to buy it for that.`);
      }
    },
    async submitting({ tokenId }) {
      const collection = await get(api("/collection/{tokenId}", { tokenId }));
      for (const { accountId } of collection.data?.royalties ?? []) sale.roles[accountId] ??= "royalties";
      sale.before = await readBalances(Object.keys(sale.roles));
    },
    async submitted() {
      const after = await readBalances(Object.keys(sale.roles));
      settled.open({ focus: false });
      settled.show(...after.calls);
      const table = balanceTable(sale.before.tinybars, after.tinybars, sale.roles);
      settled.root.querySelector("[data-balances]").replaceChildren(table);
      settled.set("done");
    },
    reported: refresh,
  });

  return () => prepare.root.classList.contains("locked") && prepare.open({ focus: false });
}

export const showPrice = (price) => {
  document.getElementById("buy").textContent = `Buy for ${hbar(price)}`;
};
