// The demo wallet: the sandbox signs for every account, and takes what was signed.

import { get, post } from "./call.js";
import { checkPage, sandbox, withQuery } from "./addresses.js";

/** @typedef {import("./trading/transaction.js").Transaction} Transaction */

/** A wallet did not sign, or the ledger refused it. `kind` as the wallet link has it. */
class WalletError extends Error {
  constructor(message, kind) {
    super(message);
    this.kind = kind;
  }
}

/** @param {Transaction} transaction */
export const sign = async (transaction) => ({ signedTransaction: await signForDemo(transaction) });

/** @param {Transaction} transaction */
export const signAndExecute = async (transaction) => submitSigned(transaction, await signForDemo(transaction));

/** With the demo wallet's key. Returns the signed bytes in base64. @param {Transaction} transaction */
export async function signForDemo({ byteArray, metadata, progress }) {
  const exchange = await post(sandbox("/sign"), { accountId: metadata.accountToSign, transaction: byteArray });
  await progress({ step: "sign", exchange });
  if (!exchange.ok) throw new WalletError(exchange.message, "WALLET");
  return exchange.data.transaction;
}

/** As a wallet does. @param {Transaction} transaction @param {string} signed */
export async function submitSigned(transaction, signed) {
  await transaction.progress({ step: "submit" });
  const exchange = await post(sandbox("/transactions"), { transaction: signed });
  await transaction.progress({ step: "submit", exchange });
  // Without an answer, it may have reached the ledger.
  if (!exchange.ok) throw new WalletError(exchange.message, exchange.status ? "WALLET" : "RELAY");
  const { transactionId, result, message = "" } = exchange.data;
  if (result !== "SUCCESS") throw new WalletError(`The ledger refused it: ${result}. ${message}`.trim(), "LEDGER");
  return { transactionId };
}

/** A text in place of a transaction. Returns the signature map in base64. @param {string} accountId @param {string} message */
export async function signMessage(accountId, message) {
  const { ok, data, message: reason } = await get(withQuery(checkPage.replace(/wallet$/, "message"), { accountId, message }));
  if (!ok) throw new WalletError(reason, "WALLET");
  return data.signatureMap;
}
