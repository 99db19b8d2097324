// The NFT that a listing is about: its picture and name, whose it is, and what a price of it brings.

import { api, withQuery } from "./addresses.js";
import { hbar, tinybars } from "./amount.js";
import { get } from "./call.js";
import { dollars } from "./dollars.js";
import { element, fields, words } from "./element.js";
import { picture } from "./picture.js";
import { account, shares } from "./sale.js";
import { isAccount } from "./you.js";

/** { nft, collection }: the record, and its collection with its floor and royalties. Each is null if it is unknown. */
export async function readPiece(token, serialNo) {
  if (!isAccount(token) || !/^\d{1,18}$/.test(serialNo)) return { nft: null, collection: null };
  const { data } = await get(withQuery(api("/nfts"), { id: `${token}:${serialNo}` }));
  const nft = data?.[0] ?? null;
  const about = nft && (await get(api("/collection/{token}", { token })));
  return { nft, collection: about?.ok ? about.data : null };
}

const hint = (...said) => element("p", { class: "hint" }, ...said);

/** The NFT, or what is known of one that nobody has asked for. */
export function piece(nft, token, serialNo) {
  if (!nft) {
    const said = [element("p", { class: "name" }, `${token} #${serialNo}`), hint("A new one of the sandbox: it will be yours.")];
    return element("div", { class: "piece" }, element("div", { class: "artwork" }, element("p", { class: "lost" }, "New")), element("div", {}, said));
  }
  const said = [
    element("p", { class: "name" }, words(nft.name)),
    hint("Owned by ", account(nft.owner.accountId)),
    nft.isForSale && hint(`It costs ${hbar(nft.listingPrice)} now.`),
  ];
  return element("div", { class: "piece" }, picture(nft, { eager: true }), element("div", {}, said));
}

/** Prices to compare with, each a button that takes it. */
export function guides(collection, take) {
  const { floorPrice, lastSale } = collection ?? {};
  const guide = (label, price) =>
    price && element("button", { class: "chip", type: "button", onclick: () => take(price) }, label, element("span", { class: "number" }, hbar(price)));
  return [guide("Floor", floorPrice), guide("Last sale", lastSale?.price)].filter(Boolean);
}

/** What the seller gets of a price, and who gets the rest. */
export function proceeds(price, collection, seller) {
  if (!(price > 0)) return [];
  const network = hint("The network takes about 0.5 HBAR for a listing or a new price.");
  if (!collection?.royalties) return [hint("Its royalties are not known yet."), network];
  const [, { gets }, ...others] = shares(price, collection, { seller });
  const rows = others.filter(({ gets: share, units }) => share > 0n || units).map(({ role, gets: share, units }) => [role, units ?? tinybars(share)]);
  const yours = element("span", {}, element("strong", {}, tinybars(gets)), " ", dollars(Number(gets) / 100_000_000));
  return [element("dl", { class: "fields" }, fields([["You get", yours], ...rows])), network];
}
