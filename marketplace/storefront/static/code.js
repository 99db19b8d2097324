// Code and ids, to read and to copy.

import { element } from "./element.js";

const SAID_MS = 2_000;

/** A block of code with a button that copies it. `what` names the code for screen readers. */
export function codeBlock(text, what) {
  const block = element("div", { class: "code" }, element("pre", {}, element("code", {}, text)));
  addCopy(block, what);
  return block;
}

/** Add the button to a block of code that is on the page. */
export function addCopy(block, what) {
  block.prepend(...copyButton("Copy", what, () => block.querySelector("code")));
}

/** The button, and its message for screen readers. */
function copyButton(words, what, code) {
  const said = element("span", { class: "visually-hidden", role: "status" });
  const label = element("span", { "aria-hidden": "true" }, words);
  const name = element("span", { class: "visually-hidden" }, `Copy ${what}`);
  const say = (sentence) => {
    said.textContent = label.textContent = sentence;
    setTimeout(() => {
      label.textContent = words;
      said.textContent = "";
    }, SAID_MS);
  };
  const onclick = async () => {
    try {
      await navigator.clipboard.writeText(code().textContent);
      say("Copied");
    } catch {
      getSelection().selectAllChildren(code().isConnected ? code() : label); // no clipboard outside https and this computer
      say("Selected: press Ctrl+C");
    }
  };
  return [element("button", { type: "button", class: "copy", title: `Copy ${what}`, onclick }, label, name), said];
}
