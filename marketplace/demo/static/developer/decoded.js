// The inside of a transaction, as a wallet would show it.

import { tinybars } from "../amount.js";
import { codeBlock } from "../code.js";
import { countDown, time } from "./dates.js";
import { element, fields } from "../element.js";

const TYPES = {
  CRYPTOAPPROVEALLOWANCE: "NFT allowance (AccountAllowanceApprove)",
  CRYPTODELETEALLOWANCE: "Allowance taken back (AccountAllowanceDelete)",
  CRYPTOTRANSFER: "Transfer",
  SCHEDULESIGN: "Signature of a scheduled sale (ScheduleSign)",
  SCHEDULEDELETE: "Deletion of a scheduled sale (ScheduleDelete)",
};
const FOR_ALL = { true: "Approved", false: "Revoked", null: "Approval unchanged" };

/**
 * Show what /sandbox/decode returned, and the bytes themselves. roles: words by account id. besides: rows of what
 * the bytes do not say. expired() is called when the time is over. Returns { stop(words) }, which ends the countdown.
 */
export function showTransaction(shown, decoded, { base64, roles = {}, besides = [], expired }) {
  const left = element("span", { class: "left", role: "timer" });
  const rows = [
    ["Type", TYPES[decoded.type] ?? decoded.type],
    ...decoded.approvals.flatMap(approval),
    ...decoded.deletedApprovals.flatMap(deletedApproval),
    ...decoded.nftTransfers.flatMap((move) => nftTransfer(move, roles)),
    ...decoded.hbarTransfers.sort(byAmount).map((entry) => payment(entry, roles)),
    ...besides,
    ["Memo", decoded.memo],
    ["Network fee", fee(decoded, roles)],
    ["Valid until", decoded.validUntil && element("span", {}, time(decoded.validUntil), " ", left)],
    ["Nodes", decoded.nodeAccountIds.join(", ")],
    ["Transaction id", decoded.transactionId],
    ["Signatures", signatures(decoded.signedBy.length)],
    ["Size", `${decoded.sizeBytes} bytes`],
  ];
  shown.replaceChildren(
    element("dl", { class: "fields ticket" }, fields(rows)),
    element("p", { class: "label" }, "The bytes, base64"),
    codeBlock(base64, "the transaction's bytes"),
  );
  return { stop: decoded.validUntil ? countDown(left, decoded.validUntil, expired) : () => {} };
}

const named = (id, roles) => (roles[id] ? `${id}, ${roles[id]}` : id);

/** A transfer may associate the receiver with the token. The network charges that beyond the maximum fee. */
function fee({ maxFeeTinybars, payer, nftTransfers }, roles) {
  const besides = nftTransfers.length ? "; plus the association of the receiver with the token, if needed" : "";
  return `At most ${tinybars(maxFeeTinybars)}, paid by ${named(payer, roles)}${besides}`;
}

const signatures = (count) => count || "None yet";

function approval({ tokenId, serialNumbers, owner, spender, approvedForAll }) {
  return [
    ["Token", tokenId],
    ["Serial number", serialNumbers.join(", ")],
    ["Owner", owner],
    ["Spender", spender],
    ["Whole collection", FOR_ALL[approvedForAll]],
  ];
}

function deletedApproval({ tokenId, serialNumbers, owner }) {
  return [
    ["Token", tokenId],
    ["Serial number", serialNumbers.join(", ")],
    ["Owner", owner],
  ];
}

function nftTransfer(move, roles) {
  return [
    ["NFT", `${move.tokenId} #${move.serialNumber}`],
    ["From", named(move.sender, roles)],
    ["To", named(move.receiver, roles)],
    ["By approval", move.isApproval ? "Yes: its owner lets the marketplace move it" : "No"],
  ];
}

/** The payer comes first. */
const byAmount = (one, other) => Number(one.amount) - Number(other.amount);

function payment({ accountId, amount }, roles) {
  const isPaid = Number(amount) < 0;
  return [isPaid ? "Pays" : "Is paid", `${named(accountId, roles)}: ${tinybars(String(amount).replace("-", ""))}`];
}
