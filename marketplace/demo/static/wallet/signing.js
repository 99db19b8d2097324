// Signatures of the visitor's own wallet, over the relay, in place of the demo wallet's.

import { exchanges, openLink } from "./link.js";

const CODE = {
  hedera_signTransaction: "const signatureMap = await link.sign(body);",
  hedera_signAndExecuteTransaction: "const { transactionId } = await link.signAndExecute(byteArray);",
};
// Fields of HAPI's messages: TransactionList, Transaction, SignedTransaction.
const TRANSACTION = 1, SIGNED_BYTES = 5, BODY_BYTES = 1;

/**
 * Have a transaction signed, and submitted if it is not returned. Throws a WalletError.
 * @param {string} bytes in base64
 * @param {boolean} isReturned
 * @param {import("../trading/transaction.js").Observer} observe gets the exchange with the wallet, as an answer of call.js
 * @returns {Promise<{signatureMap?: string, transactionId?: string}>}
 */
export async function signWithWallet(bytes, isReturned, observe) {
  const link = await openLink();
  const before = exchanges.length;
  try {
    if (isReturned) return { signatureMap: await link.sign(bodyOf(bytes)) };
    const { transactionId } = await link.signAndExecute(bytes);
    return { transactionId };
  } finally {
    if (exchanges.length > before) await observe("sign", toAnswer(exchanges[exchanges.length - 1]));
  }
}

/** The first body of a list of transactions, as it stands there. Both in base64. @param {string} bytes */
export function bodyOf(bytes) {
  const list = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
  const body = [TRANSACTION, SIGNED_BYTES, BODY_BYTES].reduce((content, field) => find(content, field), list);
  return btoa(String.fromCharCode(...body));
}

/** The bytes of a message's first field with a number; all its fields have bytes. @param {Uint8Array} content @param {number} number */
function find(content, number) {
  let position = 0;
  const read = () => {
    let value = 0, shift = 0, byte;
    do {
      byte = content[position];
      position += 1;
      value |= (byte & 127) << shift;
      shift += 7;
    } while (byte & 128);
    return value;
  };
  while (position < content.length) {
    const field = read() >> 3, length = read();
    if (field === number) return content.subarray(position, position + length);
    position += length;
  }
  throw new Error(`The transaction has no field ${number}`);
}

/** @param {import("./link.js").Exchange} exchange @returns {import("../call.js").Answer} */
function toAnswer({ method, params, result, error, milliseconds }) {
  const request = JSON.stringify({ method, params }, null, 2);
  return {
    ok: !error,
    status: 0,
    reason: error ? "Refused" : "Answered",
    milliseconds,
    text: JSON.stringify(error ?? result),
    data: result,
    next: null,
    message: error?.message ?? "",
    method: "WC",
    address: `wc:${method}`,
    curl: `${CODE[method] ?? ""}\n\n${request}`.trim(),
  };
}
