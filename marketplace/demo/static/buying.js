// Buying an NFT by the marketplace's own transaction: who signs, who pays whom, and what everybody has afterwards.

import { accountPage, marketplace } from "./addresses.js";
import { hbar, tinybars } from "./amount.js";
import { balanceTable, readBalances } from "./balances.js";
import { dollars } from "./dollars.js";
import { element, fields } from "./element.js";
import { fixedFeeWords, royaltyWords } from "./sale.js";
import { Signing } from "./signing.js";
import { Steps } from "./step.js";
import { Trade } from "./trade.js";
import { showBalance, you } from "./you.js";

const dialog = document.getElementById("buying");
const button = dialog.querySelector("[data-trade] .button");

/**
 * Make the dialog work. nft() is the record as it is shown, fees() its collection, with its royalties and fixed
 * fees; refresh() reads the record anew, and returns it. Returns what prepares the dialog.
 */
export function offerPurchase({ nft, fees, refresh }) {
  const steps = new Steps(dialog);
  const { prepare, settled } = steps;
  const sale = {}; // { bought, roles, before }: the record, who takes part, and what they had

  const signing = new Signing(steps, {
    path: "/buy/{wallet}",
    order() {
      const { token: tokenId, serialNo, listingPrice, owner } = nft();
      sale.bought = nft();
      sale.roles = { [marketplace]: "the marketplace", [owner.accountId]: "the seller", [you()]: "the buyer" };
      // What is gone by now has no price: the service says so.
      const expectedPrice = listingPrice || undefined;
      return { accountId: you(), tokenId, serialNo, expectedPrice };
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
      if (!isForSale) tellGone();
      else if (listingPrice !== seen) {
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

  const trade = new Trade(dialog.querySelector("[data-trade]"), signing, {
    ended: () => ({
      nft: sale.bought,
      title: `You own ${sale.bought.name}`,
      words: `You paid ${hbar(sale.bought.listingPrice)} to ${sale.bought.owner.accountId}.`,
      ways: [
        element("button", { class: "button", type: "button", onclick: () => dialog.close() }, "See it"),
        element("a", { class: "button quiet", href: accountPage(you()) }, "What you own"),
      ],
    }),
  });

  return () => {
    trade.reset();
    if (prepare.isLocked) prepare.open({ focus: false });
    showDeal(nft());
  };
}

async function showDeal(nft) {
  const shown = dialog.querySelector("[data-deal]");
  const balance = element("span", {}, "…");
  const price = nft.isForSale ? element("span", {}, hbar(nft.listingPrice), " ", dollars(nft.listingPrice)) : null;
  const rows = [["NFT", nft.name], [nft.isForSale ? "Seller" : "Owner", nft.owner.accountId], ["Buyer", `${you()}, who is you`], ["You have", balance], ["Price", price]];
  shown.replaceChildren(...fields(rows));
  const amount = await showBalance();
  balance.textContent = amount === null ? "Not known" : tinybars(amount);
}

const taken = (royalties) =>
  royalties.length
    ? `${royalties.map(royaltyWords).join("; ")}: the network takes them from what the seller is paid`
    : "None";

/** The price on the button, and in the dialog while it is open. Of your own there is nothing to buy. */
export function showPrice(nft) {
  const { isForSale, listingPrice, owner } = nft;
  const isYours = owner.accountId === you();
  button.disabled = !isForSale || isYours;
  button.textContent = isYours ? "It is yours" : isForSale ? `Buy for ${hbar(listingPrice)}` : "Not for sale";
  if (dialog.open) showDeal(nft);
}
