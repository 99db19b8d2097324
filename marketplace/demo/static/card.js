// A card of the gallery: artwork, name, price, owner, when listed.

import { galleryPage, nftPage } from "./addresses.js";
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
  return element(
    "li",
    { class: "card", "data-key": keyOf(nft) },
    picture(nft, { eager }),
    nft.isForSale && buyLink(nft, page),
    element(
      "div",
      { class: "caption" },
      element(heading, {}, element("a", { href: page }, words(nft.name))),
      element("p", { class: "price" }, nft.isForSale ? hbar(nft.listingPrice) : "Not for sale"),
      element(
        "p",
        { class: "by" },
        element("a", { href: galleryPage({ account: owner }), "aria-label": `All of ${owner}` }, owner),
        element("span", {}, element("span", { class: "visually-hidden" }, "listed "), listed),
      ),
    ),
  );
}

/** Of your own there is nothing to buy. */
function buyLink({ name, owner }, page) {
  const link = element("a", { class: "button buy", href: `${page}#buying`, "aria-label": `Buy ${name}` }, "Buy");
  link.dataset.owner = owner.accountId;
  link.hidden = owner.accountId === you();
  return link;
}

onYou((account) => {
  for (const link of document.querySelectorAll(".card .buy")) link.hidden = link.dataset.owner === account;
});
