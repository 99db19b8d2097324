// Code to read and to copy.

import { element } from "./element.js";

/** A block of code with a button that copies it; what names it for those who can't see it. */
export function codeBlock(text, what) {
  const block = element("div", { class: "code" }, element("pre", {}, element("code", {}, text)));
  addCopy(block, what);
  return block;
}

/** Give a block of code that is on the page its button. */
export function addCopy(block, what) {
  const said = element("span", { class: "visually-hidden", role: "status" });
  const label = element("span", { "aria-hidden": "true" }, "Copy");
  const name = element("span", { class: "visually-hidden" }, `Copy ${what}`);
  const copy = async () => {
    const code = block.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      say("Copied");
    } catch {
      getSelection().selectAllChildren(code); // no clipboard outside https and this computer
      say("Selected: press Ctrl+C");
    }
  };
  const say = (words) => {
    said.textContent = label.textContent = words;
    setTimeout(() => {
      label.textContent = "Copy";
      said.textContent = "";
    }, 2000);
  };
  block.prepend(element("button", { type: "button", class: "copy", onclick: copy }, label, name), said);
}
