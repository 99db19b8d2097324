// A shelf: NFTs for sale as cards, page after page as the Link headers lead, and the same place again after Back.

import { get } from "./call.js";
import { card } from "./card.js";
import { watchDensity } from "./density.js";
import { element, notice } from "./element.js";
import { exchange } from "./exchange.js";
import { showWrong } from "./filter.js";
import { keepPlace, keptPlace, returnTo, watchPlace } from "./place.js";

const gallery = document.getElementById("gallery");
const count = document.getElementById("count");
const more = document.getElementById("more");
const calls = document.getElementById("calls");

/** Show among the calls of this page one that was made beside the shelf. */
export const showCall = (made) => calls.append(exchange(made, { open: false }));

export class Shelf {
  /**
   * read(url) returns what get() does; draw(one) makes its card; tell(shown, more) says how many there are, as text or
   * nodes; empty() returns what to show if there are none.
   */
  constructor({ read = get, draw = card, tell, empty }) {
    Object.assign(this, { read, draw, tell, empty, pages: 0 });
    watchDensity(gallery);
  }

  /** Show the first page, and as many more as there were when this page was left; returns the first answer. */
  async open(url) {
    const past = keptPlace();
    const first = await this.add(url);
    while (this.next && this.pages < past.pages) await this.add(this.next);
    returnTo(past);
    if (!this.isWatched) watchPlace(() => keepPlace(this.pages));
    this.isWatched = true;
    return first;
  }

  async add(url) {
    gallery.setAttribute("aria-busy", "true");
    const answer = await this.read(url);
    gallery.setAttribute("aria-busy", "false");
    for (const skeleton of gallery.querySelectorAll(".skeleton")) skeleton.remove();
    calls.prepend(exchange(answer, { open: false }));
    more.replaceChildren();
    this.next = answer.next;
    if (answer.ok) this.show(answer.data);
    else this.fail(answer, url);
    return answer;
  }

  show(nfts) {
    this.pages += 1;
    const shown = gallery.children.length;
    gallery.append(...nfts.map((nft, i) => this.draw(nft, { eager: shown + i < 8 })));
    const total = gallery.children.length;
    count.replaceChildren(...[total ? this.tell(total, Boolean(this.next)) : ""].flat());
    if (!total) more.append(element("div", { class: "empty" }, ...this.empty()));
    if (this.next) more.append(this.button("Show more", (button) => this.extend(button)));
  }

  /** Show the next page, and move the keyboard's focus to its first card. */
  async extend(button) {
    if (button.getAttribute("aria-busy")) return;
    button.setAttribute("aria-busy", "true");
    const before = gallery.children.length;
    await this.add(this.next);
    gallery.children[before]?.querySelector(".caption a").focus({ preventScroll: true });
    keepPlace(this.pages);
  }

  fail(answer, url) {
    count.textContent = "";
    // A refused request would be refused again.
    const isRefused = answer.status >= 400 && answer.status < 500;
    const again = !isRefused && this.button("Try again", () => this.open(url));
    more.append(element("div", { class: "empty", role: "alert" }, notice("bad", answer.message), again));
    showWrong(answer);
  }

  button(label, act) {
    const button = element("button", { class: "button quiet", type: "button" }, label);
    button.addEventListener("click", () => act(button));
    return button;
  }
}
