// The form of a listing: the server writes what a price brings, while it is typed; one click lists, step by step or at once.

import { listingPage, tradePage } from "./addresses.js";
import { readPage, show } from "./fragments.js";
import { wholeNumber } from "./amount.js";
import { Trade } from "./trading/trade.js";
import { onVisitor, visitor } from "./visitor.js";

const PAUSE_MS = 250; // between two keys of one price
const PARTS = ["title", "owned", "nfts", "guides", "proceeds", "wrong", "submit"];
const root = document.getElementById("listing");
/** @type {HTMLFormElement} */
const form = root.querySelector("[data-trade] form");
/** @type {Record<string, any>} */
const { price, account: seller, token, serial_no: serial } = form.elements;
let isPriced = new URLSearchParams(location.search).has("price") || price.value !== price.defaultValue; // by the address, or by hand
let timer;
let question; // the newest one, whose answer is shown

/** One serial number or, with commas between them, several. */
const serials = () => serial.value.split(",").map((one) => one.trim());
const ownPrice = (one) => /** @type {HTMLInputElement | null} */ (form.querySelector(`[data-serial="${CSS.escape(one)}"]`))?.value.trim();

/** Their own prices, if one has its own. */
function ownPrices() {
  const own = serials().map((one) => ownPrice(one) ?? "");
  return own.some(Boolean) ? own.map((one) => one.replace(/,/g, "")).join(",") : "";
}

/** An order for each price: NFTs of one price are listed together, with one signature. */
function readOrders() {
  const groups = Map.groupBy(serials(), (one) => ownPrice(one) || price.value);
  return [...groups].map(([amount, group]) => {
    const [serialNo, ...others] = group.map(wholeNumber);
    const numbers = others.length ? { serialNos: [serialNo, ...others] } : { serialNo };
    return { accountId: seller.value.trim(), tokenId: token.value.trim(), ...numbers, listingPrice: wholeNumber(amount) };
  });
}

class Listing extends Trade {
  /** As it stands in the form. */
  order() {
    return readOrders()[0];
  }

  orders() {
    return readOrders();
  }

  ending() {
    return tradePage("listed", { account: seller.value.trim(), nft: serials().map((one) => `${token.value.trim()}:${one}`) });
  }

  async end(address) {
    await super.end(address);
    if (!document.getElementById("owned")) return;
    const page = await readPage(listingPage({ account: seller.value.trim(), owned: "yes" })).catch(() => null);
    if (page) show(page, ["owned"]); // what is for sale now
  }

  /** What the form names may have changed: its parts are read again, and the fields stay. */
  async read() {
    const asked = (question = Symbol());
    const values = { account: seller.value.trim(), token: token.value.trim(), serial_no: serial.value.trim(), price: isPriced ? price.value : "", prices: ownPrices(), owned: document.getElementById("owned") ? "yes" : "" };
    const page = await readPage(listingPage(values)).catch(() => null);
    if (!page || asked !== question || form.hidden) return;
    const own = [...form.querySelectorAll("[data-serial]")].map((field) => /** @type {HTMLInputElement} */ (field));
    const kept = new Map(own.map((field) => [field.dataset.serial, field.value]));
    show(page, PARTS);
    for (const [name, value] of kept) {
      const field = /** @type {HTMLInputElement | null} */ (form.querySelector(`[data-serial="${CSS.escape(name)}"]`));
      if (field) field.value = value;
    }
    this.title = document.querySelector("h1");
    this.asked = this.title.textContent;
    if (!isPriced) price.value = /** @type {any} */ (page.getElementById("price")).value;
  }
}

const listing = new Listing(root, { address: () => "", kind: "list" });

function type() {
  isPriced = true;
  clearTimeout(timer);
  timer = setTimeout(() => listing.load(), PAUSE_MS);
}

root.addEventListener("click", ({ target }) => {
  const guide = /** @type {HTMLElement} */ (target).closest("[data-price]");
  if (!(guide instanceof HTMLElement)) return;
  price.value = guide.dataset.price;
  type();
});
form.addEventListener("input", ({ target }) => {
  if (target === price || /** @type {HTMLElement} */ (target).dataset.serial) type();
});
onVisitor((account) => {
  seller.value = account;
  listing.load();
});
for (const field of [token, serial, seller]) field.addEventListener("change", () => listing.load());
const isNamed = new URLSearchParams(location.search).has("account");
if (!isNamed) seller.value = visitor();
// The form may have been filled before this script had come.
if (!isNamed || [price, token, serial].some((field) => field.value !== field.defaultValue)) listing.load();
