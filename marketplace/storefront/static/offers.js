// An account's offers: read again when one may have been made or have ended, anywhere.

import { Feed } from "./feed.js";
import { readPage, show } from "./fragments.js";

const KINDS = ["OFFERED", "OFFER_WITHDRAWN", "OFFER_EXPIRED", "OFFER_FAILED", "OFFER_NOT_EXECUTED", "SOLD", "TRANSFERRED", "BURNED", "HIDDEN", "SHOWN"];
const { cursor } = document.getElementById("account").dataset;

async function refresh() {
  const page = await readPage(location.href).catch(() => null);
  if (page) show(page); // otherwise the next event tries again
}

if (cursor && cursor !== "None") new Feed(cursor, refresh, () => location.reload(), { kind: KINDS });
