// The visitor's account: the connected wallet's. In the sandbox, one is chosen in the masthead, with its balance.

import { accountPage, isSandbox, sandbox, suggestedAccount, withQuery } from "./addresses.js";
import { tinybars } from "./amount.js";
import { onChanged, recall, remember, sharedAccounts } from "./memory.js";
import { sayUnloaded } from "./toast.js";

const menu = document.getElementById("accounts");
const masthead = document.getElementById("visitor");
let account = (isSandbox ? recall("account") : sharedAccounts()[0]) ?? suggestedAccount;

/** Empty until a wallet is connected. */
export const visitor = () => account;

/** Call act(account) whenever the visitor switches to another account. */
export const onVisitor = (act) => document.addEventListener("visitor", () => act(account));

export const isAccount = (id) => /^\d+\.\d+\.\d+$/.test(id);

export function switchTo(id) {
  account = id;
  if (isSandbox) remember("account", id);
  showOwn();
  document.dispatchEvent(new Event("visitor"));
  return showBalance();
}

/** Show what is for the visitor alone, and hide what is for all others. */
export function showOwn() {
  for (const shown of all("[data-for]")) shown.hidden = shown.dataset.for !== account;
  for (const shown of all("[data-not-for]")) shown.hidden = shown.dataset.notFor === account;
}

const all = (selector) => /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(selector));

/** An account's balance on the ledger in tinybars, or null if it is unknown. */
export async function readBalance(id) {
  if (!isSandbox) return null; // a page asks no other server
  const { get } = await import("./call.js");
  const { data } = await get(withQuery(sandbox("/api/v1/accounts/{id}", { id }), { transactions: false }));
  return data?.balance?.balance ?? null;
}

/** Read the balance again, and return it. */
export async function showBalance() {
  const asked = account;
  masthead.querySelector("[data-account]").textContent = asked || "Connect wallet";
  menu.querySelector("a").href = accountPage(asked);
  const amount = await readBalance(asked);
  if (asked === account) masthead.querySelector("[data-balance]").textContent = amount === null ? "" : tinybars(amount);
  return amount;
}

/** Open the dialog that connects a wallet. */
export const connect = () => import("./wallet/connect.js").then(({ open }) => open(), sayUnloaded);

document.addEventListener("parts", showOwn);
document.addEventListener("click", ({ target }) => {
  const button = /** @type {HTMLElement} */ (/** @type {HTMLElement} */ (target).closest("[data-become]"));
  if (button) switchTo(button.dataset.become);
});
menu.querySelector("[data-connect]")?.addEventListener("click", connect);
if (isSandbox) {
  // The menu is loaded when it is opened for the first time.
  menu.inert = true;
  menu.addEventListener("beforetoggle", () => import("./menu.js").then(() => (menu.inert = false), sayUnloaded), { once: true });
} else {
  masthead.inert = false;
  masthead.addEventListener("click", () => (account ? menu.togglePopover() : connect()));
  const follow = () => switchTo(sharedAccounts()[0] ?? "");
  document.addEventListener("wallet", follow);
  onChanged("wallets", follow);
}
showBalance();
