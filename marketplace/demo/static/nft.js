// An NFT's page: what can be done with it, its picture in full screen, and what happens to it while it is shown.

import { api } from "./addresses.js";
import { get } from "./call.js";
import { followAddress } from "./dialog.js";
import { notice } from "./element.js";
import { Feed } from "./feed.js";
import { readPage, show } from "./parts.js";
import { onYou } from "./you.js";

const place = (id) => document.getElementById(id);
const { token, serial, events } = place("nft").dataset;
const cost = /** @type {HTMLDetailsElement | null} */ (place("cost"));
const fold = /** @type {HTMLDetailsElement} */ (document.querySelector(".developer"));
let record = null;
let collection = null;

/** Read the record again, and its collection once: the dialogs need both. */
async function readRecord() {
  const [nft, about] = await Promise.all([
    get(api("/nft/{token}/{serial}", { token, serial })),
    collection ? null : get(api("/collection/{token}", { token })),
  ]);
  record = nft.data;
  collection ??= about?.data;
  return nft.ok ? record : { serialNo: null };
}

/** Show all that may have changed; returns the record, as the only one. */
async function refresh() {
  const [fresh, nft] = await Promise.all([readPage(location.href), readRecord()]);
  if (fresh) show(fresh);
  if (place("buying").hasAttribute("open")) (await import("./buying.js")).showPrice(page);
  if (cost?.open) showShares();
  if (fold.open) showLedger();
  return [nft];
}

const page = { nfts: () => [record], fees: () => collection, refresh };
const begin = {
  picture: async () => () => {},
  buying: async () => (await import("./buying.js")).offerPurchase(page),
  withdrawing: async () => (await import("./withdrawing.js")).offerWithdrawal(page),
};
const begun = {};

/** Prepare the dialog, and load its script for the first time. */
async function prepare(id) {
  if (id !== "picture") await readRecord();
  if (id !== "picture" && !record?.owner) return false;
  begun[id] ??= await begin[id]();
  begun[id]();
  return true;
}

const showShares = async () => (await import("./cost.js")).showCost(cost, token, await readRecord());
const showLedger = async () => (await import("./ledger.js")).showLedger(place("ledger"), token, serial);

/** What is behind the fold for developers. */
async function showFold() {
  showLedger();
  if (!place("elsewhere")) return;
  await readRecord();
  (await import("./elsewhere.js")).offerMove(page);
}

if (fold.open) showFold();
else fold.addEventListener("toggle", showFold, { once: true });
cost?.addEventListener("toggle", showShares, { once: true });
onYou((account) => {
  const isOwners = place("state").querySelector(`[data-for="${CSS.escape(account)}"]`);
  if (isOwners) place("state").append(notice("good", `You are ${account} now.`));
});
place("ids")?.addEventListener("click", async ({ target }) => (await import("./copying.js")).copy(target));
addEventListener("keydown", ({ key, target, ctrlKey, metaKey, altKey }) => {
  const isTyping = /** @type {HTMLElement} */ (target).closest("input, select, textarea, dialog, [popover]");
  if (key === "f" && place("picture") && !isTyping && !ctrlKey && !metaKey && !altKey) location.hash = "#picture";
});
if (events) new Feed(events, refresh, () => location.reload());
followAddress(prepare);
