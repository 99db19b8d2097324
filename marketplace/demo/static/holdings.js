// An account's listings, filtered or in another order: all of them are read, and arranged here.

import { api, pageSize, withQuery } from "./addresses.js";
import { get } from "./call.js";
import { showCall } from "./shelf.js";

const PAGES_AT_MOST = 20;

/** Returns what get() does. `check` is the order book's address with the same filter: it refuses a wrong filter. */
export async function readHoldings({ account, collection, minPrice, maxPrice, sort }, check) {
  const checked = await get(check);
  if (!checked.ok) return checked;
  let answer = await get(withQuery(api("/user/{account}/listed", { account }), { limit: pageSize }));
  const all = [...(answer.data ?? [])];
  for (let page = 1; answer.ok && answer.next && page < PAGES_AT_MOST; page += 1) {
    showCall(answer);
    answer = await get(answer.next);
    all.push(...(answer.data ?? []));
  }
  if (!answer.ok) return answer;
  const isWanted = (nft) =>
    (!collection || nft.token === collection) &&
    (!minPrice || nft.listingPrice >= Number(minPrice)) &&
    (!maxPrice || nft.listingPrice <= Number(maxPrice));
  return { ...answer, data: all.filter(isWanted).sort(order(sort)), next: null };
}

/** The account's own order is the newest first; sorting keeps it among equal prices. */
function order(sort) {
  const direction = { price: 1, "-price": -1 }[sort] ?? 0;
  return (one, other) => direction * (one.listingPrice - other.listingPrice);
}
