// Dialogs that the page's address opens: #purchase opens the one with that id, and Back closes it.

import { element, notice } from "./element.js";

const dialogs = [...document.querySelectorAll("dialog")];
/** @type {HTMLElement | null} */
let opener = null; // has the focus again when the dialog is closed

/**
 * Follow the address. A dialog opens at once; begin(id) then fills it.
 * @param {(id: string) => unknown} begin
 */
export function followAddress(begin) {
  const follow = () => {
    for (const dialog of dialogs) {
      const isNamed = location.hash === `#${dialog.id}`;
      if (!isNamed) dialog.close();
      else if (!dialog.open) {
        opener = /** @type {HTMLElement} */ (document.activeElement);
        dialog.showModal();
        // A page that has just come focuses what its address names: the dialog, not its title.
        if (document.readyState !== "complete") addEventListener("load", () => setTimeout(() => focusTitle(dialog)), { once: true });
        fill(dialog);
      }
    }
  };
  /** A script that does not come is said, too. */
  async function fill(dialog) {
    const outcome = dialog.querySelector("[data-outcome]");
    try {
      await begin(dialog.id);
    } catch {
      const again = element("button", { class: "button quiet", type: "button", onclick: () => location.reload() }, "Reload the page");
      outcome?.replaceChildren(notice("bad", "Can't reach the market. Check your connection and try again."), again);
    }
  }
  addEventListener("hashchange", follow);
  follow();
}

for (const dialog of dialogs) {
  dialog.addEventListener("close", () => {
    if (location.hash === `#${dialog.id}`) history.replaceState(history.state, "", location.pathname + location.search);
    returnFocus();
  });
}

const focusTitle = (dialog) => dialog.open && dialog.querySelector("[autofocus]").focus();

/** To what has opened the dialog or, if that is gone, to what can be done next. */
function returnFocus() {
  const ways = [opener, ...document.querySelectorAll("#state .row .button"), document.querySelector("h1")];
  const next = ways.find((one) => one && one !== document.body && one.checkVisibility());
  /** @type {HTMLElement} */ (next)?.focus();
}
