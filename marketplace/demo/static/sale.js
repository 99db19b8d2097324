// Who pays what in a sale: the price, the marketplace's fee, the royalties, the network's fee.

import { feeBasisPoints, galleryPage, marketplace } from "./addresses.js";
import { tinybars } from "./amount.js";
import { element } from "./element.js";

const TINYBARS = 100_000_000n;
const percent = new Intl.NumberFormat("en", { maximumFractionDigits: 4 });

export const account = (id) => element("a", { href: galleryPage({ account: id }) }, id);

/** "5 % to 0.0.1000, 2 HBAR when nothing is paid": one royalty, as the API tells it. */
export function royaltyWords({ accountId, numerator, denominator, fallbackFee }) {
  const share = `${percent.format((100 * Number(numerator)) / Number(denominator))} % to ${accountId}`;
  if (!fallbackFee) return share;
  const { amount, token } = fallbackFee;
  return `${share}, ${token ? `${amount} of ${token}` : tinybars(amount)} when nothing is paid`;
}

/** [{ who, role, gets }] in tinybars, what is paid below 0: as the network and the marketplace round. */
export function shares(price, royalties, seller) {
  const paid = BigInt(price) * TINYBARS;
  const fee = (paid * BigInt(feeBasisPoints)) / 10_000n;
  // A royalty is a part of what the NFT's owner gets, and never of the owner's own.
  const due = royalties
    .filter(({ accountId }) => accountId !== seller)
    .map(({ accountId, numerator, denominator }) => ({
      who: accountId,
      role: "Royalty",
      gets: ((paid - fee) * BigInt(numerator)) / BigInt(denominator),
    }));
  const left = due.reduce((rest, { gets }) => rest - gets, paid - fee);
  return [
    { who: null, role: "Buyer", gets: -paid },
    { who: seller, role: "Seller", gets: left },
    ...due,
    { who: marketplace, role: "Marketplace", gets: fee },
  ];
}

/** Show it in a <details>: open where there is room. The seller may not be known. */
export function showSale(shown, price, royalties, { seller = null, title = null } = {}) {
  if (shown.hidden) shown.open = matchMedia("(min-width: 56rem)").matches;
  shown.hidden = false;
  const said = title && element("p", { class: "hint" }, title);
  shown.querySelector("div").replaceChildren(...[said, ...saleTable(price, royalties ?? [], seller)].filter(Boolean));
}

function saleTable(price, royalties, seller) {
  const rows = shares(price, royalties, seller).map(({ who, role, gets }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, role, " ", who && element("span", { class: "who" }, account(who))),
      element("td", {}, gets < 0n ? `pays ${tinybars(-gets)}` : `gets ${tinybars(gets)}`),
    ),
  );
  return [
    element("table", { class: "shares" }, element("tbody", {}, rows)),
    element("p", { class: "hint" }, "The network's own fee is paid by the marketplace, not by buyer or seller."),
  ];
}
