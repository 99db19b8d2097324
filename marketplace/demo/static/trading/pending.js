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

/** @returns {{ kind: any, order: any, at: number }[]} */
function all() {
  try {
    return parse(recall("pending") ?? "[]");
  } catch {
    return [];
  }
}

const isSame = (one, other) => one.kind === other.kind && stringify(one.order) === stringify(other.order);
const others = (transaction) => all().filter((one) => !isSame(one, transaction));

export const keep = ({ kind, order }) => remember("pending", stringify([...others({ kind, order }), { kind, order, at: Date.now() }]));

export const forget = (transaction) => remember("pending", stringify(others(transaction)));

/** Confirm what another page has submitted, and say how it ended. */
export async function resume() {
  const { Transaction, confirm } = await import("./transaction.js");
  for (const { kind, order, at } of all()) {
    const [name, consolation] = WORDS[kind];
    const isOver = Date.now() - at > OVER_MS;
    if (!isOver) toast(`${name} is being confirmed…`);
    try {
      await confirm(new Transaction(kind, order));
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
