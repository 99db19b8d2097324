// Trades that an earlier page has begun: they are confirmed here, and how they ended is said.

import { inWords, market } from "../call.js";
import { toast } from "../toast.js";

const OVER_MS = 180_000; // then no transaction is valid any longer
const WORDS = {
  buy: ["Your purchase", "You weren't charged."],
  list: ["Your listing", ""],
  withdraw: ["Your cancellation", ""],
  offer: ["Your offer", ""],
  accept: ["Your acceptance", "You still own the NFT."],
  withdrawOffer: ["Your withdrawal", ""],
};

export async function resume() {
  for (const trade of market.pending()) {
    const [name, consolation] = WORDS[trade.kind];
    const isOver = Date.now() - trade.at > OVER_MS;
    if (!isOver) toast(`${name} is being confirmed…`);
    try {
      await trade.settle();
      toast(`${name} is confirmed.`);
    } catch (error) {
      if (isOver) trade.forget();
      toast(isOver ? `${name} didn't go through. ${consolation}` : `${name}: ${inWords(error.message)}`);
    }
  }
}
