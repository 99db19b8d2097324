// Who you are: an account of the sandbox, chosen in the masthead and remembered, with its balance.

import { accountPage, suggestedAccount } from "./addresses.js";
import { tinybars } from "./amount.js";
import { readBalances } from "./balances.js";
import { notice } from "./element.js";
import { onSubmit } from "./form.js";
import { recall, remember } from "./memory.js";

const menu = document.getElementById("accounts");
const masthead = document.getElementById("you");
const form = menu.querySelector("form");
const outcome = menu.querySelector("[data-outcome]");
let account = recall("account") ?? suggestedAccount;

export const you = () => account;

/** Call act(account) whenever you become somebody else. */
export const onYou = (act) => document.addEventListener("you", () => act(account));

export const isAccount = (id) => /^\d+\.\d+\.\d+$/.test(id);

export function become(id) {
  account = id;
  remember("account", id);
  document.dispatchEvent(new Event("you"));
  return showBalance();
}

/** Read your balance again; returns it in tinybars, or null if it is unknown. */
export async function showBalance() {
  const asked = account;
  masthead.querySelector("[data-account]").textContent = asked;
  menu.querySelector("[data-owned]").href = accountPage(asked);
  const { tinybars: amounts } = await readBalances([asked]);
  const amount = amounts[asked];
  if (asked === account) masthead.querySelector("[data-balance]").textContent = amount === null ? "" : tinybars(amount);
  return amount;
}

/** The accounts of the menu: each with its balance, yours marked. */
async function showMenu() {
  const buttons = [...menu.querySelectorAll("button[value]")];
  for (const button of buttons) button.setAttribute("aria-pressed", button.value === account);
  const { tinybars: amounts } = await readBalances(buttons.map(({ value }) => value));
  for (const button of buttons) {
    const amount = amounts[button.value];
    button.querySelector("[data-balance]").textContent = amount === null ? "" : tinybars(amount);
  }
}

function choose(id) {
  menu.hidePopover();
  return become(id);
}

menu.addEventListener("beforetoggle", ({ newState }) => newState === "open" && showMenu());
menu.addEventListener("click", ({ target }) => {
  const button = target.closest("button[value]");
  if (button) choose(button.value);
});
onSubmit(form, async ({ account: id }) => {
  outcome.replaceChildren(isAccount(id) ? "" : notice("bad", "Write an account like 0.0.1234."));
  if (!isAccount(id)) return;
  form.reset();
  choose(id);
});
showBalance();
