// Buying an NFT by the marketplace's own transaction: who signs, who pays whom, and what everybody has afterwards.

import { accountPage, marketplace } from "./addresses.js";
import { hbar, inTinybars, tinybars } from "./amount.js";
import { balanceTable, readBalances } from "./balances.js";
import { dollars } from "./dollars.js";
import { element, fields, notice, words } from "./element.js";
import { picture } from "./picture.js";
import { account, saleTable, shares } from "./sale.js";
import { Signing } from "./signing.js";
import { Steps } from "./step.js";
import { Trade } from "./trade.js";
import { showBalance, you } from "./you.js";

const dialog = document.getElementById("buying");
const button = dialog.querySelector("[data-trade] .button");

/**
 * Make the dialog work; returns a function that prepares it. nft() is the record as it is shown, fees() its
 * collection, with its royalties and fixed fees; refresh() reads the record again, and returns it.
 */
export function offerPurchase({ nft, fees, refresh }) {
  const steps = new Steps(dialog);
  const { prepare, settled } = steps;
  const sale = {}; // { bought, roles, before, after }: the record, who takes part, what they had and have

  const signing = new Signing(steps, {
    path: "/buy/{wallet}",
    order() {
      const { token: tokenId, serialNo, listingPrice, owner } = nft();
      sale.bought = nft();
      sale.roles = { [marketplace]: "the marketplace", [owner.accountId]: "the seller", [you()]: "the buyer" };
      // An NFT that is no longer for sale has no price. The service then says so.
      const expectedPrice = listingPrice || undefined;
      return { accountId: you(), tokenId, serialNo, expectedPrice };
    },
    says: "The marketplace has signed it, because it may move the NFT. Without the buyer's signature it has no effect.",
    roles: () => sale.roles,
    besides: () => takenOut(sale.bought, fees()),
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
      sale.after = await readBalances(Object.keys(sale.roles));
      settled.open({ focus: false });
      settled.show(...sale.after.calls);
      const table = balanceTable(sale.before.tinybars, sale.after.tinybars, sale.roles);
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
      words: paidWords(sale.bought.listingPrice, sale.after.tinybars[you()]),
      more: parted(sale.bought, fees()),
      ways: [
        element("button", { class: "button", type: "button", onclick: () => dialog.close() }, "See it"),
        element("a", { class: "button quiet", href: accountPage(you()) }, "What you own"),
      ],
    }),
  });

  return () => {
    trade.reset();
    if (prepare.isLocked) prepare.open({ focus: false });
    showDeal(nft(), fees());
  };
}

const paidWords = (price, left) =>
  left === null ? `You paid ${hbar(price)}.` : `You paid ${hbar(price)}, and have ${tinybars(left)} now.`;

/** Who pays and who gets what, once the custom fees are known. */
const parted = ({ listingPrice, owner }, fees) =>
  fees?.royalties
    ? saleTable(listingPrice, fees, { seller: owner.accountId, buyer: you() })
    : element("p", { class: "hint" }, "Its royalties are not known yet.");

/** What the network takes from the seller's payment. The bytes do not say it. */
function takenOut({ listingPrice, owner }, fees) {
  if (!fees?.royalties) return [["Royalties", "Not known yet"]];
  const seller = owner.accountId;
  const [, { gets: left }, ...others] = shares(listingPrice, fees, { seller });
  const due = others.filter(({ role }) => role !== "Marketplace");
  if (!due.length) return [["Royalties", "None"]];
  const taken = ({ who, role, gets, units }) => [role, `${who}: ${units ?? `${tinybars(gets)} of that`}`];
  return [...due.map(taken), ["Remains", `${seller}, the seller: ${tinybars(left)}`]];
}

/** Show what is bought, who pays and gets what, and your balance. The button is active if that is enough. */
async function showDeal(nft, fees) {
  const { name, isForSale, listingPrice, owner } = nft;
  const isYours = owner.accountId === you();
  button.disabled = !isForSale || isYours;
  button.textContent = isYours ? "It is yours" : isForSale ? `Buy for ${hbar(listingPrice)}` : "Not for sale";
  const price = isForSale && element("p", { class: "price" }, hbar(listingPrice), " ", dollars(listingPrice));
  const by = element("p", { class: "hint" }, isForSale ? "Sold by " : "Owned by ", account(owner.accountId));
  const said = element("div", {}, element("p", { class: "name" }, words(name)), price, by);
  const balance = element("div", {}, element("dl", { class: "fields" }, fields([["You have", "…"]])));
  const parts = [picture(nft, { eager: true }), said, isForSale && parted(nft, fees), balance];
  const piece = element("div", { class: "piece" }, parts);
  dialog.querySelector("[data-deal]").replaceChildren(piece);
  const amount = await showBalance();
  if (piece.isConnected) showRest(balance, amount, button.disabled ? 0 : listingPrice);
}

function showRest(shown, amount, price) {
  const left = amount === null ? 0n : BigInt(amount) - inTinybars(price);
  const isEnough = left >= 0n;
  const then = price && amount !== null && isEnough ? tinybars(left) : null;
  const rows = fields([["You have", amount === null ? "Not known" : tinybars(amount)], ["Afterwards", then]]);
  shown.replaceChildren(element("dl", { class: "fields" }, rows));
  if (isEnough) return;
  button.disabled = true;
  shown.append(notice("wait", `You have too little to buy it: it costs ${hbar(price)}.`));
}

/** The price in the dialog, while it is open. */
export const showPrice = (nft, fees) => dialog.open && showDeal(nft, fees);
