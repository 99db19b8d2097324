// The history of an NFT on the ledger, as the mirror node shows it: minted, listed, moved.

import { accountPage, sandbox } from "../addresses.js";
import { get } from "../call.js";
import { fromConsensus, time } from "./dates.js";
import { element, notice } from "../element.js";

/** Read it into an element, and return the call that was made for it. */
export async function showLedger(shown, token, serial) {
  const answer = await get(sandbox("/api/v1/tokens/{token}/nfts/{serial}/transactions", { token, serial }));
  const rows = answer.data?.transactions ?? [];
  const memos = await Promise.all(rows.map(memoOf));
  shown.setAttribute("aria-busy", "false");
  if (!answer.ok) shown.replaceChildren(notice("bad", answer.message));
  else if (!rows.length) shown.replaceChildren(notice("wait", "The ledger shows nothing of it yet."));
  else shown.replaceChildren(element("ol", { class: "history" }, rows.map((row, i) => event(row, memos[i]))));
  return answer;
}

/** A listing's price is in its transaction's memo. Of several transactions with its id, take the one of that moment. */
async function memoOf(row) {
  if (row.type !== "CRYPTOAPPROVEALLOWANCE") return null;
  const answer = await get(sandbox("/api/v1/transactions/{id}", { id: row.transaction_id }));
  const ofThatMoment = ({ consensus_timestamp }) => consensus_timestamp === row.consensus_timestamp;
  const memo = answer.data?.transactions?.find(ofThatMoment)?.memo_base64;
  return memo ? new TextDecoder().decode(Uint8Array.from(atob(memo), (char) => char.charCodeAt(0))) : null;
}

function event(row, memo) {
  return element(
    "li",
    { class: row.type.toLowerCase() },
    element("p", { class: "what" }, ...words(row)),
    memo && element("p", { class: "memo" }, memo),
    element("p", { class: "when" }, time(fromConsensus(row.consensus_timestamp))),
    element("p", { class: "id" }, row.transaction_id),
  );
}

function words(row) {
  const account = (id) => element("a", { href: accountPage(id) }, id);
  const payer = row.transaction_id.split("-")[0];
  switch (row.type) {
    case "TOKENMINT":
      return ["Minted for ", account(row.receiver_account_id)];
    case "CRYPTOAPPROVEALLOWANCE":
      return ["Approved for sale by ", account(payer)];
    case "CRYPTODELETEALLOWANCE":
      return ["Approval withdrawn by ", account(payer)];
    case "CRYPTOTRANSFER":
      return ["Moved from ", account(row.sender_account_id), " to ", account(row.receiver_account_id)];
    case "TOKENUPDATENFTS":
      return ["Its metadata was updated"];
    default:
      return [row.type];
  }
}
