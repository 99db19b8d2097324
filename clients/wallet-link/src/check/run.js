// Runs the rows of the wallet check, one after the other, against a market in the sandbox.

import { Check, Untried, Wrong } from "./check.js";
import { ROWS, STEPS } from "./rows.js";

/**
 * @typedef {object} User of the wallet
 * @property {(words: string, step: string) => Promise<boolean>} tell what to do in the next row; false: skip it
 * @property {(question: string) => Promise<boolean | null>} ask null: nobody answers
 * @typedef {{id: string, title: string, asked: string, why: string, result: "waiting" | "running" | "right" | "wrong" | "not tried" | "failed", answered: string, milliseconds: number, exchanges: object[]}} Result of a row
 */

/**
 * Run the rows; onRow gets each row's result whenever it changes.
 * @param {{link: import("../wallet-link.js").WalletLink, market: import("./check.js").Market, user: User, onRow?: (result: Result) => void, signal?: AbortSignal}} options
 */
export async function runCheck({ link, market, user, onRow = () => {}, signal }) {
  const check = new Check(link, market, user);
  const results = [];
  for (const row of ROWS) {
    const result = begin(row);
    results.push(result);
    const keep = ({ detail }) => keepExchange(result.exchanges, detail);
    link.addEventListener("exchange", keep);
    onRow(Object.assign(result, { result: "running" }));
    const began = performance.now();
    try {
      if (signal?.aborted) throw new Untried("The check was stopped.");
      if (!link.session) throw new Untried("The session has ended.");
      if (!(await user.tell(row.step ? STEPS[row.step] : "", row.step ?? "sign"))) throw new Untried("It was skipped.");
      result.answered = await row.run(check);
      result.result = "right";
    } catch (error) {
      Object.assign(result, judge(error));
    } finally {
      link.removeEventListener("exchange", keep);
      onRow(Object.assign(result, { milliseconds: Math.round(performance.now() - began) }));
    }
  }
  return results;
}

/** A row before it runs. @returns {Result} */
export function begin({ id, title, asked, why }) {
  return { id, title, asked, why, result: "waiting", answered: "", milliseconds: 0, exchanges: [] };
}

function keepExchange(exchanges, detail) {
  const known = exchanges.findIndex(({ id }) => id === detail.id);
  if (known < 0) exchanges.push(detail);
  else exchanges[known] = detail;
}

/** Whose fault an error is: a link's errors have a kind. */
function judge(error) {
  const isWallets = error instanceof Wrong || (error.kind && error.kind !== "RELAY");
  if (isWallets) return { result: "wrong", answered: error.message };
  if (error instanceof Untried) return { result: "not tried", answered: error.message };
  return { result: "failed", answered: `The check itself failed: ${error.message}` };
}
