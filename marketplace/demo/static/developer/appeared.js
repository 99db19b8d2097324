// What was listed, as the order book shows it.

import { api, galleryPage, nftPage } from "../addresses.js";
import { get } from "../call.js";
import { element } from "../element.js";
import { part, readPage } from "../fragments.js";

export async function showAppeared(step, { tokenId, serialNo, serialNos = [serialNo] }) {
  const [orderbook, market] = await Promise.all([
    get(`${api("/orderbook")}?limit=${serialNos.length}`),
    readPage(galleryPage()).catch(() => null),
  ]);
  step.show(orderbook);
  const cards = serialNos.map((one) => market && part("cards", market).querySelector(`[data-key="${tokenId}/${one}"]`));
  document.getElementById("appeared").replaceChildren(...cards.filter(Boolean).map((card) => document.adoptNode(card)));
  const link = (words, address) => element("a", { href: address }, words);
  const page = nftPage(tokenId, serialNos[0]);
  step.succeed("See it among ", link("all for sale", galleryPage()), ", on ", link("its page", page), ", or ", link("cancel the listing", `${page}#withdrawal`), ".");
}
