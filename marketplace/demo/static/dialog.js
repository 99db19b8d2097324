// Dialogs that the page's address opens: #buying opens the one with that id, and Back closes it.

const dialogs = [...document.querySelectorAll("dialog")];
/** @type {HTMLElement | null} */
let opener = null; // has the focus again when the dialog is closed

/**
 * Follow the address: begin(id) prepares the dialog that it names, and returns whether it may open.
 * @param {(id: string) => Promise<boolean>} begin
 */
export function followAddress(begin) {
  const follow = async () => {
    for (const dialog of dialogs) {
      const isNamed = () => location.hash === `#${dialog.id}`;
      if (!isNamed()) dialog.close();
      else if (!dialog.open) {
        opener = /** @type {HTMLElement} */ (document.activeElement);
        if ((await begin(dialog.id)) && isNamed() && !dialog.open) dialog.showModal();
      }
    }
  };
  addEventListener("hashchange", follow);
  return follow();
}

for (const dialog of dialogs) {
  dialog.addEventListener("close", () => {
    if (location.hash === `#${dialog.id}`) history.replaceState(history.state, "", location.pathname + location.search);
    returnFocus();
  });
}

/** To what has opened the dialog or, if that is gone, to what can be done next. */
function returnFocus() {
  const ways = [opener, ...document.querySelectorAll("#state .row .button"), document.querySelector("h1")];
  const next = ways.find((one) => one && one !== document.body && one.checkVisibility());
  /** @type {HTMLElement} */ (next)?.focus();
}
