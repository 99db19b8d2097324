// NFTs that are traded together: in words, in pictures, and who gets what.

import { hbar } from "./amount.js";
import { element, words } from "./element.js";
import { picture } from "./picture.js";
import { shares } from "./sale.js";

const list = new Intl.ListFormat("en");
const NAMED_AT_MOST = 3;
const ROLES = ["Buyer", "Seller", "Royalty", "Fixed fee", "Marketplace"];

export const idOf = ({ token, serialNo }) => `${token}:${serialNo}`;
export const join = (names) => list.format(names);

/** "Peaks #1, Peaks #2, and Tides #7", or "5 NFTs". */
export const named = (nfts) => (nfts.length > NAMED_AT_MOST ? `${nfts.length} NFTs` : join(nfts.map(({ name }) => name)));

/** What they cost together, in HBAR. */
export const sum = (nfts) => nfts.reduce((all, { listingPrice }) => all + Number(listingPrice), 0);

/** Their pictures, each with its name and, if it is for sale, its price. */
export function pictures(nfts) {
  const each = (nft) =>
    element(
      "li",
      {},
      picture(nft, { eager: true }),
      element("p", { class: "name" }, words(nft.name)),
      nft.listingPrice > 0 && element("p", { class: "hint" }, hbar(nft.listingPrice)),
    );
  return element("ul", { class: "pieces" }, nfts.map(each));
}

/**
 * The shares of a purchase, as those of a sale; null if not all royalties are known. The network takes a royalty once of
 * all that a seller gets for NFTs of one collection.
 * @param {any[]} nfts
 * @param {(token: string) => any} fees the collection of a token
 * @param {string} buyer
 */
export function sharesOf(nfts, fees, buyer) {
  if (nfts.some(({ token }) => !fees(token)?.royalties)) return null;
  const sales = /** @type {any[][]} */ ([]);
  for (const nft of nfts) {
    const same = sales.find(([one]) => one.token === nft.token && one.owner.accountId === nft.owner.accountId);
    if (same) same.push(nft);
    else sales.push([nft]);
  }
  const parts = sales.flatMap((sold) => {
    const [{ token, owner }] = sold;
    return shares(sum(sold), fees(token), { seller: owner.accountId, buyer, number: sold.length });
  });
  return merge(parts).toSorted((one, other) => ROLES.indexOf(one.role) - ROLES.indexOf(other.role));
}

/** One row for all that somebody gets in the same role. */
function merge(parts) {
  const rows = [];
  for (const part of parts) {
    const same = rows.find(({ who, role, units }) => who === part.who && role === part.role && !units && !part.units);
    if (same) same.gets += part.gets;
    else rows.push({ ...part });
  }
  return rows;
}
