// Buying NFTs by the marketplace's own transaction: who signs, who pays whom, and what everybody has afterwards.

import { accountPage, basketPage, marketplace } from "./addresses.js";
import { hbar, inTinybars, tinybars } from "./amount.js";
import { balanceTable, readBalances } from "./balances.js";
import { itemOf, takeOut } from "./basket.js";
import { Deal } from "./deal.js";
import { dollars } from "./dollars.js";
import { element, fields, notice, words } from "./element.js";
import { idOf, join, named, pictures, sharesOf, sum } from "./group.js";
import { picture } from "./picture.js";
import { account, shareTable } from "./sale.js";
import { showBalance, you } from "./you.js";

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("buying"));
/** @type {HTMLButtonElement} */
const button = dialog.querySelector("[data-trade] .button");

/** @type {any[]} */
let shown = []; // the NFTs that the dialog shows, each for the price that it shows: what is sent

/** A purchase of those NFTs. */
class Purchase extends Deal {
  path = "/buy/{wallet}";
  says = "The marketplace has signed it, because it may move what is sold. Without the buyer's signature it has no effect.";

  order() {
    this.bought = shown; // as the dialog shows them, whatever has happened since
    const sellers = [...new Set(this.bought.map(({ owner }) => owner.accountId))];
    const seller = sellers.length === 1 ? "the seller" : "a seller";
    this.parties = { [marketplace]: "the marketplace", ...Object.fromEntries(sellers.map((id) => [id, seller])), [you()]: "the buyer" };
    // An NFT that is no longer for sale has no price. The service then says so.
    const each = ({ token: tokenId, serialNo, listingPrice }) => ({ tokenId, serialNo, expectedPrice: listingPrice || undefined });
    const nfts = this.bought.map(each);
    return { accountId: you(), ...(nfts.length > 1 ? { nfts } : nfts[0]) };
  }

  roles() {
    return this.parties;
  }

  besides() {
    return takenOut(this.parts());
  }

  /** Who pays and who gets what; null if the royalties are not known. */
  parts() {
    return sharesOf(this.bought, this.page.fees, you());
  }

  async prepare() {
    const isPrepared = await super.prepare();
    if (this.prepared.status === 409 && !this.sayWhatToLeaveOut()) await this.sayWhatChanged();
    return isPrepared;
  }

  /** Returns whether there is something that others can be bought without. */
  sayWhatToLeaveOut() {
    const { message, data } = this.prepared;
    if (data?.reason !== "COLLECTIONS_MIXED") return false;
    const numbered = ({ token, serialNo }) => `${token} #${serialNo}`;
    const isNamed = (nft) => new RegExp(`${numbered(nft)}(?!\\d)`).test(message);
    const [left, others] = [this.bought.filter((nft) => !isNamed(nft)), this.bought.filter(isNamed)];
    const [{ owner }] = others;
    const why = `${owner.accountId} sells NFTs of several collections here. Of one seller, one transaction can have those of one.`;
    const href = `${basketPage(left.map(itemOf))}#buying`;
    const without = element("a", { class: "button quiet", href }, `Buy without ${named(others)}`);
    this.steps.named.prepare.fail(why, " ", without);
    return true;
  }

  async sayWhatChanged() {
    const said = changes(this.page, await this.page.refresh());
    if (!said.length) return;
    button.disabled = true;
    const { prepare } = this.steps.named;
    if (this.page.nfts().some(({ isForSale }) => isForSale)) prepare.wait(...said);
    else prepare.fail(...said);
  }

