// The code to copy, about the transaction that was just prepared.

import { addCopy } from "../code.js";
import { stringify } from "../call.js";

const blocks = [...document.querySelectorAll("[data-snippet]")].map((block) => {
  const code = block.querySelector("code");
  addCopy(block, `the code for ${block.parentElement.querySelector("summary").textContent}`);
  return { code, template: code.textContent };
});

export function fillSnippets(prepared) {
  for (const { code, template } of blocks) {
    code.textContent = template
      .replace("PREPARED", () => stringify(prepared, 2))
      .replace("BYTE_ARRAY", () => prepared.byteArray);
  }
}
