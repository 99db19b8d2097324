// A sale elsewhere: the sandbox moves the NFT to another account, and its listing is reported again.

import { api, sandbox } from "../addresses.js";
import { post } from "../call.js";
import { notice } from "../element.js";
import { exchange } from "./exchange.js";
import { onSubmit } from "../form.js";

/**
 * Make the form work, for the one NFT of the page.
 * @param {{ nft: () => Promise<any>, refresh: () => Promise<any> }} page
 */
export function offerMove({ nft, refresh }) {
  const box = document.getElementById("elsewhere");
  const outcome = box.querySelector("[data-outcome]");
  const calls = box.querySelector("[data-calls]");
  const form = box.querySelector("form");
  form.inert = false;
  onSubmit(form, async ({ account }) => {
    const { token: tokenId, serialNo, owner } = await nft();
    const moved = await post(sandbox("/transfers"), { tokenId, serialNo, accountId: account });
    calls.replaceChildren(exchange(moved, { open: false }));
    if (!moved.ok) return outcome.replaceChildren(notice("bad", moved.message));
    const report = await post(api("/comingsoon"), { accountId: owner.accountId, tokenId, serialNo });
    calls.append(exchange(report, { open: false }));
    await refresh();
    const { isForSale } = await nft();
    const said = isForSale
      ? notice("wait", "It was moved. The market sees it within seconds.")
      : notice("good", `It belongs to ${account} now, and its listing has left the order book.`);
    return outcome.replaceChildren(said);
  });
}
