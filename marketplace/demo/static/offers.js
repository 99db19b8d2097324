// An account's offers: read again when one may have been made or have ended, anywhere.

import { Feed } from "./feed.js";
import { readPage, show } from "./fragments.js";
import { showUnsigned } from "./trading/unsigned.js";
import { onVisitor, visitor } from "./visitor.js";

const KINDS = ["OFFERED", "OFFER_WITHDRAWN", "OFFER_EXPIRED", "OFFER_FAILED", "SOLD", "TRANSFERRED", "BURNED", "HIDDEN", "SHOWN"];
const { account, cursor } = document.getElementById("account").dataset;
const place = document.querySelector("[data-unsigned]");

async function refresh() {
  const page = await readPage(location.href).catch(() => null);
  if (page) show(page); // otherwise the next event tries again
}

const showOwn = () => place && showUnsigned(place, () => visitor() === account);

if (cursor && cursor !== "None") new Feed(cursor, refresh, () => location.reload(), { kind: KINDS });
document.addEventListener("parts", showOwn);
onVisitor(showOwn);
showOwn();
