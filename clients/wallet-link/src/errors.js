// The one kind of error: what went wrong, in a sentence for people, and a kind for programs.

/** @typedef {"REFUSED" | "LEDGER" | "TIMEOUT" | "RELAY" | "WALLET" | "ENDED"} Kind */

export class WalletError extends Error {
  /**
   * @param {Kind} kind REFUSED by its user, LEDGER: refused with a response code (`data`), ENDED: there is no session
   * @param {string} message
   * @param {{code?: number, data?: unknown}} [more] as the wallet answered
   */
  constructor(kind, message, { code, data } = {}) {
    super(message);
    Object.assign(this, { name: "WalletError", kind, code, data });
  }
}

const REFUSALS = [5000, 5001, 5002, 5003, 4001];
const LEDGER = 9000;

/** The error in a wallet's answer, which may be anything. @param {any} error */
export function readError(error) {
  const { code, data } = typeof error === "object" && error ? error : { code: undefined, data: undefined };
  const said = typeof error?.message === "string" ? error.message.slice(0, 300).replace(/\.$/, "") : "";
  if (REFUSALS.includes(code)) return new WalletError("REFUSED", "You declined it in your wallet.", { code, data });
  if (code === LEDGER) {
    const shown = ["string", "number"].includes(typeof data) ? ` (${String(data).slice(0, 60)})` : "";
    return new WalletError("LEDGER", `The ledger refused it: ${said || "the wallet gives no reason"}${shown}.`, { code, data });
  }
  return new WalletError("WALLET", `The wallet can't do it: ${said || "it gives no reason"}.`, { code, data });
}
