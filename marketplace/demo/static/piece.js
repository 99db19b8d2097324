// The NFT that a listing is about: its picture and name, what it costs, and the cheapest of its collection.

import { api, withQuery } from "./addresses.js";
import { hbar } from "./amount.js";
import { get } from "./call.js";
import { element, words } from "./element.js";
import { picture } from "./picture.js";
import { account } from "./sale.js";
import { isAccount } from "./you.js";

/** { nft, floor }: each is null if it is unknown. */
export async function readPiece(token, serialNo) {
  if (!isAccount(token) || !/^\d{1,18}$/.test(serialNo)) return { nft: null, floor: null };
  const [found, cheapest] = await Promise.all([
    get(withQuery(api("/nfts"), { id: `${token}:${serialNo}` })),
    get(withQuery(api("/orderbook"), { tokenId: token, sort: "price", limit: 1 })),
  ]);
  return { nft: found.data?.[0] ?? null, floor: cheapest.data?.[0]?.listingPrice ?? null };
}

export function piece(nft, floor) {
  const hint = (...said) => element("p", { class: "hint" }, ...said);
  const said = [
    element("p", { class: "name" }, words(nft.name)),
    hint("Owned by ", account(nft.owner.accountId)),
    nft.isForSale && hint(`It costs ${hbar(nft.listingPrice)} now.`),
    floor !== null && hint(`The cheapest of its collection costs ${hbar(floor)}.`),
  ];
  return element("div", { class: "piece" }, picture(nft, { eager: true }), element("div", {}, said));
}
