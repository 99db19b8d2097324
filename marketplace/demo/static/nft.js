// An NFT's page: its record, its attributes, its history, and the JSON beside them.

import { api, galleryPage, listingPage } from "./addresses.js";
import { hbar } from "./amount.js";
import { get } from "./call.js";
import { time, timeAgo } from "./date.js";
import { element, fields, notice, webLink } from "./element.js";
import { exchange } from "./exchange.js";
import { showHistory } from "./history.js";
import { wholeNumber } from "./json.js";
import { attributes, picture } from "./picture.js";
import { offerPurchase } from "./purchase.js";

const place = (id) => document.getElementById(id);
const { token, serial } = place("nft").dataset;
let shown = null; // the record

async function show() {
  const answer = await get(api("/nft/{token}/{serial}", { token, serial }));
  place("nft").setAttribute("aria-busy", "false");
  const history = await showHistory(place("history"), token, serial);
  place("calls").replaceChildren(exchange(answer), exchange(history, { open: false }));
  if (!answer.ok) return showError(answer);
  return showRecord(answer.data);
}

function showRecord(nft) {
  shown = nft;
  document.title = document.title.replace(/^.* · /, () => `${nft.name} · `);
  place("name").textContent = nft.name;
  place("artwork").replaceChildren(picture(nft, { eager: true }));
  place("state").replaceChildren(...state(nft));
  place("attributes").replaceChildren(...traits(nft));
  place("fields").replaceChildren(...fields(rows(nft)));
  place("buying").hidden = !nft.isForSale && !place("buying").querySelector(".exchange");
}

function state(nft) {
  const owner = nft.owner.accountId;
  const query = { account: owner, token: nft.token, serial_no: nft.serialNo };
  const price = nft.isForSale
    ? element("p", { class: "price" }, hbar(nft.listingPrice))
    : element("p", { class: "price off" }, "Not for sale");
  const owned = element("span", {}, "Owned by ", element("a", { href: galleryPage({ account: owner }) }, owner));
  const listed = nft.lastListedDate ? element("span", {}, "Last listed ", timeAgo(nft.lastListedDate)) : null;
  return [
    price,
    element("p", { class: "by" }, owned, listed),
    element(
      "p",
      { class: "row" },
      nft.isForSale
        ? element("a", { class: "button quiet", href: listingPage(query) }, "Change the price")
        : element("a", { class: "button", href: listingPage(query) }, "List it"),
    ),
  ];
}

function traits(nft) {
  const list = attributes(nft);
  if (!list.length) return [element("p", { class: "hint" }, "It has no attributes.")];
  const boxes = list.map(({ trait_type: name, value }) => [name, value]);
  return [element("h2", { class: "small" }, "Attributes"), element("dl", { class: "traits" }, fields(boxes))];
}

function rows(nft) {
  return [
    ["Token", nft.token],
    ["Serial number", nft.serialNo],
    ["Name", nft.name],
    ["File type", nft.fileType],
    ["For sale", nft.isForSale ? "Yes" : "No"],
    ["Price", nft.isForSale ? hbar(nft.listingPrice) : "0, as it is not for sale"],
    ["Last listed", nft.lastListedDate ? time(nft.lastListedDate) : "Not known"],
    ["Owner", nft.owner.accountId],
    ["Image", webLink(nft.imageUrl)],
    ["Original image", nft.originalImageUrl ? webLink(nft.originalImageUrl) : "Not known"],
  ];
}

function showError(answer) {
  const offer = element("a", { class: "button", href: listingPage({ token, serial_no: serial }) }, "Add and list it");
  place("artwork").replaceChildren(element("div", { class: "artwork" }, element("p", { class: "lost" }, "No artwork")));
  place("state").replaceChildren(notice("bad", answer.message), ...(answer.status === 404 ? [offer] : []));
}

offerPurchase({
  nft: () => ({ token, serialNo: wholeNumber(serial), seller: shown.owner.accountId }),
  then: show,
});
show();
