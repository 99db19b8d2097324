// A switch for more and smaller pictures. The choice is remembered.

import { recall, remember } from "./memory.js";

const button = document.getElementById("dense");

export function watchDensity(gallery) {
  const show = (isDense) => {
    gallery.classList.toggle("dense", isDense);
    button.setAttribute("aria-checked", isDense);
  };
  show(recall("dense") === "yes");
  button.addEventListener("click", () => {
    const isDense = button.getAttribute("aria-checked") !== "true";
    remember("dense", isDense ? "yes" : "no");
    show(isDense);
  });
}
