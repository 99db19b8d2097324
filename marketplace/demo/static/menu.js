// The menu of accounts: each with its balance, the visitor's marked.

import { tinybars } from "./amount.js";
import { notice } from "./element.js";
import { onSubmit } from "./form.js";
import { sharedAccounts } from "./memory.js";
import { isAccount, readBalance, switchTo, visitor } from "./visitor.js";

const menu = document.getElementById("accounts");
const form = menu.querySelector("form");
const connecting = menu.querySelector("[data-connect]");
const outcome = menu.querySelector("[data-outcome]");

async function showMenu() {
  const buttons = /** @type {HTMLButtonElement[]} */ ([...menu.querySelectorAll("button[value]")]);
  const own = sharedAccounts()[0];
  if (connecting) connecting.textContent = own ? `Your wallet: ${own}` : "Connect a wallet";
  for (const button of buttons) button.setAttribute("aria-pressed", String(button.value === visitor()));
  await Promise.all(
    buttons.map(async (button) => {
      const amount = await readBalance(button.value);
      button.querySelector("[data-balance]").textContent = amount === null ? "" : tinybars(amount);
    }),
  );
}

function choose(id) {
  menu.hidePopover();
  return switchTo(id);
}

menu.addEventListener("beforetoggle", (event) => /** @type {ToggleEvent} */ (event).newState === "open" && showMenu());
menu.addEventListener("click", ({ target }) => {
  const button = /** @type {HTMLElement} */ (target).closest("button[value]");
  if (button instanceof HTMLButtonElement) choose(button.value);
});
onSubmit(form, async ({ account: id }) => {
  outcome.replaceChildren(isAccount(id) ? "" : notice("bad", "Enter an account ID, such as 0.0.1234."));
  if (!isAccount(id)) return;
  form.reset();
  choose(id);
});
if (menu.matches(":popover-open")) showMenu();
