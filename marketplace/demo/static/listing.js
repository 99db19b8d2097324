// The listing: in one click, or step by step. Each step shows its call, and opens the next one.

import { api, galleryPage, nftPage } from "./addresses.js";
import { hbar } from "./amount.js";
import { get, post } from "./call.js";
import { card } from "./card.js";
import { element } from "./element.js";
import { onSubmit } from "./form.js";
import { wholeNumber } from "./json.js";
import "./owned.js";
import { piece, readPiece } from "./piece.js";
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
    const [orderbook, answer] = await Promise.all([
      get(`${api("/orderbook")}?limit=1`),
      get(api("/nft/{tokenId}/{serialNo}", { tokenId, serialNo })),
    ]);
    appear.show(orderbook);
    if (!answer.ok) return appear.fail(answer.message);
    this.record = answer.data;
    document.getElementById("appeared").replaceChildren(card(this.record, { heading: "h3", eager: true }));
    const link = (words, address) => element("a", { href: address }, words);
    const page = nftPage(tokenId, serialNo);
    const ways = [link("all that is for sale", galleryPage()), link("its page", page), link("withdraw it", `${page}#withdrawing`)];
    return appear.succeed("See it among ", ways[0], ", on ", ways[1], ", or ", ways[2], ".");
  }

  /** How it ended well. */
  ended() {
    const { name, listingPrice, token, serialNo } = this.record;
    return {
      nft: this.record,
      title: `${name} is for sale`,
      words: `It costs ${hbar(listingPrice)}. The network took about 0.5 HBAR for that.`,
      ways: [
        element("a", { class: "button", href: nftPage(token, serialNo) }, "See it"),
        element("a", { class: "button quiet", href: galleryPage() }, "All that is for sale"),
      ],
    };
  }
}

const listing = new Listing();
new Trade(root.querySelector("[data-trade]"), listing, () => listing.ended(), () => listing.add());

/** Show the NFT that the fields name, and suggest its price, or the lowest of its collection. */
async function showPiece() {
  const asked = [token.value.trim(), serial.value.trim()];
  const { nft, floor } = await readPiece(...asked);
  if (form.hidden || asked[0] !== token.value.trim() || asked[1] !== serial.value.trim()) return;
  const isListed = nft?.isForSale && nft.owner.accountId === seller.value.trim();
  title.textContent = isListed ? "Change the price" : "List an NFT";
  form.querySelector(".button").textContent = isListed ? "Change the price" : "List it";
  form.querySelector("[data-piece]").replaceChildren(nft ? piece(nft, floor) : "");
  if (!isPriced) price.value = nft?.listingPrice || floor || price.defaultValue;
}

seller.value ||= you();
onYou((account) => {
  seller.value = account;
  showPiece();
});
price.addEventListener("input", () => (isPriced = true));
form.addEventListener("change", ({ target }) => target !== price && showPiece());
showPiece();
