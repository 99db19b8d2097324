// A trade of the client, with the words for its steps, and the wallet that signs for the visitor.

import { answerOf, market } from "../call.js";
import { isSandbox } from "../addresses.js";
import { isShared } from "../wallet/link.js";

const WORDS = {
  add: "Adding it to the market…",
  prepare: "Preparing the transaction…",
  submit: "Submitting to the ledger…",
  report: "Confirming…",
};

/** @typedef {import("../../../../clients/market/src/trade.js").Kind} Kind */
/** @typedef {import("../../../../clients/market/src/trade.js").Trade} Transaction */
/** @typedef {(step: string, answer?: import("../call.js").Answer) => unknown} Observer of the steps, each with the answer to its call */

/**
 * @param {Kind} kind
 * @param {any} order the body of the call that prepares it
 * @param {Observer} observe
 * @param {(words: string, isWaiting: boolean) => void} [say] isWaiting: for the visitor's own wallet
 */
export function openTransaction(kind, order, observe, say = () => {}) {
  let last = "";
  const progress = async ({ step, exchange }) => {
    if (exchange) return observe(step, answerOf({ ...exchange, headers: { ...exchange.headers, ...market.headers } }));
    if (step === last) return;
    last = step;
    const words = step === "sign" ? wordsOf(transaction) : WORDS[step];
    if (words) say(words, step === "sign" && isOwn(transaction));
    if (step === "submit") await observe("submitting");
  };
  /** @type {Transaction} */
  const transaction = market.trade(kind, order, { progress });
  return transaction;
}

const wordsOf = (transaction) => (isOwn(transaction) ? "Sign it in your wallet…" : "Signing with the demo wallet…");

/** Whether the visitor's own wallet signs it. */
export const isOwn = ({ metadata }) => isShared(metadata.accountToSign);

/** Throws where no other wallet signs. */
function usesOwn(transaction) {
  if (isOwn(transaction) || isSandbox) return isOwn(transaction);
  throw new Error(`Connect the wallet of ${transaction.metadata.accountToSign}: it has to sign.`);
}

const LAG_MS = 20_000, PAUSE_MS = 2_000;

/** The mirror node shows an association seconds later. Each try counts as a write: pauses grow. @param {Kind} kind @param {any} order @param {AbortSignal} signal */
export async function waitUntilPrepared(kind, order, signal) {
  const until = Date.now() + LAG_MS;
  for (let pause = PAUSE_MS; ; pause *= 1.5) {
    await new Promise((go) => {
      const timer = setTimeout(go, pause);
      signal.onabort = () => go(clearTimeout(timer));
    });
    if (signal.aborted) throw new Error("You stopped waiting. Your account may be associated soon: try again then.");
    try {
      return await market.trade(kind, order, { signal }).prepare();
    } catch (error) {
      if (error.reason !== "BUYER_NOT_ASSOCIATED" || Date.now() > until) throw error;
    }
  }
}

/** Take all its steps. */
export const complete = (transaction, signal) => transaction.run(walletFor(transaction, signal));

/** The visitor's own wallet or, in the sandbox, the demo wallet. @param {Transaction} transaction @param {AbortSignal} [signal] to stop waiting for the own one */
export function walletFor(transaction, signal) {
  const demo = () => import("../demo-wallet.js");
  const own = async ({ byteArray, metadata }) => {
    const { signWithWallet } = await import("../wallet/signing.js");
    // What a wallet returns is lost with the page: the next one says so.
    if (transaction.isReturned) history.replaceState({ ...history.state, isAsking: true }, "");
    try {
      return await signWithWallet(metadata.accountToSign, byteArray, transaction.isReturned, (exchange) => transaction.progress({ step: "sign", exchange }), signal);
    } finally {
      if (history.state?.isAsking) history.replaceState({ ...history.state, isAsking: false }, "");
    }
  };
  return {
    sign: async (prepared) => (usesOwn(prepared) ? own(prepared) : (await demo()).sign(transaction)),
    signAndExecute: async (prepared) => (usesOwn(prepared) ? own(prepared) : (await demo()).signAndExecute(transaction)),
  };
}
