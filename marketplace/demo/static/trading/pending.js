// Transactions that were submitted and not yet confirmed: the browser keeps them, so that no reload loses one.

import { parse, stringify } from "../json.js";
import { recall, remember } from "../memory.js";
import { toast } from "../toast.js";

const OVER_MS = 180_000; // then no transaction is valid any longer
const WORDS = {
  buy: ["Your purchase", "You weren't charged."],
  list: ["Your listing", ""],
  delist: ["Your cancellation", ""],
  offer: ["Your offer", ""],
  acceptoffer: ["Your acceptance", "You still own the NFT."],
  withdrawoffer: ["Your withdrawal", ""],
};

/** @returns {{ kind: any, order: any, at: number, returned?: object }[]} */
function all() {
  try {
    return parse(recall("pending") ?? "[]");
  } catch {
    return [];
  }
}

const isSame = (one, other) => one.kind === other.kind && stringify(one.order) === stringify(other.order);
const others = (transaction) => all().filter((one) => !isSame(one, transaction));

/** With its signature, if it is handed in: a page that is left may not have done so yet. */
export function keep(transaction) {
  const { kind, order, isReturned, preparedId, signed, signatureMap } = transaction;
  const returned = isReturned ? { isReturned, preparedId, signed, signatureMap } : undefined;
  remember("pending", stringify([...others(transaction), { kind, order, at: Date.now(), returned }]));
}

export const forget = (transaction) => remember("pending", stringify(others(transaction)));

/** Confirm what another page has submitted or wanted to hand in, and say how it ended. */
export async function resume() {
  const { Transaction, confirm } = await import("./transaction.js");
  for (const { kind, order, at, returned } of all()) {
    const [name, consolation] = WORDS[kind];
    const isOver = Date.now() - at > OVER_MS;
    if (!isOver) toast(`${name} is being confirmed…`);
    try {
      const transaction = Object.assign(new Transaction(kind, order), returned);
      const isSeen = returned && !isOver && (await transaction.submit());
      if (!isSeen) await confirm(transaction);
      toast(`${name} is confirmed.`);
    } catch (error) {
      if (!isOver) toast(`${name}: ${error.message}`);
      else {
        forget({ kind, order });
        toast(`${name} didn't go through. ${consolation}`);
      }
    }
  }
}
