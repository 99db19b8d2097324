// The index of collections: each with its floor, how many NFTs are for sale, and its volume in 24 hours.

import { api, collectionPage, withQuery } from "./addresses.js";
import { hbar } from "./amount.js";
import { stayInPlace } from "./arrangement.js";
import { element, words } from "./element.js";
import { wanted } from "./filter.js";
import { picture } from "./picture.js";
import { Shelf } from "./shelf.js";

const { sort, q } = wanted;

const shelf = new Shelf({
  draw: tile,
  tell: (shown, more) => `${more ? "The first " : ""}${shown} collections${q ? ` called ${q}` : ""}${more ? "; more follow" : ""}`,
  empty: () => [
    element("h2", {}, "No collection is found"),
    element("p", {}, q ? `None has a word that begins with ${q}.` : "Add an NFT, and its collection appears here."),
  ],
});

function tile({ token, name, imageUrl, listed, floorPrice, volume24h }, { eager }) {
  return element(
    "li",
    { class: "card", "data-key": token },
    picture({ name: name ?? token, imageUrl }, { eager }),
    element(
      "div",
      { class: "caption" },
      element("h2", {}, element("a", { href: collectionPage(token) }, words(name || token))),
      element("p", { class: "price" }, floorPrice === null ? "" : `from ${hbar(floorPrice)}`),
      element("p", { class: "by" }, element("span", {}, `${listed} for sale`), element("span", {}, `${hbar(volume24h)} in 24 h`)),
    ),
  );
}

await shelf.open(withQuery(api("/collections"), { sort, q, limit: 40 }));
stayInPlace();
