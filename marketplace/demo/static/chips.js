// The collections among the newest listings, as chips: each shows what of it is for sale.

import { api, collectionPage, galleryPage } from "./addresses.js";
import { get } from "./call.js";
import { element } from "./element.js";
import { wanted } from "./filter.js";
import { showCall } from "./shelf.js";

const CHIPS = 8;

/** Show the collections of an order book's answer, and the chosen one, by their names. */
export async function showCollections(orderbook, chosen) {
  const listed = orderbook.ok ? orderbook.data.map(({ token }) => token) : [];
  const tokens = [...new Set([chosen, ...listed])].filter(Boolean).slice(0, CHIPS);
  const answers = await Promise.all(tokens.map((token) => get(api("/collection/{token}", { token }))));
  const chips = answers.flatMap((answer, i) => {
    showCall(answer);
    return answer.ok || answer.status >= 500 ? [chip(tokens[i], answer.data, tokens[i] === chosen)] : [];
  });
  document.getElementById("collections").append(...chips);
  const one = answers[tokens.indexOf(chosen)];
  if (one?.ok) document.getElementById("count").after(about(one.data));
}

function chip(token, collection, isChosen) {
  return element(
    "li",
    {},
    element(
      "a",
      { class: "chip", href: galleryPage({ ...wanted, collection: token }), "aria-current": isChosen && "true" },
      element("bdi", { class: "clipped" }, collection?.name || token),
      collection && element("span", { class: "number" }, collection.listed),
    ),
  );
}

function about({ token, name }) {
  const link = element("a", { href: collectionPage(token) }, element("bdi", { class: "clipped" }, name || token));
  return element("p", { class: "about" }, "The collection: ", link);
}
