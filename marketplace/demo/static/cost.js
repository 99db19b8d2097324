// Who pays and who gets what, in a fold: shown when it is opened for the first time.

import { api } from "./addresses.js";
import { get } from "./call.js";
import { showSale } from "./sale.js";

/** @param {any} nft its record, or null for the floor price of its collection */
export async function showCost(fold, token, nft = null) {
  const { data } = await get(api("/collection/{token}", { token }));
  if (!data?.royalties) return;
  showSale(fold, data, nft ? { price: nft.isForSale ? nft.listingPrice : null, seller: nft.owner.accountId } : {});
}
