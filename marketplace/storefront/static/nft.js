// An NFT's page: what can be done with it, its picture in full screen, and what happens to it while it is shown.

import { followAddress } from "./dialog.js";
import { element, notice } from "./element.js";
import { Feed } from "./feed.js";
import { readPage, show } from "./fragments.js";
import { sayUnloaded } from "./toast.js";
import { onVisitor } from "./visitor.js";

const find = (id) => document.getElementById(id);
const { token, serial, events } = find("nft").dataset;
/** @type {any} */
const own = { tokenId: token, serialNo: serial }; // as text, which stays whole
const fold = /** @type {HTMLDetailsElement | null} */ (document.querySelector(".developer"));

/** Which account somebody has just switched to, in words. */
const switchNotice = () => find("state").querySelector(".notice.good");

/** Show all that may have changed. */
async function refresh() {
  try {
    const page = await readPage(location.href);
    const kept = switchNotice();
    show(page);
    if (kept) find("state").append(kept);
  } catch {
    return; // the next event tries again
  }
  for (const trade of Object.values(trades)) if (trade.dialog.open) trade.load();
  if (fold?.open) showLedger();
}

/** With the price that the page shows. */
function item() {
  const { price = "" } = /** @type {HTMLElement} */ (document.querySelector("#state [data-keep]"))?.dataset ?? {};
  return price ? `${token}:${serial}:${price}` : `${token}:${serial}`;
}

/** @type {Record<string, import("./trading/trade.js").Trade>} */
const trades = {};
const page = { items: () => [item()], offerId: () => new URLSearchParams(location.search).get("offer") ?? "", done: refresh };
const offers = () => import("./trading/offers.js");
const makers = {
  purchase: async () => new (await import("./trading/purchase.js")).Purchase(find("purchase"), page),
  withdrawal: async () => new (await import("./trading/withdrawal.js")).Withdrawal(find("withdrawal"), page),
  offer: async () => new (await offers()).Offer(find("offer"), page),
  acceptance: async () => new (await offers()).Acceptance(find("acceptance"), page),
  retraction: async () => new (await offers()).OfferWithdrawal(find("retraction"), page),
};

/** Load the scripts of a trade when its dialog opens for the first time. */
async function begin(id) {
  if (!(id in makers)) return;
  trades[id] ??= await makers[id]();
  trades[id].begin();
}

const showLedger = async () => (await import("./developer/ledger.js")).showLedger(find("ledger"), token, serial);

async function showMove() {
  if (!find("elsewhere")) return;
  const [{ offerMove }, { market }] = await Promise.all([import("./developer/move.js"), import("./call.js")]);
  offerMove({ nft: () => market.ask("get_nft", own), refresh });
}

/** What is behind the fold for developers. */
function showFold() {
  const failed = () => fold.append(notice("bad", "This can't be loaded. Reload the page to try again."));
  Promise.all([showLedger(), showMove()]).catch(failed);
}

if (fold?.open) showFold();
else fold?.addEventListener("toggle", showFold, { once: true });
onVisitor((account) => {
  const isOwners = find("state").querySelector(`[data-for="${CSS.escape(account)}"]`);
  switchNotice()?.remove();
  if (isOwners) find("state").append(element("p", { class: "notice good" }, `You are ${account} now.`));
});
find("ids")?.addEventListener("click", ({ target }) => import("./copying.js").then(({ copy }) => copy(target), sayUnloaded));
addEventListener("keydown", ({ key, target, ctrlKey, metaKey, altKey }) => {
  const isTyping = /** @type {HTMLElement} */ (target).closest("input, select, textarea, dialog, [popover]");
  if (key === "f" && find("picture") && !isTyping && !ctrlKey && !metaKey && !altKey) location.hash = "#picture";
});
if (events) new Feed(events, refresh, () => location.reload(), own);
followAddress(begin);
