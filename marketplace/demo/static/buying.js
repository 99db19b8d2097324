// Buying an NFT by the marketplace's own transaction: who signs, who pays whom, and what everybody has afterwards.

import { accountPage, marketplace } from "./addresses.js";
import { hbar, inTinybars, tinybars } from "./amount.js";
import { balanceTable, readBalances } from "./balances.js";
import { Deal } from "./deal.js";
import { dollars } from "./dollars.js";
import { element, fields, notice, words } from "./element.js";
import { picture } from "./picture.js";
import { account, saleTable, shares } from "./sale.js";
import { showBalance, you } from "./you.js";

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("buying"));
/** @type {HTMLButtonElement} */
const button = dialog.querySelector("[data-trade] .button");

/** @type {any} */
let shown = null; // the record of the NFT that the dialog shows

/** A purchase of that NFT. */
class Purchase extends Deal {
  path = "/buy/{wallet}";
  says = "The marketplace has signed it, because it may move the NFT. Without the buyer's signature it has no effect.";

  order() {
    this.bought = shown; // as the dialog shows it, whatever has happened since
    const { token: tokenId, serialNo, listingPrice, owner } = this.bought;
    this.parties = { [marketplace]: "the marketplace", [owner.accountId]: "the seller", [you()]: "the buyer" };
    // An NFT that is no longer for sale has no price. The service then says so.
    return { accountId: you(), tokenId, serialNo, expectedPrice: listingPrice || undefined };
  }

  roles() {
    return this.parties;
  }

  besides() {
    return takenOut(this.bought, this.page.fees());
  }

  async prepare() {
    const isPrepared = await super.prepare();
    if (this.prepared.status === 409) await this.sayWhatChanged();
    return isPrepared;
  }

  async sayWhatChanged() {
    const { prepare } = this.steps.named;
    const { isForSale, listingPrice, owner } = await this.page.refresh();
    const seen = this.bought.listingPrice;
    if (!isForSale) {
      const isSellers = this.parties[owner.accountId] === "the seller";
      const why = isSellers ? `${owner.accountId} does not sell it now` : `it belongs to ${owner.accountId}`;
      prepare.fail(`It is not for sale any more: ${why}.`);
    } else if (listingPrice !== seen) {
      prepare.wait(`It costs ${hbar(listingPrice)} now, and no longer ${hbar(seen)}. Press again to buy it for that.`);
    }
  }

  /** Read the balances of all who take part before it, and after it. */
  async submit() {
    const fees = this.page.fees();
    for (const { accountId } of fees?.royalties ?? []) this.parties[accountId] ??= "royalties";
    for (const { accountId } of fees?.fixedFees ?? []) this.parties[accountId] ??= "fixed fees";
    const ids = Object.keys(this.parties);
    const before = await readBalances(ids);
    const isTaken = await super.submit();
    if (this.result === null) return isTaken; // the ledger did not get it
    if (!isTaken) await this.page.refresh();
    const after = await readBalances(ids);
    this.left = after.tinybars[you()];
    const { settled } = this.steps.named;
    settled.open({ focus: false });
    settled.show(...after.calls);
    const table = balanceTable(before.tinybars, after.tinybars, this.parties);
    settled.root.querySelector("[data-balances]").replaceChildren(table);
    settled.set("done");
    return isTaken;
  }

  /** How it ended well. */
  ended() {
    return {
      nft: this.bought,
      title: `You own ${this.bought.name}`,
      words: paidWords(this.bought.listingPrice, this.left),
      thanks: thanks(this.bought, this.page.fees()),
      more: parted(this.bought, this.page.fees()),
      ways: [
        this.see(),
        element("button", { class: "button quiet", type: "button", "data-share": true, onclick: share }, "Share it"),
        element("a", { class: "button quiet", href: accountPage(you()) }, "What you own"),
      ],
    };
  }
}

/**
 * Make the dialog work; returns a function that prepares it.
 * @param {import("./deal.js").Page} page
 */
export function offerPurchase(page) {
  const purchase = new Purchase(dialog, page);
  return () => {
    purchase.begin();
    showDeal(page.nft(), page.fees());
  };
}

const share = async ({ target }) => (await import("./copying.js")).copy(target);

/** What whoever made it got of the price: "16 HBAR of it went to the artist of Tides". */
function thanks({ listingPrice, owner }, fees) {
  if (!fees?.royalties?.length) return null;
  const royalties = shares(listingPrice, fees, { seller: owner.accountId }).filter(({ role }) => role === "Royalty");
  const sum = royalties.reduce((all, { gets }) => all + gets, 0n);
  return sum ? `${tinybars(sum)} of it went to the artist of ${fees.name || fees.token}.` : null;
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
  shown = nft;
  const { name, isForSale, listingPrice, owner } = nft;
  const isYours = owner.accountId === you();
  button.disabled = !isForSale || isYours;
  button.textContent = isYours ? "It is yours" : isForSale ? `Buy for ${hbar(listingPrice)}` : "Not for sale";
  const price = isForSale && element("p", { class: "price" }, hbar(listingPrice), " ", dollars(listingPrice));
  const by = element("p", { class: "hint" }, isForSale ? "Sold by " : "Owned by ", account(owner.accountId));
  const said = element("div", {}, element("p", { class: "name" }, words(name)), price, by);
  const balance = element("div", {}, element("dl", { class: "fields" }, fields([["You have", "…"], ["Afterwards", button.disabled ? null : "…"]])));
  const parts = [picture(nft, { eager: true }), said, isForSale && parted(nft, fees), balance];
  const piece = element("div", { class: "piece" }, parts);
  dialog.querySelector("[data-deal]").replaceChildren(piece);
  const amount = await showBalance();
  if (piece.isConnected) showRest(balance, amount, button.disabled ? 0 : listingPrice);
}

function showRest(part, amount, price) {
  const left = amount === null ? 0n : BigInt(amount) - inTinybars(price);
  const isEnough = left >= 0n;
  const then = price && amount !== null && isEnough ? tinybars(left) : null;
  const rows = fields([["You have", amount === null ? "Not known" : tinybars(amount)], ["Afterwards", then]]);
  part.replaceChildren(element("dl", { class: "fields" }, rows));
  if (isEnough) return;
  button.disabled = true;
  part.append(notice("wait", `You have too little to buy it: it costs ${hbar(price)}.`));
}

/** The price in the dialog, while it is open. */
export const showPrice = (nft, fees) => dialog.open && showDeal(nft, fees);
