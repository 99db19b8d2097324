// Folds that stay as they were left, on every page: <details data-fold="developer">.

import { recall, remember } from "./memory.js";

for (const fold of document.querySelectorAll("details[data-fold]")) {
  const key = `fold-${fold.dataset.fold}`;
  fold.open = recall(key) === "open";
  fold.addEventListener("toggle", () => remember(key, fold.open ? "open" : "closed"));
}
