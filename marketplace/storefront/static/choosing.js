// Several of what you own, to be listed or withdrawn with one signature: of one collection, and not too many.

import { listingPage } from "./addresses.js";
import { followAddress } from "./dialog.js";
import { onVisitor, visitor } from "./visitor.js";

const AT_MOST = 20; // as the API takes them
const root = document.getElementById("choosing");
const find = (name) => /** @type {HTMLAnchorElement} */ (root.querySelector(name));
const boxes = () => /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("[data-choose]"));
const chosen = new Map(); // by the key of the card

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
  find("[role=status]").textContent = `${all.length} of ${first.collection} selected (up to ${AT_MOST} of one collection)`;
  find("[data-list]").textContent = listed.length === all.length ? `Change the price of ${all.length}` : `List ${all.length} for sale`;
  find("[data-list]").href = listingPage({ account: visitor(), token: first.token, serial_no: all.map(({ serialNo }) => serialNo).join(",") });
  find("[data-withdraw]").hidden = !listed.length;
  find("[data-withdraw]").textContent = listed.length === all.length ? `Cancel ${all.length} ${all.length === 1 ? "listing" : "listings"}` : `Cancel the ${listed.length === 1 ? "listing" : "listings"} of ${listed.length}`;
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
find("[data-clear]").addEventListener("click", clear);
onVisitor(clear);

/** @param {() => Promise<void>} refresh reads the list again */
export function offerChoice(refresh) {
  const listed = () => [...chosen.values()].filter(({ isForSale }) => isForSale);
  const page = {
    items: () => listed().map(({ token, serialNo }) => `${token}:${serialNo}`),
    done: () => {
      clear();
      return refresh();
    },
  };
  /** @type {import("./trading/withdrawal.js").Withdrawal | undefined} */
  let withdrawal;
  followAddress(async () => {
    const { Withdrawal } = await import("./trading/withdrawal.js");
    withdrawal ??= new Withdrawal(document.getElementById("withdrawal"), page);
    withdrawal.begin();
  });
  // What was chosen before this script had come.
  for (const box of boxes()) if (box.checked) chosen.set(box.dataset.choose, read(box));
  show();
}
