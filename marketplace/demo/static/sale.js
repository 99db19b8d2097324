// A sale's shares: the price, the marketplace's fee, the custom fees, the network's fee.

import { accountPage, feeBasisPoints, marketplace } from "./addresses.js";
import { tinybars } from "./amount.js";
import { element } from "./element.js";

const TINYBARS = 100_000_000n;
const percent = new Intl.NumberFormat("en", { maximumFractionDigits: 4 });

export const account = (id) => element("a", { href: accountPage(id) }, id);

/** "5 % to 0.0.1000, 2 HBAR when nothing is paid": one royalty, as the API tells it. */
export function royaltyWords({ accountId, numerator, denominator, fallbackFee }) {
  const share = `${percent.format((100 * Number(numerator)) / Number(denominator))} % to ${accountId}`;
  if (!fallbackFee) return share;
  return `${share}, ${feeAmount(fallbackFee)} when nothing is paid`;
}

const feeAmount = ({ amount, token }) => (token ? `${amount} of ${token}` : tinybars(amount));

/** "1 HBAR to 0.0.2002": one fixed fee, as the API has it. The seller pays it. */
export const fixedFeeWords = (fee) => `${feeAmount(fee)} to ${fee.accountId}`;

/** [{ who, role, gets }] in tinybars, what is paid below 0: as the network and the marketplace round. */
export function shares(price, { royalties, fixedFees }, seller) {
  const paid = BigInt(price) * TINYBARS;
  const fee = (paid * BigInt(feeBasisPoints)) / 10_000n;
  // A royalty is a part of what the NFT's owner gets. Owners pay no fee to themselves.
  const due = [
    ...royalties.map(({ accountId, numerator, denominator }) => ({
      who: accountId,
      role: "Royalty",
      gets: ((paid - fee) * BigInt(numerator)) / BigInt(denominator),
    })),
    ...(fixedFees ?? []).map(({ accountId, amount, token }) => ({
      who: accountId,
      role: "Fixed fee",
      gets: token ? 0n : BigInt(amount),
      units: token && `${amount} of ${token}, from the seller`,
    })),
  ].filter(({ who }) => who !== seller);
  const left = due.reduce((rest, { gets }) => rest - gets, paid - fee);
  return [
    { who: null, role: "Buyer", gets: -paid },
    { who: seller, role: "Seller", gets: left },
    ...due,
    { who: marketplace, role: "Marketplace", gets: fee },
  ];
}

/** Show it in a <details>: open where there is room. The seller may not be known. */
export function showSale(shown, price, fees, { seller = null, title = null } = {}) {
  if (shown.hidden) shown.open = matchMedia("(min-width: 56rem)").matches;
  shown.hidden = false;
  const said = title && element("p", { class: "hint" }, title);
  shown.querySelector("div").replaceChildren(...[said, ...saleTable(price, fees, seller)].filter(Boolean));
}

function saleTable(price, fees, seller) {
  const rows = shares(price, fees, seller).map(({ who, role, gets, units }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, role, " ", who && element("span", { class: "who" }, account(who))),
      element("td", {}, gets < 0n ? `pays ${tinybars(-gets)}` : `gets ${units ?? tinybars(gets)}`),
    ),
  );
  return [
    element("table", { class: "shares" }, element("tbody", {}, rows)),
    element("p", { class: "hint" }, "The network's own fee is paid by the marketplace, not by buyer or seller."),
  ];
}
