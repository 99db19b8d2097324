// The traits of a collection as a filter, each with how many there are; and how rare the traits of an NFT are.

import { api, collectionPage } from "./addresses.js";
import { get } from "./call.js";
import { element, fields, words } from "./element.js";
import { attributes } from "./picture.js";

const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
const term = ({ trait_type, value }) => `${trait_type}:${value}`;

/** The traits that the address asks for: "Palette:Ember". */
export const wantedTraits = new URLSearchParams(location.search).getAll("trait");

/** Show them in the filter, each value with how many of it are for sale; returns the call that was made. */
export async function showTraits(shown, token) {
  const answer = await get(api("/collection/{token}/traits", { token }));
  shown.replaceChildren(...(answer.ok ? answer.data.map(group) : []));
  // A choice applies the filter immediately.
  shown.addEventListener("change", ({ target }) => target.form.requestSubmit());
  return answer;
}

function group({ trait_type, values }) {
  const boxes = values.map(({ value, listed }) => box(term({ trait_type, value }), value, listed));
  const isChosen = values.some(({ value }) => wantedTraits.includes(term({ trait_type, value })));
  const [first, ...rest] = [element("summary", {}, words(trait_type)), ...boxes];
  return element("details", { class: "trait", open: isChosen }, first, element("div", {}, rest));
}

function box(name, value, listed) {
  const input = element("input", { type: "checkbox", name: "trait", value: name, checked: wantedTraits.includes(name) });
  return element("label", {}, input, words(value), element("span", { class: "number" }, listed));
}

/** Show the chosen traits, each with a link that removes it. */
export function showChosen(shown, token) {
  const chips = wantedTraits.map((name) => {
    const others = new URLSearchParams(location.search);
    others.delete("trait", name);
    const href = others.size ? `${collectionPage(token)}?${others}` : collectionPage(token);
    const said = element("bdi", { class: "clipped" }, name.replace(":", ": "));
    return element("li", {}, element("a", { class: "chip", href, "aria-label": `Without ${name}` }, said, element("span", { class: "number" }, "✕")));
  });
  shown.replaceChildren(...chips);
}

/** An NFT's attributes as boxes. `rarity` is the API's answer about its traits, or null. */
export function traitBoxes(nft, rarity) {
  const shares = new Map(rarity?.traits.map((trait) => [term(trait), trait]));
  const boxes = attributes(nft).map((trait) => {
    const known = shares.get(term(trait));
    const href = `${collectionPage(nft.token)}?${new URLSearchParams({ trait: term(trait) })}`;
    const value = known ? element("a", { href }, words(trait.value)) : words(trait.value);
    const share = known && element("span", { class: "share" }, `${percent.format(known.share)} have it`);
    return [words(trait.trait_type), element("div", {}, value, share)];
  });
  return element("dl", { class: "traits" }, fields(boxes));
}
