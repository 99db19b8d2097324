// The activity of the market, of a collection, or of an account: what happened, newest first.

import { activityPage, api, listingPage, nftPage, withQuery } from "./addresses.js";
import { stayInPlace } from "./arrangement.js";
import { get } from "./call.js";
import { element } from "./element.js";
import { glyph, sentence, when } from "./event.js";
import { Events } from "./events.js";
import { exchange } from "./exchange.js";
import { showWrong, wanted } from "./filter.js";
import { thumbnail } from "./picture.js";
import { readRecord } from "./record.js";

// The kinds of events for each word in the address. Without a word: what people did, not what the service read.
const KINDS = {
  sales: ["SOLD"],
  listings: ["LISTED", "PRICE_CHANGED", "WITHDRAWN"],
  moves: ["TRANSFERRED", "BURNED"],
};
const { collection: tokenId, account: accountId, kind } = wanted;
const kinds = kind ? (KINDS[kind] ?? kind) : Object.values(KINDS).flat();
const selection = { kind: kinds, tokenId, accountId };
const CALLS = 20; // shown at most: the page may be open for days
const place = (id) => document.getElementById(id);

const events = new Events(place("events"), {
  url: (query) => withQuery(api("/events"), { ...selection, ...query }),
  row,
  empty: () => [
    element("h2", {}, kind ? `No ${kind} yet` : "Nothing has happened yet"),
    element("p", {}, "What happens is shown here by itself, while this page is open."),
    element(
      "p",
      { class: "row" },
      element("a", { class: "button", href: listingPage() }, "List an NFT"),
      (kind || tokenId || accountId) && element("a", { class: "button quiet", href: activityPage() }, "Show everything"),
    ),
  ],
  called: showCall,
});

function showCall(answer) {
  place("calls").prepend(exchange(answer, { open: false }));
  place("calls").children[CALLS]?.remove();
}

function row(event) {
  const { token, serialNo } = event;
  const name = element("a", { href: nftPage(token, serialNo) }, `${token} #${serialNo}`);
  const picture = element("div", { class: "thumbnail" }, glyph(event.kind));
  readRecord(token, serialNo).then((nft) => {
    if (!nft) return;
    picture.prepend(thumbnail(nft));
    name.replaceChildren(element("bdi", { class: "clipped" }, nft.name));
  });
  return element(
    "li",
    { class: "event" },
    picture,
    element("p", { class: "of" }, name),
    element("p", { class: "what" }, ...sentence(event)),
    when(event),
  );
}

/** New events appear by themselves, until this button pauses them. */
function offerPause(button) {
  button.addEventListener("click", () => {
    const isLive = button.getAttribute("aria-checked") !== "true";
    button.setAttribute("aria-checked", isLive);
    events.feed.pause(!isLive);
  });
}

async function nameCollection() {
  const answer = await get(api("/collection/{tokenId}", { tokenId }));
  place("calls").append(exchange(answer, { open: false }));
  if (answer.data?.name) place("about").replaceChildren(element("bdi", { class: "clipped" }, answer.data.name));
}

offerPause(place("live"));
showWrong(await events.begin());
stayInPlace();
if (tokenId) await nameCollection();
