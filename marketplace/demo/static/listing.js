// The listing: in one click, or step by step, each of which shows the call it made and opens the next one.

import { api, galleryPage, nftPage } from "./addresses.js";
import { hbar } from "./amount.js";
import { get, post } from "./call.js";
import { card } from "./card.js";
import { element } from "./element.js";
import { onSubmit } from "./form.js";
import { wholeNumber } from "./json.js";
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
let record = null; // what was listed

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
  const ways = [link("the gallery", galleryPage()), link("its page", page), link("withdraw it", `${page}#withdrawing`)];
  return appear.succeed("See it in ", ways[0], ", on ", ways[1], ", or ", ways[2], ".");
}

new Trade(listing.querySelector("[data-trade]"), signing, {
  first: addNft,
  ended: () => ({
    nft: record,
    title: `${record.name} is for sale`,
    words: `It costs ${hbar(record.listingPrice)}, and leads the gallery now.`,
    ways: [
      element("a", { class: "button", href: nftPage(record.token, record.serialNo) }, "See it"),
      element("a", { class: "button quiet", href: galleryPage() }, "The gallery"),
    ],
  }),
});
onSubmit(add.form, addNft);
form.elements.account.value ||= you();
onYou((account) => (form.elements.account.value = account));
