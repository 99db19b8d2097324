// A card of the gallery: artwork, name, price, owner, when listed.

import { galleryPage, nftPage } from "./addresses.js";
import { hbar } from "./amount.js";
import { timeAgo } from "./date.js";
import { element } from "./element.js";
import { picture } from "./picture.js";

export function card(nft, { heading = "h2", eager = false } = {}) {
  const owner = nft.owner.accountId;
  const listed = nft.lastListedDate ? timeAgo(nft.lastListedDate) : "date not known";
  return element(
    "li",
    { class: "card" },
    picture(nft, { eager }),
    element(
      "div",
      { class: "caption" },
      element(heading, {}, element("a", { href: nftPage(nft.token, nft.serialNo) }, nft.name)),
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
