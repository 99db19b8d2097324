// The listing: in one click, or step by step. Each step shows its call, and opens the next one.

import { api, galleryPage, nftPage } from "./addresses.js";
import { hbar } from "./amount.js";
import { get, post } from "./call.js";
import { element, notice } from "./element.js";
import { onSubmit } from "./form.js";
import { wholeNumber } from "./json.js";
import "./owned.js";
import { part, readPage } from "./parts.js";
import { guides, piece, proceeds, readPiece } from "./piece.js";
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
const keys = () => ({ accountId: seller.value.trim(), tokenId: token.value.trim(), serialNo: wholeNumber(serial.value) });
const title = document.querySelector("h1");
let isPriced = new URLSearchParams(location.search).has("price"); // by the address, or by hand

/** The listing of the NFT that the form names. */
class Listing extends Signing {
  path = "/list/{wallet}";
  says = "It lets the marketplace spend this one NFT, and nothing else. Nothing is signed yet.";
  record = null; // what was listed

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
    return add.succeed("It is stored: ", element("strong", {}, `${keys().tokenId} #${keys().serialNo}`), ".");
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
    const { tokenId, serialNo } = this.body;
    appear.open();
    const [orderbook, answer, market] = await Promise.all([
      get(`${api("/orderbook")}?limit=1`),
      get(api("/nft/{tokenId}/{serialNo}", { tokenId, serialNo })),
      readPage(galleryPage()),
    ]);
    appear.show(orderbook);
    if (!answer.ok) return appear.fail(answer.message);
    this.record = answer.data;
    const card = market && part("cards", market).querySelector(`[data-key="${tokenId}/${serialNo}"]`);
    document.getElementById("appeared").replaceChildren(...(card ? [document.adoptNode(card)] : []));
    const link = (words, address) => element("a", { href: address }, words);
    const page = nftPage(tokenId, serialNo);
    const ways = [link("all that is for sale", galleryPage()), link("its page", page), link("withdraw it", `${page}#withdrawing`)];
    return appear.succeed("See it among ", ways[0], ", on ", ways[1], ", or ", ways[2], ".");
  }

  /** How it ended well. */
  ended() {
    const { name, listingPrice, token: tokenId, serialNo } = this.record;
    return {
      nft: this.record,
      title: `${name} is for sale`,
      words: `It costs ${hbar(listingPrice)}. The network took about 0.5 HBAR for that.`,
      ways: [
        element("a", { class: "button", href: nftPage(tokenId, serialNo) }, "See it"),
        element("a", { class: "button quiet", href: galleryPage() }, "All that is for sale"),
      ],
    };
  }
}

const listing = new Listing();
new Trade(root.querySelector("[data-trade]"), listing, () => listing.ended(), () => listing.add());

const button = form.querySelector("button");
const shown = (name) => form.querySelector(`[data-${name}]`);
let chosen = { nft: null, collection: null };

/** Show the NFT that the fields name, and suggest its price, or the lowest of its collection. */
async function showPiece() {
  const [tokenId, serialNo] = [token.value.trim(), serial.value.trim()];
  const read = await readPiece(tokenId, serialNo);
  if (form.hidden || tokenId !== token.value.trim() || serialNo !== serial.value.trim()) return;
  chosen = read;
  const { nft, collection } = read;
  const owner = nft?.owner.accountId;
  const isYours = !nft || owner === seller.value.trim();
  const words = isYours && nft?.isForSale ? "Change the price" : "List an NFT";
  title.textContent = words;
  button.textContent = nft?.isForSale && isYours ? words : "List it";
  button.disabled = !isYours;
  const theirs = isYours ? "" : notYours(owner);
  shown("piece").replaceChildren(piece(nft, tokenId, serialNo), theirs);
  shown("guides").replaceChildren(...guides(collection, takePrice));
  if (!isPriced) price.value = nft?.listingPrice || collection?.floorPrice || price.defaultValue;
  showProceeds();
}

function notYours(owner) {
  const be = element("button", { class: "become", type: "button", "data-become": owner }, "Switch to its owner");
  return notice("wait", `Only ${owner} can list it: it is not yours.`, be);
}

function takePrice(amount) {
  price.value = amount;
  isPriced = true;
  showProceeds();
}

function showProceeds() {
  const amount = Number(wholeNumber(price.value));
  const isWhole = Number.isSafeInteger(amount);
  shown("proceeds").replaceChildren(...(isWhole ? proceeds(amount, chosen.collection, seller.value.trim()) : []));
}

seller.value ||= you();
onYou((account) => {
  seller.value = account;
  showPiece();
});
price.addEventListener("input", () => {
  isPriced = true;
  showProceeds();
});
for (const field of [token, serial, seller]) field.addEventListener("change", showPiece);
showPiece();
