// The gallery: the order book, as the address asks for it.

import { api, galleryPage, listingPage, withQuery } from "./addresses.js";
import { stayInPlace } from "./arrangement.js";
import { get } from "./call.js";
import { readCollection, showCollections } from "./chips.js";
import { element } from "./element.js";
import { forSale, priceRange, wanted } from "./filter.js";
import { readHoldings } from "./holdings.js";
import { Shelf } from "./shelf.js";

const { collection: tokenId, account, minPrice, maxPrice, sort } = wanted;
const orderbook = (more) => withQuery(api("/orderbook"), { tokenId, minPrice, maxPrice, sort, ...more });
const isArranged = Boolean(tokenId || minPrice || maxPrice || sort);

const collection = tokenId && (await readCollection(tokenId));
const name = element("bdi", { class: "clipped" }, collection?.name || `collection ${tokenId}`);
const where = [tokenId && ["of ", name], account && [`owned by ${account}`], [priceRange(wanted)]];
const which = where.filter((part) => part?.[0]).flatMap((part, i) => [i ? ", " : " ", ...part]);

const shelf = new Shelf({
  read: account && isArranged ? () => readHoldings(wanted, orderbook({ limit: 1 })) : get,
  tell: (shown, more) => [more ? "The first " : "", forSale(shown), ...which, more ? "; more follow" : ""],
  empty: () => [
    element("h2", {}, "Nothing is for sale here"),
    element("p", {}, which.length ? ["Nothing", ...which, " is listed right now."] : "The order book is empty."),
    element(
      "p",
      { class: "row" },
      element("a", { class: "button", href: listingPage() }, "List an NFT"),
      which.length > 0 && element("a", { class: "button quiet", href: galleryPage() }, "Show everything"),
    ),
  ],
});

const first = await shelf.open(account ? withQuery(api("/user/{account}/listed", { account }), { limit: 20 }) : orderbook());
stayInPlace();
await showCollections(first.ok && collection);
stayInPlace();
