// The inside of a transaction, as a wallet would show it.

import { tinybars } from "./amount.js";
import { codeBlock } from "./code.js";
import { countDown, time } from "./date.js";
import { element, fields } from "./element.js";

const TYPES = {
  CRYPTOAPPROVEALLOWANCE: "NFT allowance (AccountAllowanceApprove)",
  CRYPTODELETEALLOWANCE: "Allowance taken back (AccountAllowanceDelete)",
  CRYPTOTRANSFER: "Transfer",
};
const FOR_ALL = { true: "Approved", false: "Revoked", null: "Approval unchanged" };

/** Show what /sandbox/decode said, and the bytes themselves. */
export function showTransaction(shown, decoded, base64) {
  const [approval = {}] = decoded.approvals;
  const left = element("span", { class: "left", role: "timer" });
  const rows = [
    ["Type", TYPES[decoded.type] ?? decoded.type],
    ["Token", approval.tokenId],
    ["Serial number", approval.serialNumbers?.join(", ")],
    ["Owner", approval.owner],
    ["Spender", approval.spender],
    ["Whole collection", approval.tokenId && FOR_ALL[approval.approvedForAll]],
    ["Memo", decoded.memo],
    ["Fee, at most", tinybars(decoded.maxFeeTinybars)],
    ["Valid until", decoded.validUntil && element("span", {}, time(decoded.validUntil), " ", left)],
    ["Nodes", decoded.nodeAccountIds.join(", ")],
    ["Transaction id", decoded.transactionId],
    ["Signatures", decoded.signedBy.length || "None yet"],
    ["Size", `${decoded.sizeBytes} bytes`],
  ];
  shown.replaceChildren(
    element("dl", { class: "fields ticket" }, fields(rows)),
    element("h3", {}, "The bytes, base64"),
    codeBlock(base64, "the transaction's bytes"),
  );
  if (decoded.validUntil) countDown(left, decoded.validUntil);
}
