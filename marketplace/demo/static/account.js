// An account's page: the NFTs that are stored here and that it owns, for sale or not.

import { api, withQuery } from "./addresses.js";
import { tinybars } from "./amount.js";
import { readBalances } from "./balances.js";
import { element } from "./element.js";
import { Shelf, showCall } from "./shelf.js";
import { become, isAccount, onYou, you } from "./you.js";

const shown = document.getElementById("account");
const { account } = shown.dataset;

const shelf = new Shelf({
  tell: (count, more) => `${more ? "The first " : ""}${count} owned${more ? "; more follow" : ""}`,
  empty: () => [
    element("h2", {}, "It owns nothing here"),
    element("p", {}, "What it buys or lists is shown here."),
  ],
});

/** Say that this account is you, or offer to switch to it. */
function showYou() {
  const be = element("button", { class: "button quiet", type: "button", onclick: () => become(account) }, "Switch to it");
  shown.querySelector("[data-you]").replaceChildren(account === you() ? "This is you." : be);
}

if (isAccount(account)) {
  showYou();
  onYou(showYou);
}
await shelf.open(withQuery(api("/user/{account}/nfts", { account }), { limit: 40 }));
const { calls, tinybars: amounts } = await readBalances([account]);
showCall(calls[0]);
if (amounts[account] !== null) shown.querySelector("[data-balance]").textContent = `has ${tinybars(amounts[account])}`;
