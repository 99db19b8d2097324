// What you own, as links that choose what to list. They are shown if nothing is chosen yet.

import { accountPage, api, listingPage, withQuery } from "./addresses.js";
import { get } from "./call.js";
import { element, words } from "./element.js";
import { thumbnail } from "./picture.js";
import { onYou, you } from "./you.js";

const root = document.getElementById("owned");
const AT_MOST = 12;

async function show() {
  const account = you();
  const answer = await get(withQuery(api("/user/{account}/nfts", { account }), { limit: AT_MOST }));
  if (account !== you()) return;
  const choices = (answer.ok ? answer.data : []).map(({ token, serialNo, ...nft }) =>
    choice(listingPage({ account, token, serial_no: serialNo }), thumbnail(nft), words(nft.name)),
  );
  const all = answer.next ? choice(accountPage(account), "All that you own") : "";
  root.querySelector("ul").replaceChildren(...choices, all);
  root.hidden = !choices.length;
}

const choice = (href, ...said) => element("li", {}, element("a", { href }, ...said));

if (root) {
  onYou(show);
  show();
}
