// A sentence at the bottom of the page, for some seconds.

import { element } from "./element.js";

const SAID_MS = 6_000;
const status = document.body.appendChild(element("p", { class: "toast", role: "status" }));
let timer;

export function toast(sentence) {
  // In front of an open dialog.
  (document.querySelector("dialog[open]") ?? document.body).append(status);
  status.textContent = sentence;
  clearTimeout(timer);
  timer = setTimeout(() => (status.textContent = ""), SAID_MS);
}

/** For a script that does not come when it is needed. */
export const sayUnloaded = () => toast("This can't be loaded. Reload the page to try again.");
