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

const listing = document.getElementById("listing");
const steps = new Steps(listing);
const { add, appear } = steps;
const form = listing.querySelector("[data-trade] form");
const field = (name) => form.elements[name].value.trim();
const keys = () => ({ accountId: field("account"), tokenId: field("token"), serialNo: wholeNumber(field("serial")) });
const { price, account: seller } = form.elements;
const title = document.querySelector("h1");
let record = null; // what was listed
let isPriced = new URLSearchParams(location.search).has("price"); // by the address, or by hand

async function addNft() {
  steps.restart(add);
  const answer = await post(api("/add"), keys());
  add.show(answer);
  if (!answer.ok) return add.fail(answer.message);
  steps.prepare.open();
  return add.succeed("It is stored: ", element("strong", {}, `${field("token")} #${field("serial")}`), ".");
}

const signing = new Signing(steps, {
  path: "/list/{wallet}",
  order: () => ({ ...keys(), listingPrice: wholeNumber(field("price")) }),
  says: "It lets the marketplace spend this one NFT, and nothing else. Nothing is signed yet.",
  prepared: fillSnippets,
  reported: showAppeared,
});

async function showAppeared({ tokenId, serialNo }) {
  appear.open();
  const [orderbook, answer] = await Promise.all([
    get(`${api("/orderbook")}?limit=1`),
    get(api("/nft/{tokenId}/{serialNo}", { tokenId, serialNo })),
  ]);
  appear.show(orderbook);
  if (!answer.ok) return appear.fail(answer.message);
  record = answer.data;
  document.getElementById("appeared").replaceChildren(card(record, { heading: "h3", eager: true }));
  const link = (words, address) => element("a", { href: address }, words);
  const page = nftPage(tokenId, serialNo);
  const ways = [link("all that is for sale", galleryPage()), link("its page", page), link("withdraw it", `${page}#withdrawing`)];
  return appear.succeed("See it among ", ways[0], ", on ", ways[1], ", or ", ways[2], ".");
}

new Trade(listing.querySelector("[data-trade]"), signing, {
  first: addNft,
  ended: () => ({
    nft: record,
    title: `${record.name} is for sale`,
    words: `It costs ${hbar(record.listingPrice)}. The network took about 0.5 HBAR for that.`,
    ways: [
      element("a", { class: "button", href: nftPage(record.token, record.serialNo) }, "See it"),
      element("a", { class: "button quiet", href: galleryPage() }, "All that is for sale"),
    ],
  }),
});
onSubmit(add.form, addNft);

/** Show the NFT that the fields name, and suggest its price, or the lowest of its collection. */
async function showPiece() {
  const [token, serial] = [field("token"), field("serial")];
  const { nft, floor } = await readPiece(token, serial);
  if (form.hidden || token !== field("token") || serial !== field("serial")) return;
  const isListed = nft?.isForSale && nft.owner.accountId === field("account");
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
