// Buying: the sandbox moves the NFT to another account, and the listing is reported once more.

import { api, sandbox } from "./addresses.js";
import { get, post } from "./call.js";
import { notice } from "./element.js";
import { exchange } from "./exchange.js";
import { onSubmit } from "./form.js";

/** Make the form work. nft() says which NFT is bought; then() is told once it is another's. */
export function offerPurchase({ nft, then }) {
  const form = document.getElementById("purchase");
  const box = form.closest("section, li");
  const outcome = box.querySelector("[data-outcome]");
  const calls = box.querySelector("[data-calls]");
  onSubmit(form, async ({ buyer }) => {
    const { token: tokenId, serialNo, seller } = nft();
    calls.replaceChildren();
    const moved = await post(sandbox("/transfers"), { tokenId, serialNo, accountId: buyer });
    calls.append(exchange(moved));
    if (!moved.ok) return outcome.replaceChildren(notice("bad", moved.message));
    const report = await post(api("/comingsoon"), { accountId: seller, tokenId, serialNo });
    const record = await get(api("/nft/{tokenId}/{serialNo}", { tokenId, serialNo }));
    calls.append(exchange(report), exchange(record, { open: false }));
    const isGone = record.ok && !record.data.isForSale;
    const first = isGone ? "The listing has left the order book. The service says: " : "";
    outcome.replaceChildren(
      notice(isGone ? "good" : "wait", first + (report.message || "It is still listed.")),
    );
    return then?.(record);
  });
}
