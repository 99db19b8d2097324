// Buying an NFT by the marketplace's own transaction: who signs, who pays whom, and what everybody has afterwards.

import { marketplace } from "./addresses.js";
import { hbar } from "./amount.js";
import { balanceTable, readBalances } from "./balances.js";
import { offerSigning } from "./signing.js";
import { fixedFeeWords, royaltyWords } from "./sale.js";
import { Steps } from "./step.js";

/**
 * Make the steps work. nft() is the record as it is shown, fees() its collection, with its royalties and fixed
 * fees; refresh() reads the record anew, and returns it.
 */
export function offerPurchase({ nft, fees, refresh }) {
  const section = document.getElementById("buying");
  const steps = new Steps(section);
  const { prepare, settled } = steps;
  const sale = {}; // { roles, before }: who takes part, and what they had

  offerSigning(steps, {
    path: "/buy/{wallet}",
    order({ buyer }) {
      const { token: tokenId, serialNo, listingPrice, owner } = nft();
      sale.roles = { [marketplace]: "the marketplace", [owner.accountId]: "the seller", [buyer]: "the buyer" };
      // What is gone by now has no price: the service says so.
      const expectedPrice = listingPrice || undefined;
      return { accountId: buyer, tokenId, serialNo, expectedPrice };
    },
    says: "The marketplace has signed it, as the one who may move the NFT. Without the buyer's signature it is worth nothing.",
    roles: () => sale.roles,
    besides: () => [
      ["Royalties", fees()?.royalties && taken(fees().royalties)],
      ["Fixed fees", fees()?.fixedFees?.map(fixedFeeWords).join("; ") || null],
    ],
    async refused(answer) {
      if (answer.status !== 409) return;
      const { listingPrice: seen } = nft();
      const { isForSale, listingPrice } = await refresh();
      if (!isForSale) return tellGone();
      if (listingPrice !== seen) {
        prepare.wait(`It costs ${hbar(listingPrice)} now, and no longer ${hbar(seen)}. Press again to buy it for that.`);
      }
    },
    async submitting() {
      for (const { accountId } of fees()?.royalties ?? []) sale.roles[accountId] ??= "royalties";
      for (const { accountId } of fees()?.fixedFees ?? []) sale.roles[accountId] ??= "fixed fees";
      sale.before = await readBalances(Object.keys(sale.roles));
    },
    async submitted(_, { result }) {
      if (result !== "SUCCESS") await refresh();
      const after = await readBalances(Object.keys(sale.roles));
      settled.open({ focus: false });
      settled.show(...after.calls);
      const table = balanceTable(sale.before.tinybars, after.tinybars, sale.roles);
      settled.root.querySelector("[data-balances]").replaceChildren(table);
      settled.set("done");
    },
    reported: refresh,
  });

  function tellGone() {
    const { accountId } = nft().owner;
    const why = sale.roles[accountId] === "the seller" ? `${accountId} does not sell it now` : `it belongs to ${accountId}`;
    prepare.fail(`It is not for sale any more: ${why}.`);
  }

  return () => prepare.root.classList.contains("locked") && prepare.open({ focus: false });
}

const taken = (royalties) =>
  royalties.length
    ? `${royalties.map(royaltyWords).join("; ")}: the network takes them from what the seller is paid`
    : "None";

export function showPrice({ isForSale, listingPrice }) {
  const button = document.getElementById("buy");
  button.disabled = !isForSale;
  button.textContent = isForSale ? `Buy for ${hbar(listingPrice)}` : "Not for sale";
}
