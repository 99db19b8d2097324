// Signatures of the visitor's own wallet, over the relay, in place of the demo wallet's.

import { exchanges, openLink } from "./link.js";

const CODE = {
  hedera_signTransaction: "const signatureMap = await link.sign(body);",
  hedera_signAndExecuteTransaction: "const { transactionId } = await link.signAndExecute(byteArray);",
};

/**
 * Have a transaction signed, and submitted if it is not returned. Throws a WalletError.
 * @param {string} account
 * @param {string} bytes in base64
 * @param {boolean} isReturned
 * @param {(answer: any) => unknown} observe gets the exchange with the wallet, as an answer of call.js
 * @param {AbortSignal} [signal] to give up
 * @returns {Promise<any>} {signatureMap} or {transactionId}
 */
export async function signWithWallet(account, bytes, isReturned, observe, signal) {
  const [link, { bodyOf }] = await Promise.all([openLink(), import("../wallet-link.js")]);
  const before = exchanges.length;
  if (link.account?.accountId !== account) link.choose(account);
  try {
    if (isReturned) return { signatureMap: await link.sign(bodyOf(bytes), { signal }) };
    const { transactionId } = await link.signAndExecute(bytes, { signal });
    return { transactionId };
  } finally {
    if (exchanges.length > before) await observe(toAnswer(exchanges[exchanges.length - 1]));
  }
}

/** @param {import("./link.js").Exchange} exchange */
function toAnswer({ method, params, result, error, milliseconds }) {
  const request = JSON.stringify({ method, params }, null, 2);
  return {
    ok: !error,
    status: 0,
    statusText: error ? "Refused" : "Answered",
    milliseconds,
    text: JSON.stringify(error ?? result),
    data: result,
    message: error?.message ?? "",
    method: "WC",
    address: `wc:${method}`,
    curl: `${CODE[method] ?? ""}\n\n${request}`.trim(),
  };
}
