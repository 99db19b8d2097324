// The gallery: the order book, page after page as its Link headers lead.

import { api, galleryPage, listingPage } from "./addresses.js";
import { get } from "./call.js";
import { card } from "./card.js";
import { element, notice } from "./element.js";
import { exchange } from "./exchange.js";

const gallery = document.getElementById("gallery");
const count = document.getElementById("count");
const more = document.getElementById("more");
const calls = document.getElementById("calls");
const filter = new URLSearchParams(location.search);
const [collection, account] = [filter.get("collection")?.trim(), filter.get("account")?.trim()];

/** The first page. A collection comes whole, so that an account's part of it is found here. */
function firstPage() {
  if (collection) return api("/nftslisted/{collection}", { collection });
  if (account) return api("/user/{account}/listed", { account });
  return api("/orderbook");
}

async function show(url) {
  gallery.setAttribute("aria-busy", "true");
  const answer = await get(url);
  gallery.setAttribute("aria-busy", "false");
  for (const skeleton of gallery.querySelectorAll(".skeleton")) skeleton.remove();
  calls.prepend(exchange(answer, { open: false }));
  more.replaceChildren();
  if (!answer.ok) return showError(answer, url);
  const isWanted = ({ owner }) => !collection || !account || owner.accountId === account;
  const shown = gallery.children.length;
  gallery.append(...answer.data.filter(isWanted).map((nft, i) => card(nft, { eager: shown + i < 8 })));
  tell(answer.next);
  if (answer.next) {
    const button = element("button", { class: "button quiet", type: "button" }, "Show more");
    button.addEventListener("click", () => showMore(answer.next, button));
    more.append(button);
  }
}

/** The next page; whoever asked with the keyboard goes on at its first card. */
async function showMore(url, button) {
  if (button.getAttribute("aria-busy")) return;
  button.setAttribute("aria-busy", "true");
  const before = gallery.children.length;
  await show(url);
  gallery.children[before]?.querySelector("a").focus({ preventScroll: true });
}

function tell(next) {
  const shown = gallery.children.length;
  const where = [collection && `of collection ${collection}`, account && `owned by ${account}`];
  const which = where.filter(Boolean).join(", ");
  count.textContent = `${shown} for sale ${which}${next ? ", and more below" : ""}`.replace(/ (,|$)/, "$1");
  if (shown) return;
  count.textContent = "";
  more.append(
    element(
      "div",
      { class: "empty" },
      element("h2", {}, "Nothing is for sale here"),
      element("p", {}, which ? `Nothing ${which} is listed right now.` : "The order book is empty."),
      element(
        "p",
        { class: "row" },
        element("a", { class: "button", href: listingPage() }, "List an NFT"),
        which ? element("a", { class: "button quiet", href: galleryPage() }, "Show everything") : null,
      ),
    ),
  );
}

function showError(answer, url) {
  count.textContent = "";
  // What was refused is refused again.
  const mayPass = !(answer.status >= 400 && answer.status < 500);
  const again = mayPass && element("button", { class: "button quiet", type: "button" }, "Try again");
  if (again) again.addEventListener("click", () => show(url));
  const box = element("div", { class: "empty", role: "alert" }, notice("bad", answer.message), again);
  more.append(box);
}

// Empty fields stay out of the address.
document.getElementById("filter").addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) {
    if (value.trim()) formData.set(name, value.trim());
    else formData.delete(name);
  }
});

show(firstPage());
