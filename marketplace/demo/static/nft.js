// An NFT's page: its record, its traits, its history, what can be done with it, and in a fold its calls.

import { accountPage, api, listingPage } from "./addresses.js";
import { hbar } from "./amount.js";
import { offerPurchase, showPrice } from "./buying.js";
import { get } from "./call.js";
import { copyable } from "./code.js";
import { time, timeAgo } from "./date.js";
import { followAddress } from "./dialog.js";
import { dollars } from "./dollars.js";
import { offerMove } from "./elsewhere.js";
import { element, fields, notice, webLink, words } from "./element.js";
import { exchange } from "./exchange.js";
import { showHistory } from "./history.js";
import { showLedger } from "./ledger.js";
import { attributes, picture } from "./picture.js";
import { showSale } from "./sale.js";
import { traitBoxes } from "./traits.js";
import { offerWithdrawal } from "./withdrawing.js";
import { become, onYou, you } from "./you.js";

const place = (id) => document.getElementById(id);
const { token, serial } = place("nft").dataset;
let shown = null; // the record
let collection = null; // the answer about its collection
let rarity = null; // the answer about its traits
let switched = null; // the owner to whom you have switched here
let past = null; // the last answer that had events
const events = showHistory(place("history"), token, serial, { called: (answer) => (past = answer), arrived: () => show() });

/** Read everything again; returns the record, or {} if there is none. */
async function show() {
  const [answer, traits, ledger] = await Promise.all([
    get(api("/nft/{token}/{serial}", { token, serial })),
    get(api("/nft/{token}/{serial}/traits", { token, serial })),
    showLedger(place("ledger"), token, serial),
    events.refresh(),
  ]);
  rarity = traits;
  const isWellFormed = answer.ok || answer.status === 404;
  if (isWellFormed && !collection?.ok) collection = await get(api("/collection/{token}", { token }));
  place("nft").setAttribute("aria-busy", "false");
  const others = [past, traits, ledger, collection].filter(Boolean).map((made) => exchange(made, { open: false }));
  place("calls").replaceChildren(exchange(answer), ...others);
  if (!answer.ok) showError(answer);
  else showRecord(answer.data);
  return answer.data ?? {};
}

function showRecord(nft) {
  shown = nft;
  showName(nft.name);
  place("ids").replaceChildren(copyable(nft.token), " ", copyable(`#${nft.serialNo}`, nft.serialNo));
  place("artwork").replaceChildren(picture(nft, { eager: true, large: true }));
  place("attributes").replaceChildren(...traits(nft));
  place("fields").replaceChildren(...fields(rows(nft)));
  place("elsewhere").hidden = !nft.isForSale && !place("elsewhere").querySelector(".exchange");
  place("past").hidden = false;
  showState();
  // The shares are shown once the custom fees are known.
  const sale = { price: nft.isForSale ? nft.listingPrice : null, seller: nft.owner.accountId };
  if (collection.data?.royalties) showSale(place("cost"), collection.data, sale);
  else place("cost").hidden = true;
}

/** Show its name, and its collection's name if that is known. */
function showName(name) {
  document.title = document.title.replace(/^.* · /, () => `${name} · `);
  place("name").replaceChildren(words(name));
  if (collection.data?.name) place("collection").replaceChildren(element("bdi", { class: "clipped" }, collection.data.name));
}

/** Show what it costs, whose it is, and what you can do with it. */
function showState() {
  if (!shown) return;
  const owner = shown.owner.accountId;
  const isYours = owner === you();
  const price = element("p", { class: "price" }, ...(shown.isForSale ? [hbar(shown.listingPrice), " ", dollars(shown.listingPrice)] : ["Not for sale"]));
  const whose = isYours ? " (you)" : switchTo(owner);
  const owned = element("span", {}, "Owned by ", element("a", { href: accountPage(owner) }, owner), whose);
  const listed = shown.lastListedDate && element("span", {}, "Last listed ", timeAgo(shown.lastListedDate));
  place("state").replaceChildren(
    price,
    element("p", { class: "by" }, owned, listed),
    isYours && switched === owner ? notice("good", `You are ${owner} now.`) : "",
    element("p", { class: "row" }, isYours ? owners(shown) : others(shown)),
  );
  showPrice(shown, collection?.data);
}

const link = (kind, href, label) => element("a", { class: `button ${kind}`, href }, label);

function owners({ token, serialNo, owner, isForSale, listingPrice }) {
  const query = { account: owner.accountId, token, serial_no: serialNo };
  if (!isForSale) return [link("", listingPage(query), "List it")];
  const changed = listingPage({ ...query, price: listingPrice });
  return [link("", changed, "Change the price"), link("quiet", "#withdrawing", "Withdraw it")];
}

const others = ({ isForSale }) => [isForSale && link("", "#buying", "Buy it")];

function switchTo(owner) {
  const act = () => become((switched = owner));
  return element("button", { class: "become", type: "button", onclick: act }, "Switch to its owner");
}

function traits(nft) {
  const missing = nft.originalImageUrl ? "It has no traits." : "Its image and traits have not been read yet.";
  if (!attributes(nft).length) return [element("p", { class: "hint" }, missing)];
  const { rank, ranked } = rarity?.data ?? {};
  const rarest = `Rarity rank ${rank} of the ${ranked} stored here`;
  const said = rank ? element("p", { class: "hint" }, rarest) : "";
  return [element("h2", { class: "small" }, "Traits"), said, traitBoxes(nft, rarity.ok ? rarity.data : null)];
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

/** Show why there is no record: an unknown NFT can be listed, an invalid id can not. */
function showError(answer) {
  const isUnknown = answer.status === 404;
  const offer = link("", listingPage({ token, serial_no: serial }), "List it");
  const said = isUnknown
    ? [notice("wait", "Nothing is known of it here yet. List it: it belongs to the first account that asks for it."), offer]
    : [notice("bad", answer.message)];
  if (collection?.data?.name) showName(`${collection.data.name} #${serial}`);
  place("artwork").replaceChildren(element("div", { class: "artwork" }, element("p", { class: "lost" }, "No artwork")));
  place("state").replaceChildren(...said);
  place("attributes").replaceChildren();
  place("past").hidden = true;
}

const offer = { nft: () => shown, fees: () => collection?.data, refresh: show };
const begin = { buying: offerPurchase(offer), withdrawing: offerWithdrawal(offer) };
offerMove(offer);
onYou(showState);
await show();
followAddress((id) => {
  if (shown) begin[id]();
  return shown;
});
