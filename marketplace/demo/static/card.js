// A card of the gallery: artwork, name, price, owner, when listed.

import { accountPage, nftPage } from "./addresses.js";
import { hbar } from "./amount.js";
import { timeAgo } from "./date.js";
import { element, words } from "./element.js";
import { picture } from "./picture.js";
import { onYou, you } from "./you.js";

export const keyOf = (nft) => `${nft.token}/${nft.serialNo}`;

export function card(nft, { heading = "h2", eager = false } = {}) {
  const owner = nft.owner.accountId;
  const page = nftPage(nft.token, nft.serialNo);
  const listed = nft.lastListedDate ? timeAgo(nft.lastListedDate) : "date not known";
  const when = nft.isForSale && element("span", {}, element("span", { class: "visually-hidden" }, "listed "), listed);
  return element(
    "li",
    { class: "card", "data-key": keyOf(nft) },
    picture(nft, { eager }),
    nft.isForSale && buyLink(nft, page),
    element(
      "div",
      { class: "caption" },
      element(heading, {}, element("a", { href: page }, words(nft.name))),
      price(nft),
      element(
        "p",
        { class: "by" },
        element("a", { href: accountPage(owner), "aria-label": `All of ${owner}` }, owner),
        when,
      ),
    ),
  );
}

function price({ isForSale, listingPrice }) {
  return element("p", { class: isForSale ? "price" : "price off" }, isForSale ? hbar(listingPrice) : "Not for sale");
}

/** It is hidden for your own NFTs. */
function buyLink({ name, owner }, page) {
  const link = element("a", { class: "button buy", href: `${page}#buying`, "aria-label": `Buy ${name}` }, "Buy");
  link.dataset.owner = owner.accountId;
  link.hidden = owner.accountId === you();
  return link;
}

onYou((account) => {
  for (const link of document.querySelectorAll(".card .buy")) link.hidden = link.dataset.owner === account;
});
