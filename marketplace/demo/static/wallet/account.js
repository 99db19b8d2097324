// The account of a connected wallet: in the sandbox, the first key that signs for an account becomes its key.

import { sandbox } from "../addresses.js";
import { get } from "../call.js";

const MEMO = "Create my account in the sandbox";

/** Whether an account has a key on the ledger. @param {string} accountId */
export async function hasKey(accountId) {
  const { ok, data } = await get(sandbox("/api/v1/accounts/{id}", { id: accountId }));
  return !ok || data.key !== null; // unknown: nothing to offer
}

/** A transaction that moves nothing, for the account's first signature, in base64. @param {string} accountId */
export async function firstTransaction(accountId) {
  const { writeTransfer } = await import("../wallet-link.js");
  return writeTransfer({ payer: accountId, memo: MEMO }).byteArray;
}
