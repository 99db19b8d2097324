// What you own, as links that choose what to list. They are shown if nothing is chosen yet.

import { accountPage, api, galleryPage, listingPage, withQuery } from "./addresses.js";
import { hbar } from "./amount.js";
import { get } from "./call.js";
import { element } from "./element.js";
import { thumbnail } from "./picture.js";
import { onYou, you } from "./you.js";

const root = document.getElementById("owned");
const AT_MOST = 24;

async function show() {
  const account = you();
  const answer = await get(withQuery(api("/user/{account}/nfts", { account }), { limit: AT_MOST }));
  if (account !== you()) return;
  const nfts = answer.ok ? answer.data.toSorted((one, other) => Number(one.isForSale) - Number(other.isForSale)) : [];
  const all = element("li", { class: "tile all" }, element("a", { class: "button quiet", href: accountPage(account) }, "Choose several"));
  root.querySelector("ul").replaceChildren(...nfts.map((nft) => choice(nft, account)), all);
  if (!nfts.length) root.querySelector("ul").replaceChildren(nothing());
}

function choice(nft, account) {
  const href = listingPage({ account, token: nft.token, serial_no: nft.serialNo });
  return element(
    "li",
    { class: "tile" },
    element("div", { class: "thumbnail" }, thumbnail(nft)),
    element("p", { class: "name" }, element("a", { href }, element("bdi", { class: "clipped" }, nft.name))),
    element("p", { class: "hint" }, nft.isForSale ? `For sale for ${hbar(nft.listingPrice)}` : "Not for sale"),
  );
}

function nothing() {
  const ways = ["List the new one below, or ", element("a", { href: galleryPage() }, "buy one"), " first."];
  return element("li", { class: "tile none" }, element("p", {}, "You own nothing yet"), element("p", { class: "hint" }, ways));
}

if (root) {
  onYou(show);
  show();
}
