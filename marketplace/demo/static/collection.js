// A collection's page: its avatar and story, its figures, the shares of a sale, and its NFTs for sale.

import { api, listingPage, withQuery } from "./addresses.js";
import { hbar } from "./amount.js";
import { stayInPlace } from "./arrangement.js";
import { get } from "./call.js";
import { timeAgo } from "./date.js";
import { dollars } from "./dollars.js";
import { element, fields, notice, words } from "./element.js";
import { forSale, priceRange, wanted } from "./filter.js";
import { picture, thumbnail } from "./picture.js";
import { account, fixedFeeWords, royaltyWords, showSale } from "./sale.js";
import { Shelf, showCall } from "./shelf.js";
import { readStory } from "./story.js";
import { showChosen, showTraits, wantedTraits } from "./traits.js";

const place = (id) => document.getElementById(id);
const { token } = place("collection").dataset;
const { minPrice, maxPrice, sort } = wanted;
const range = [wantedTraits.length && "with these traits", priceRange(wanted)].filter(Boolean).join(", ");
let listed = null;

const shelf = new Shelf({
  tell: (shown, more) => {
    if (!more) return forSale(shown, range);
    return listed && !range ? `${shown} of ${forSale(listed)}` : `The first ${forSale(shown, range)}; more follow`;
  },
  empty: () => [
    element("h2", {}, "Nothing of it is for sale"),
    range && element("p", {}, `Nothing ${range} is listed right now.`),
    element("a", { class: "button", href: listingPage({ token }) }, "List an NFT"),
  ],
});

async function show() {
  const answer = await get(api("/collection/{token}", { token }));
  if (answer.ok) describe(answer.data);
  else if (answer.status !== 422) place("figures").replaceWith(notice("wait", answer.message));
  showChosen(place("chosen"), token);
  stayInPlace();
  const asked = { tokenId: token, minPrice, maxPrice, sort, trait: wantedTraits };
  const [strip] = await Promise.all([showStrip(), shelf.open(withQuery(api("/orderbook"), asked))]);
  stayInPlace();
  showCall(answer);
  showCall(strip);
  if (answer.ok) await tell();
  stayInPlace();
}

/** Show its newest NFTs for sale, whatever the filter is; returns the call that was made. */
async function showStrip() {
  const answer = await get(withQuery(api("/orderbook"), { tokenId: token, limit: 12 }));
  // Only those whose images have been read: a row of placeholders says nothing.
  const pieces = answer.ok ? answer.data.filter((nft) => nft.originalImageUrl).slice(0, 5) : [];
  place("strip").replaceChildren(...pieces.map((nft) => picture(nft, { eager: true })));
  place("strip").hidden = pieces.length < 3; // cut to a strip, one or two show nothing
  return answer;
}

/** Show what else is known of it: an avatar, a story, and the traits for the filter. */
async function tell() {
  const [found, { story, source, calls }, traits] = await Promise.all([
    get(withQuery(api("/collections"), { q: token })),
    readStory(token),
    showTraits(place("traits"), token),
  ]);
  const imageUrl = found.data?.find((one) => one.token === token)?.imageUrl;
  place("avatar").replaceChildren(...(imageUrl ? [thumbnail({ imageUrl })] : []));
  if (story) place("story").replaceChildren(words(story), element("span", { class: "hint" }, source));
  for (const made of [found, ...calls, traits]) showCall(made);
}

function describe(collection) {
  listed = collection.listed;
  const name = collection.name || token;
  document.title = document.title.replace(/^.* · /, () => `${name} · `);
  place("name").replaceChildren(words(name));
  if (collection.symbol) place("symbol").append(" · ", element("bdi", { class: "clipped" }, collection.symbol));
  place("figures").replaceChildren(...fields(figures(collection)));
  if (collection.royalties) showSale(place("cost"), collection);
}

function figures({ floorPrice, totalSupply, treasury, royalties, fixedFees, ...sold }) {
  return [
    ["Floor", floorPrice === null ? "Nothing listed" : element("span", {}, hbar(floorPrice), " ", dollars(floorPrice))],
    ["Listed", `${listed}`],
    ...sales(sold),
    ["Supply", totalSupply ?? "Not known yet"],
    ["Treasury", treasury?.accountId ? account(treasury.accountId) : "Not known yet"],
    ["Royalties", royalties === null ? "Not known yet" : royalties.map(royaltyWords).join("; ") || "None"],
    ["Fixed fees of a sale", fixedFees?.map(fixedFeeWords).join("; ") || null],
  ];
}

/** What was sold through this marketplace. */
function sales({ sales, volume, sales24h, volume24h, lastSale }) {
  if (!sales) return [["Sales", "None yet"]];
  return [
    ["Sales", `${sales}`],
    ["Volume", hbar(volume)],
    ["Last 24 hours", sales24h ? `${hbar(volume24h)}, ${sales24h} ${sales24h === 1 ? "sale" : "sales"}` : "No sale"],
    ["Last sale", element("span", {}, hbar(lastSale.price), ", ", timeAgo(lastSale.date))],
  ];
}

show();
