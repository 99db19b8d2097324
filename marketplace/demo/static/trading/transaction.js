// A trade of the client, with the words for its steps, and the wallet that signs for the visitor.

import { answerOf, market, post } from "../call.js";
import { sandbox } from "../addresses.js";
import { walletAccount } from "../wallet/link.js";

const WORDS = {
  add: "Adding it to the market…",
  prepare: "Preparing the transaction…",
  submit: "Submitting to the ledger…",
  report: "Confirming…",
};

/** @typedef {import("../../../../clients/market/src/trade.js").Kind} Kind */
/** @typedef {import("../../../../clients/market/src/trade.js").Trade} Transaction */
/** @typedef {(step: string, answer?: import("../call.js").Answer) => unknown} Observer of the steps, each with the answer to its call */

/** A wallet did not sign, or the ledger refused it. `kind` as the wallet link has it. */
class WalletError extends Error {
  constructor(message, kind) {
    super(message);
    this.kind = kind;
  }
}

/**
 * @param {Kind} kind
 * @param {any} order the body of the call that prepares it
 * @param {Observer} observe
 * @param {(words: string) => void} [say]
 */
export function openTransaction(kind, order, observe, say = () => {}) {
  let last = "";
  const progress = async ({ step, exchange }) => {
    if (exchange) return observe(step, answerOf(exchange));
    if (step === last) return;
    last = step;
    const words = step === "sign" ? wordsOf(transaction) : WORDS[step];
    if (words) say(words);
    if (step === "submit") await observe("submitting");
  };
  /** @type {Transaction} */
  const transaction = market.trade(kind, order, { progress });
  return transaction;
}

const wordsOf = (transaction) => (isOwn(transaction) ? "Sign it in your wallet…" : "Signing with the demo wallet…");

/** Whether the visitor's own wallet signs it. */
export const isOwn = ({ metadata }) => metadata.accountToSign === walletAccount();

/** Take all its steps. */
export const complete = (transaction) => transaction.run(walletFor(transaction));

/** The visitor's own wallet, or the demo wallet. @param {Transaction} transaction */
export function walletFor(transaction) {
  const own = async ({ byteArray }) => {
    const { signWithWallet } = await import("../wallet/signing.js");
    return signWithWallet(byteArray, transaction.isReturned, (exchange) => transaction.progress({ step: "sign", exchange }));
  };
  return {
    sign: async (prepared) => (isOwn(prepared) ? own(prepared) : { signedTransaction: await signForDemo(transaction) }),
    signAndExecute: async (prepared) => (isOwn(prepared) ? own(prepared) : submitSigned(transaction, await signForDemo(transaction))),
  };
}

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
