// An NFT's page: what can be done with it, its picture in full screen, and what happens to it while it is shown.

import { api, tradePage } from "./addresses.js";
import { get } from "./call.js";
import { followAddress } from "./dialog.js";
import { element, notice } from "./element.js";
import { Feed } from "./feed.js";
import { readPage, show } from "./fragments.js";
import { Purchase } from "./trading/purchase.js";
import { Trade } from "./trading/trade.js";
import { withdraw } from "./trading/transaction.js";
import { onVisitor, visitor } from "./visitor.js";

const place = (id) => document.getElementById(id);
const { token, serial, events } = place("nft").dataset;
const fold = /** @type {HTMLDetailsElement} */ (document.querySelector(".developer"));

/** Show all that may have changed. */
async function refresh() {
  try {
    show(await readPage(location.href));
  } catch {
    return; // the next event tries again
  }
  if (place("buying").hasAttribute("open")) purchase.load();
  if (fold.open) showLedger();
}

/** With the price that the page shows. */
function item() {
  const { price = "" } = /** @type {HTMLElement} */ (document.querySelector("#state [data-keep]"))?.dataset ?? {};
  return price ? `${token}:${serial}:${price}` : `${token}:${serial}`;
}

const purchase = new Purchase(place("buying"), { items: () => [item()], done: refresh });
const withdrawal = new Trade(place("withdrawing"), {
  address: () => tradePage("withdrawing", { nft: [item()], account: visitor() }),
  act: withdraw,
  kind: "delist",
  done: refresh,
});

function begin(id) {
  if (id === "buying") purchase.begin();
  if (id === "withdrawing") withdrawal.begin();
}

const showLedger = async () => (await import("./developer/ledger.js")).showLedger(place("ledger"), token, serial);

/** What is behind the fold for developers. */
async function showFold() {
  try {
    showLedger();
    if (!place("elsewhere")) return;
    const { offerMove } = await import("./developer/move.js");
    offerMove({ nft: async () => (await get(api("/nft/{token}/{serial}", { token, serial }))).data, refresh });
  } catch {
    fold.append(notice("bad", "This can't be loaded. Reload the page to try again."));
  }
}

if (fold.open) showFold();
else fold.addEventListener("toggle", showFold, { once: true });
onVisitor((account) => {
  const isOwners = place("state").querySelector(`[data-for="${CSS.escape(account)}"]`);
  place("state").querySelector(".notice.good")?.remove();
  if (isOwners) place("state").append(element("p", { class: "notice good" }, `You are ${account} now.`));
});
place("ids")?.addEventListener("click", async ({ target }) => (await import("./copying.js")).copy(target));
addEventListener("keydown", ({ key, target, ctrlKey, metaKey, altKey }) => {
  const isTyping = /** @type {HTMLElement} */ (target).closest("input, select, textarea, dialog, [popover]");
  if (key === "f" && place("picture") && !isTyping && !ctrlKey && !metaKey && !altKey) location.hash = "#picture";
});
if (events) new Feed(events, refresh, () => location.reload());
followAddress(begin);
