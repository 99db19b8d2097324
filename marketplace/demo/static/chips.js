// Collections as chips, by name: each shows how many of its NFTs are for sale.

import { api, collectionPage, collectionsPage, galleryPage, withQuery } from "./addresses.js";
import { get } from "./call.js";
import { element } from "./element.js";
import { wanted } from "./filter.js";
import { showCall } from "./shelf.js";

const CHIPS = 8;

/** A collection's record, or null if it is not stored. */
export async function readCollection(token) {
  const answer = await get(api("/collection/{token}", { token }));
  showCall(answer);
  return answer.ok ? answer.data : null;
}

/** Show the collections that are bought most, and the chosen one. */
export async function showCollections(chosen) {
  const answer = await get(withQuery(api("/collections"), { limit: CHIPS }));
  showCall(answer);
  const collections = answer.ok ? answer.data.filter(({ listed }) => listed) : [];
  if (chosen && collections.every(({ token }) => token !== chosen.token)) collections.push(chosen);
  collections.sort((left, right) => name(left).localeCompare(name(right)));
  const chips = collections.map((collection) => chip(collection, collection.token === chosen?.token));
  const all = element("li", {}, element("a", { class: "chip", href: collectionsPage() }, "All collections"));
  document.getElementById("collections").append(...chips, all);
  if (chosen) document.getElementById("count").after(about(chosen));
}

const name = (collection) => collection.name || collection.token;

function chip(collection, isChosen) {
  const href = galleryPage({ ...wanted, collection: collection.token });
  const words = element("bdi", { class: "clipped" }, name(collection));
  const number = element("span", { class: "number" }, collection.listed);
  return element("li", {}, element("a", { class: "chip", href, "aria-current": isChosen && "true" }, words, number));
}

function about(collection) {
  const words = element("bdi", { class: "clipped" }, name(collection));
  return element("p", { class: "about" }, "The collection: ", element("a", { href: collectionPage(collection.token) }, words));
}
