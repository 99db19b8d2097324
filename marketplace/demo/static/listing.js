// The listing: in one click, or step by step. Each step shows its call, and opens the next one.

import { accountPage, api, collectionPage, galleryPage, nftPage, withQuery } from "./addresses.js";
import { hbar } from "./amount.js";
import { get, post } from "./call.js";
import { element, notice } from "./element.js";
import { onSubmit } from "./form.js";
import { named } from "./group.js";
import { wholeNumber } from "./json.js";
import "./owned.js";
import { part, readPage } from "./parts.js";
import { guides, pieces, proceeds, readPieces } from "./piece.js";
import { Signing } from "./signing.js";
import { fillSnippets } from "./snippets.js";
import { Steps } from "./step.js";
import { Trade } from "./trade.js";
import { onYou, you } from "./you.js";

const root = document.getElementById("listing");
/** @type {HTMLFormElement} */
const form = root.querySelector("[data-trade] form");
/** @type {Record<string, any>} */
const { price, account: seller, token, serial } = form.elements;
/** One serial number or, with commas between them, several. */
const serials = () => serial.value.split(",").map((one) => one.trim());
function keys() {
  const [serialNo, ...others] = serials().map(wholeNumber);
  const serialNos = others.length ? { serialNos: [serialNo, ...others] } : { serialNo };
  return { accountId: seller.value.trim(), tokenId: token.value.trim(), ...serialNos };
}
const title = document.querySelector("h1");
let isPriced = new URLSearchParams(location.search).has("price"); // by the address, or by hand

/** The listing of the NFTs that the form names, each for the same price. */
class Listing extends Signing {
  path = "/list/{wallet}";
  says = "It lets the marketplace spend what is named here, and nothing else. Nothing is signed yet.";
  /** @type {any[]} */
  records = []; // what was listed

  constructor() {
    super(new Steps(root));
    onSubmit(this.steps.named.add.form, () => this.add());
  }

  order() {
    return { ...keys(), listingPrice: wholeNumber(price.value) };
  }

  /** The step before the others. */
  async add() {
    const { add, prepare } = this.steps.named;
    this.steps.restart(add);
    const answer = await post(api("/add"), keys());
    add.show(answer);
    if (!answer.ok) return add.fail(answer.message);
    prepare.open();
    return add.succeed("It is stored: ", element("strong", {}, `${keys().tokenId} #${serials().join(", #")}`), ".");
  }

  async prepare() {
    const isPrepared = await super.prepare();
    if (isPrepared) fillSnippets(this.prepared.data);
    return isPrepared;
  }

  async report() {
    return (await super.report()) && this.showAppeared();
  }

  async showAppeared() {
    const { appear } = this.steps.named;
    const { tokenId, serialNo, serialNos = [serialNo] } = this.body;
    appear.open();
    const [orderbook, answer, market] = await Promise.all([
      get(`${api("/orderbook")}?limit=${serialNos.length}`),
      get(withQuery(api("/nfts"), { id: serialNos.map((one) => `${tokenId}:${one}`) })),
      readPage(galleryPage()),
    ]);
    appear.show(orderbook);
    if (!answer.ok) return appear.fail(answer.message);
    this.records = answer.data;
    const cards = serialNos.map((one) => market && part("cards", market).querySelector(`[data-key="${tokenId}/${one}"]`));
    document.getElementById("appeared").replaceChildren(...cards.filter(Boolean).map((card) => document.adoptNode(card)));
    const link = (words, address) => element("a", { href: address }, words);
    const all = link("all that is for sale", galleryPage());
    if (serialNos.length > 1) return appear.succeed("See them among ", all, ", or among ", link("what you own", accountPage(this.body.accountId)), ".");
    const page = nftPage(tokenId, serialNos[0]);
    return appear.succeed("See it among ", all, ", on ", link("its page", page), ", or ", link("withdraw it", `${page}#withdrawing`), ".");
  }

  /** How it ended well. */
  ended() {
    const [{ listingPrice, token: tokenId, serialNo }, ...others] = this.records;
    const see = others.length ? withQuery(collectionPage(tokenId), { minPrice: listingPrice, maxPrice: listingPrice }) : nftPage(tokenId, serialNo);
    return {
      nfts: this.records,
      title: `${named(this.records)} ${others.length ? "are" : "is"} for sale`,
      words: `${others.length ? "Each" : "It"} costs ${hbar(listingPrice)}. The network took about 0.5 HBAR for ${others.length ? "all of them" : "that"}.`,
      ways: [
        element("a", { class: "button", href: see }, others.length ? "See them" : "See it"),
        element("a", { class: "button quiet", href: galleryPage() }, "All that is for sale"),
      ],
    };
  }
}

const listing = new Listing();
new Trade(root.querySelector("[data-trade]"), listing, () => listing.ended(), () => listing.add());

const button = form.querySelector("button");
const shown = (name) => form.querySelector(`[data-${name}]`);
let chosen = { nfts: [], collection: null };

/** Show the NFTs that the fields name, and suggest the price that one has, or the lowest of its collection. */
async function showPieces() {
  const [tokenId, serialNos] = [token.value.trim(), serials()];
  const read = await readPieces(tokenId, serialNos);
  if (form.hidden || tokenId !== token.value.trim() || String(serialNos) !== String(serials())) return;
  chosen = read;
  const { nfts, collection } = read;
  const other = nfts.find(({ owner }) => owner.accountId !== seller.value.trim());
  const isListed = nfts.length > 0 && nfts.every(({ isForSale }) => isForSale);
  const number = serialNos.length > 1 ? `${serialNos.length} NFTs` : "";
  title.textContent = !other && isListed ? (number ? `Change the price of ${number}` : "Change the price") : `List ${number || "an NFT"}`;
  button.textContent = isListed && !other ? title.textContent : number ? title.textContent : "List it";
  button.disabled = Boolean(other);
  const theirs = other ? notYours(other.owner.accountId, number && other.name) : "";
  shown("piece").replaceChildren(pieces(nfts, tokenId, serialNos), theirs);
  shown("guides").replaceChildren(...guides(collection, takePrice));
  if (!isPriced) price.value = nfts[0]?.listingPrice || collection?.floorPrice || price.defaultValue;
  form.querySelector(".field span").textContent = number ? "Price of each in HBAR" : "Price in HBAR";
  showProceeds();
}

/** Of several, the name of the one is said. */
function notYours(owner, name) {
  const be = element("button", { class: "become", type: "button", "data-become": owner }, "Switch to its owner");
  return notice("wait", `Only ${owner} can list ${name || "it"}: it is not yours.`, be);
}

function takePrice(amount) {
  price.value = amount;
  isPriced = true;
  showProceeds();
}

function showProceeds() {
  const amount = Number(wholeNumber(price.value));
  const isWhole = Number.isSafeInteger(amount);
  shown("proceeds").replaceChildren(...(isWhole ? proceeds(amount, chosen.collection, seller.value.trim(), serials().length) : []));
}

seller.value ||= you();
onYou((account) => {
  seller.value = account;
  showPieces();
});
price.addEventListener("input", () => {
  isPriced = true;
  showProceeds();
});
for (const field of [token, serial, seller]) field.addEventListener("change", showPieces);
showPieces();
