// The history of an NFT: what happened to it here, newest first, beneath a picture of its prices.

import { api, withQuery } from "./addresses.js";
import { element } from "./element.js";
import { glyph, sentence, when } from "./event.js";
import { Events } from "./events.js";
import { priceFigure } from "./prices.js";

function row(event, earlier) {
  const what = element("p", { class: "what" }, ...sentence(event, earlier));
  return element("li", {}, glyph(event.kind), what, when(event, earlier));
}

/** The list in root, which is still to be read. For called(answer) and arrived(), see events.js. */
export function showHistory(root, token, serial, { called, arrived }) {
  const [figure, list] = [element("div"), element("div")];
  root.replaceChildren(figure, list);
  return new Events(list, {
    url: (query) => withQuery(api("/nft/{token}/{serial}/events", { token, serial }), query),
    row,
    empty: () => [element("p", {}, "Nothing has happened to it here yet.")],
    changed: (events) => figure.replaceChildren(...priceFigure(events.toReversed())),
    called,
    arrived,
  });
}
