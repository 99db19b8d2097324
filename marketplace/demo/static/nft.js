// An NFT's page: its record, its attributes, its history, what can be done with it, and the JSON beside them.

import { api, galleryPage, listingPage } from "./addresses.js";
import { hbar } from "./amount.js";
import { offerPurchase, showPrice } from "./buying.js";
import { get } from "./call.js";
import { time, timeAgo } from "./date.js";
import { offerMove } from "./elsewhere.js";
import { element, fields, notice, webLink, words } from "./element.js";
import { exchange } from "./exchange.js";
import { showHistory } from "./history.js";
import { showLedger } from "./ledger.js";
import { attributes, picture } from "./picture.js";
import { showSale } from "./sale.js";
import { lead } from "./step.js";
import { offerWithdrawal } from "./withdrawing.js";

const place = (id) => document.getElementById(id);
const { token, serial } = place("nft").dataset;
let shown = null; // the record
let collection = null; // the answer about its collection
let told = null; // the last answer about its events that had some
const events = showHistory(place("history"), token, serial, { called: (answer) => (told = answer), arrived: () => show() });

/** Read all of it anew; returns the record, or {} where there is none. */
async function show() {
  const [answer, ledger] = await Promise.all([
    get(api("/nft/{token}/{serial}", { token, serial })),
    showLedger(place("ledger"), token, serial),
    events.refresh(),
  ]);
  if (answer.ok) collection ??= await get(api("/collection/{token}", { token }));
  place("nft").setAttribute("aria-busy", "false");
  const others = [told, ledger, collection].filter(Boolean).map((made) => exchange(made, { open: false }));
  place("calls").replaceChildren(exchange(answer), ...others);
  if (!answer.ok) showError(answer);
  else showRecord(answer.data);
  return answer.data ?? {};
}

function showRecord(nft) {
  shown = nft;
  document.title = document.title.replace(/^.* · /, () => `${nft.name} · `);
  place("name").replaceChildren(words(nft.name));
  place("artwork").replaceChildren(picture(nft, { eager: true }));
  place("state").replaceChildren(...state(nft));
  place("attributes").replaceChildren(...traits(nft));
  place("fields").replaceChildren(...fields(rows(nft)));
  place("elsewhere").hidden = !nft.isForSale && !place("elsewhere").querySelector(".exchange");
  showPrice(nft);
  // The shares are shown once the custom fees are known.
  const fees = nft.isForSale && collection.data?.royalties && collection.data;
  if (fees) showSale(place("cost"), nft.listingPrice, fees, { seller: nft.owner.accountId });
  else place("cost").hidden = true;
  if (collection.data?.name) place("collection").replaceChildren(element("bdi", { class: "clipped" }, collection.data.name));
}

function state(nft) {
  const owner = nft.owner.accountId;
  const query = { account: owner, token: nft.token, serial_no: nft.serialNo };
  const link = (kind, href, label) => element("a", { class: `button ${kind}`, href }, label);
  const price = nft.isForSale
    ? element("p", { class: "price" }, hbar(nft.listingPrice))
    : element("p", { class: "price off" }, "Not for sale");
  const owned = element("span", {}, "Owned by ", element("a", { href: galleryPage({ account: owner }) }, owner));
  const listed = nft.lastListedDate ? element("span", {}, "Last listed ", timeAgo(nft.lastListedDate)) : null;
  const ways = nft.isForSale
    ? [
        link("", "#buying", "Buy it"),
        link("quiet", listingPage(query), "Change the price"),
        link("quiet", "#withdrawing", "Withdraw it"),
      ]
    : [link("", listingPage(query), "List it")];
  return [price, element("p", { class: "by" }, owned, listed), element("p", { class: "row" }, ways)];
}

function traits(nft) {
  const list = attributes(nft);
  const missing = nft.originalImageUrl ? "It has no attributes." : "Its image and attributes have not been read yet.";
  if (!list.length) return [element("p", { class: "hint" }, missing)];
  const boxes = list.map(({ trait_type: name, value }) => [words(name), words(value)]);
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
  place("state").replaceChildren(notice("bad", answer.message));
  if (answer.status !== 404) return;
  place("state").append(offer);
  place("history").replaceChildren(element("p", {}, "Nothing has happened to it here."));
}

const offer = { nft: () => shown, fees: () => collection?.data, refresh: show };
const courses = { "#buying": offerPurchase(offer), "#withdrawing": offerWithdrawal(offer) };
offerMove(offer);

/** Show the steps that the address names, and no others; whoever asked for them is led there. */
function showCourse() {
  for (const [hash, begin] of Object.entries(courses)) {
    const section = document.querySelector(hash);
    section.hidden = location.hash !== hash || !shown;
    if (section.hidden) continue;
    begin();
    lead(section.querySelector("h2"), section);
  }
}

addEventListener("hashchange", showCourse);
await show();
showCourse();
