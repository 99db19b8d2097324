// The owner's console: the wallet signs the challenge that the page shows. The rest are plain forms.

import { isSandbox } from "./addresses.js";
import { notice } from "./element.js";
import { remember } from "./memory.js";
import { connect, onVisitor, visitor } from "./visitor.js";
import { isShared, openLink } from "./wallet/link.js";

const account = /** @type {HTMLInputElement | null} */ (document.querySelector('.console [name="account"]'));
if (account) {
  account.value ||= visitor();
  onVisitor((id) => (account.value = id));
}

const challenge = /** @type {HTMLElement | null} */ (document.querySelector("[data-challenge]"));
const form = /** @type {HTMLFormElement | null} */ (document.getElementById("signing"));
form?.querySelector("[data-sign]").addEventListener("click", signIn);

async function signIn() {
  const outcome = form.querySelector("[data-outcome]");
  outcome.replaceChildren(notice("wait", "Sign it in your wallet…"));
  try {
    form.signature.value = await sign(challenge.dataset.challenge, challenge.textContent);
    form.submit();
  } catch (error) {
    outcome.replaceChildren(notice("bad", error.message));
  }
}

async function sign(id, text) {
  if (!isShared(id)) {
    if (isSandbox) return (await import("./demo-wallet.js")).signMessage(id, text);
    connect();
    throw new Error(`Connect the wallet of ${id}, then sign.`);
  }
  const link = await openLink();
  if (link.account?.accountId !== id) link.choose(id);
  return link.signMessage(text);
}

// Every page of the shop then shows the way to the console.
if (document.querySelector("[data-operator]")) remember("operator", "yes");
document.querySelector("[data-sign-out]")?.addEventListener("submit", () => remember("operator", null));
