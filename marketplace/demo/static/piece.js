// The NFTs that a listing is about: their pictures and names, whose they are, and what a price of them brings.

import { api, withQuery } from "./addresses.js";
import { hbar, tinybars } from "./amount.js";
import { get } from "./call.js";
import { dollars } from "./dollars.js";
import { element, fields, words } from "./element.js";
import { pictures } from "./group.js";
import { picture } from "./picture.js";
import { account, shares } from "./sale.js";
import { isAccount } from "./you.js";

/** { nfts, collection }: the records, and their collection with its floor and royalties. What is unknown is left out. */
export async function readPieces(token, serialNos) {
  if (!isAccount(token) || !serialNos.every((serialNo) => /^\d{1,18}$/.test(serialNo))) return { nfts: [], collection: null };
  const { data } = await get(withQuery(api("/nfts"), { id: serialNos.slice(0, 100).map((serialNo) => `${token}:${serialNo}`) }));
  const nfts = (Array.isArray(data) ? data : []).filter(Boolean);
  const about = nfts.length ? await get(api("/collection/{token}", { token })) : null;
  return { nfts, collection: about?.ok ? about.data : null };
}

const hint = (...said) => element("p", { class: "hint" }, ...said);

/** What is listed: an NFT, several, or what is known of one that nobody has asked for. */
export function pieces(nfts, token, serialNos) {
  if (serialNos.length > 1 && nfts.length) return pictures(nfts);
  const [nft] = nfts;
  if (!nft) {
    const said = [element("p", { class: "name" }, `${token} #${serialNos.join(", #")}`), hint("A new one of the sandbox: it will be yours.")];
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

/** What the seller gets of a price, and who gets the rest; number: of NFTs, each at that price. */
export function proceeds(price, collection, seller, number = 1) {
  if (!(price > 0)) return [];
  const what = number === 1 ? "a listing or a new price" : `all ${number} together`;
  const network = hint(`The network takes about 0.5 HBAR for ${what}.`);
  if (!collection?.royalties) return [hint("Its royalties are not known yet."), network];
  const [, { gets }, ...others] = shares(price, collection, { seller });
  const rows = others.filter(({ gets: share, units }) => share > 0n || units).map(({ role, gets: share, units }) => [role, units ?? tinybars(share)]);
  const yours = (amount) => element("span", {}, element("strong", {}, tinybars(amount)), " ", dollars(Number(amount) / 100_000_000));
  const left = number === 1 ? [["You get", yours(gets)]] : [["You get in all", yours(gets * BigInt(number))], ["Of each", tinybars(gets)]];
  return [element("dl", { class: "fields" }, fields([...left, ...rows])), network];
}