  /** Read the balances of all who take part before it, and after it. */
  async submit() {
    for (const { token } of this.bought) {
      const { royalties, fixedFees } = this.page.fees(token) ?? {};
      for (const { accountId } of royalties ?? []) this.parties[accountId] ??= "royalties";
      for (const { accountId } of fixedFees ?? []) this.parties[accountId] ??= "fixed fees";
    }
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

  async report() {
    const isSeen = await super.report();
    if (isSeen) takeOut(this.bought.map(idOf));
    return isSeen;
  }

  /** How it ended well. */
  ended() {
    const isOne = this.bought.length === 1;
    const parts = this.parts();
    return {
      nfts: this.bought,
      title: `You own ${named(this.bought)}`,
      words: paidWords(sum(this.bought), this.left),
      thanks: thanks(this.bought, parts, this.page.fees),
      more: parted(parts),
      ways: [
        isOne && this.see(),
        element("a", { class: isOne ? "button quiet" : "button", href: accountPage(you()) }, "What you own"),
        element("button", { class: "button quiet", type: "button", "data-share": true, onclick: share }, "Share it"),
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
  dialog.addEventListener("click", ({ target }) => {
    if (!(/** @type {HTMLElement} */ (target).closest("[data-accept]"))) return;
    purchase.begin();
    page.accept?.();
    showDeal(page, page.nfts());
    /** @type {HTMLElement} */ (dialog.querySelector("h2")).focus();
  });
  return () => {
    purchase.begin();
    showDeal(page, page.offered?.() ?? page.nfts());
    showPrice(page);
  };
}

const share = async ({ target }) => (await import("./copying.js")).copy(target);

/**
 * What has changed since the dialog opened, and a button that takes it over: no price changes under the buyer's finger.
 * @param {import("./deal.js").Page} page
 * @param {any[]} now the records as they are
 */
function changes(page, now) {
  const isOne = shown.length === 1;
  const found = shown.map((before) => change(before, now.find((nft) => idOf(nft) === idOf(before)), isOne ? "" : before.name));
  const said = found.filter(Boolean).map((sentence) => element("span", { class: "change" }, sentence));
  const left = page.nfts().filter(({ isForSale }) => isForSale);
  if (!said.length || !left.length) return said;
  const isPriced = found.some((sentence) => sentence.includes(PRICE_CHANGED));
  const label = !isPriced ? `Go on with the other ${left.length}` : isOne ? "Accept new price" : "Accept new prices";
  return [...said, element("button", { class: "button quiet", type: "button", "data-accept": true }, label)];
}

const PRICE_CHANGED = "Price changed: ";

/** What has ended or changed an offer, in a sentence; "" if it is as it was. */
function change(before, now, name) {
  const of = name && `${name}: `;
  if (!now?.isForSale) return `${of}Someone else bought it, or it was withdrawn. You weren't charged.`;
  if (now.listingPrice === before.listingPrice) return "";
  return `${of}${PRICE_CHANGED}${hbar(before.listingPrice).replace(" HBAR", "")} → ${hbar(now.listingPrice)}`;
}

/** What whoever made it got of the price: "16 HBAR of it went to the artist of Tides". */
function thanks(nfts, parts, fees) {
  const amount = (parts ?? []).filter(({ role }) => role === "Royalty").reduce((all, { gets }) => all + gets, 0n);
  const tokens = [...new Set(nfts.map(({ token }) => token))].filter((token) => fees(token)?.royalties?.length);
  const artists = tokens.length === 1 ? "artist" : "artists";
  return amount ? `${tinybars(amount)} of it went to the ${artists} of ${join(tokens.map((token) => fees(token).name || token))}.` : null;
}

const paidWords = (price, left) =>
  left === null ? `You paid ${hbar(price)}.` : `You paid ${hbar(price)}, and have ${tinybars(left)} now.`;

const UNKNOWN = "Royalties are not known yet.";
const parted = (parts) => (parts ? shareTable(parts) : element("p", { class: "hint" }, UNKNOWN));

/** What the network takes from the sellers' payment. The bytes do not say it. */
function takenOut(parts) {
  if (!parts) return [["Royalties", "Not known yet"]];
  const due = parts.filter(({ role }) => role === "Royalty" || role === "Fixed fee");
  if (!due.length) return [["Royalties", "None"]];
  const taken = ({ who, role, gets, units }) => [role, `${who}: ${units ?? `${tinybars(gets)} of that`}`];
  const sellers = parts.filter(({ role }) => role === "Seller");
  const seller = sellers.length === 1 ? "the seller" : "a seller";
  return [...due.map(taken), ...sellers.map(({ who, gets }) => ["Remains", `${who}, ${seller}: ${tinybars(gets)}`])];
}

/** Show what is bought, who pays and gets what, and your balance. The button is active if that is enough. */
async function showDeal(page, nfts) {
  shown = nfts;
  const price = sum(shown);
  const isYours = shown.some(({ owner }) => owner.accountId === you());
  button.disabled = !price || isYours;
  const number = shown.length > 1 ? `${shown.length} ` : "";
  button.textContent = isYours ? "It is yours" : price ? `Buy ${number}for ${hbar(price)}` : "Not for sale";
  const balance = element("div", {}, element("dl", { class: "fields" }, fields([["You have", "…"], ["Afterwards", button.disabled ? null : "…"]])));
  const head = shown.length === 1 ? one(shown[0]) : [pictures(shown)];
  const parts = price > 0 && parted(sharesOf(shown, page.fees, you()));
  const piece = element("div", { class: shown.length === 1 ? "piece" : "piece many" }, head, parts, balance);
  dialog.querySelector("[data-deal]").replaceChildren(piece);
  const amount = await showBalance();
  if (piece.isConnected) showRest(balance, amount, button.disabled ? 0 : price);
}

/** Its picture, and the words beside it. */
function one(nft) {
  const { name, isForSale, listingPrice, owner } = nft;
  const price = isForSale && element("p", { class: "price" }, hbar(listingPrice), " ", dollars(listingPrice));
  const by = element("p", { class: "hint" }, isForSale ? "Sold by " : "Owned by ", account(owner.accountId));
  return [picture(nft, { eager: true }), element("div", {}, element("p", { class: "name" }, words(name)), price, by)];
}

function showRest(part, amount, price) {
  const left = amount === null ? 0n : BigInt(amount) - inTinybars(price);
  const isEnough = left >= 0n;
  const then = price && amount !== null && isEnough ? tinybars(left) : null;
  const rows = fields([["You have", amount === null ? "Not known" : tinybars(amount)], ["Afterwards", then]]);
  part.replaceChildren(element("dl", { class: "fields" }, rows));
  if (isEnough || !price) return;
  button.disabled = true;
  const it = shown.length === 1 ? "it: it costs" : "them: they cost";
  part.append(notice("wait", `You have too little to buy ${it} ${hbar(price)}.`));
}

/** Say what has changed while the dialog is open. What is being bought stays as it was asked for. */
export function showPrice(page, now = page.nfts()) {
  if (!shown.length || button.form.hidden || button.form.ariaBusy) return;
  const said = changes(page, now);
  const outcome = dialog.querySelector("[data-trade] [data-outcome]");
  if (said.length) {
    button.disabled = true;
    outcome.replaceChildren(notice(page.nfts().some(({ isForSale }) => isForSale) ? "wait" : "bad", ...said));
  } else if (outcome.querySelector(".change")) {
    outcome.replaceChildren();
    showDeal(page, shown);
  }
}
