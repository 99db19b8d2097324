// Several of what you own, to be listed or withdrawn with one signature: of one collection, and not too many.

import { api, listingPage, withQuery } from "./addresses.js";
import { get } from "./call.js";
import { followAddress } from "./dialog.js";
import { onYou, you } from "./you.js";

const AT_MOST = 20; // as the API takes them
const root = document.getElementById("choosing");
const place = (name) => /** @type {HTMLAnchorElement} */ (root.querySelector(name));
const boxes = () => /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("[data-choose]"));
const chosen = new Map(); // by the key of the card
let nfts = []; // to withdraw

function show() {
  const [first] = chosen.values();
  for (const box of boxes()) {
    const { token } = read(box);
    box.checked = chosen.has(box.dataset.choose);
    const isOther = first && token !== first.token;
    const isLocked = !box.checked && (isOther || chosen.size >= AT_MOST);
    box.disabled = isLocked;
    box.closest("label").title = isLocked ? (isOther ? "One collection at a time" : `${AT_MOST} at a time`) : "";
  }
  root.hidden = !first;
  if (!first) return;
  const all = [...chosen.values()];
  const listed = all.filter(({ isForSale }) => isForSale);
  place("[role=status]").textContent = `${all.length} of ${first.collection} chosen. One collection at a time, up to ${AT_MOST}.`;
  place("[data-list]").textContent = listed.length === all.length ? `Change the price of ${all.length}` : `List ${all.length}`;
  place("[data-list]").href = listingPage({ account: you(), token: first.token, serial_no: all.map(({ serialNo }) => serialNo).join(",") });
  place("[data-withdraw]").hidden = !listed.length;
  place("[data-withdraw]").textContent = listed.length === all.length ? `Withdraw ${all.length}` : `Withdraw the ${listed.length} that ${listed.length === 1 ? "is" : "are"} for sale`;
}

function read({ dataset }) {
  const [token, serialNo] = dataset.choose.split("/");
  return { token, serialNo, collection: dataset.collection || token, isForSale: dataset.price !== "0" };
}

/** Choose nothing any more. */
function clear() {
  chosen.clear();
  show();
}

document.addEventListener("change", ({ target }) => {
  const box = /** @type {HTMLInputElement} */ (target);
  if (!box.dataset.choose) return;
  if (box.checked) chosen.set(box.dataset.choose, read(box));
  else chosen.delete(box.dataset.choose);
  show();
});
document.addEventListener("parts", show);
place("[data-clear]").addEventListener("click", clear);
onYou(clear);

/** @param {() => Promise<void>} refresh reads the list again */
export function offerChoice(refresh) {
  const page = {
    nfts: () => nfts,
    fees: () => null,
    refresh: async () => {
      clear();
      await refresh();
      return nfts;
    },
  };
  /** @type {(() => void) | null} */
  let begin = null;
  followAddress(async () => {
    const id = [...chosen.values()].filter(({ isForSale }) => isForSale).map(({ token, serialNo }) => `${token}:${serialNo}`);
    const answer = id.length ? await get(withQuery(api("/nfts"), { id })) : null;
    nfts = answer?.ok ? answer.data.filter(Boolean) : [];
    begin ??= (await import("./withdrawing.js")).offerWithdrawal(page);
    if (nfts.length) begin();
    return nfts.length > 0;
  });
  show();
}
