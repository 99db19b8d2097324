// The listing, step by step: each shows the call it made and opens the next one.

import { api, galleryPage, nftPage } from "./addresses.js";
import { get, post } from "./call.js";
import { card } from "./card.js";
import { element } from "./element.js";
import { onSubmit } from "./form.js";
import { wholeNumber } from "./json.js";
import { offerSigning } from "./signing.js";
import { fillSnippets } from "./snippets.js";
import { Steps } from "./step.js";

const steps = new Steps(document.getElementById("listing"));
const { add, prepare, appear } = steps;
let keys = {}; // { accountId, tokenId, serialNo }

onSubmit(add.form, async ({ account, token, serial }) => {
  steps.restart(add);
  keys = { accountId: account, tokenId: token, serialNo: wholeNumber(serial) };
  const answer = await post(api("/add"), keys);
  add.show(answer);
  if (!answer.ok) return add.fail(answer.message);
  add.succeed("It is stored: ", element("strong", {}, `${token} #${serial}`), ".");
  return prepare.open();
});

offerSigning(steps, {
  path: "/list/{wallet}",
  order: ({ price }) => ({ ...keys, listingPrice: wholeNumber(price) }),
  says: "It lets the marketplace spend this one NFT, and nothing else. Nothing is signed yet.",
  prepared: fillSnippets,
  reported: showAppeared,
});

async function showAppeared({ tokenId, serialNo }) {
  appear.open();
  const [orderbook, record] = await Promise.all([
    get(`${api("/orderbook")}?limit=1`),
    get(api("/nft/{tokenId}/{serialNo}", { tokenId, serialNo })),
  ]);
  appear.show(orderbook);
  if (!record.ok) return appear.fail(record.message);
  document.getElementById("appeared").replaceChildren(card(record.data, { heading: "h3", eager: true }));
  const link = (words, address) => element("a", { href: address }, words);
  const page = nftPage(tokenId, serialNo);
  const ways = [link("the gallery", galleryPage()), link("buy it", `${page}#buying`), link("withdraw it", `${page}#withdrawing`)];
  return appear.succeed("See it in ", ways[0], ", ", ways[1], " as somebody else, or ", ways[2], ".");
}

add.set("open");
