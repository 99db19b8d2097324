// A sale's shares: the price, the marketplace's fee, the custom fees, the network's fee.

import { accountPage, feeBasisPoints, marketplace } from "./addresses.js";
import { inTinybars, tinybars } from "./amount.js";
import { element } from "./element.js";

const percent = new Intl.NumberFormat("en", { maximumFractionDigits: 4 });

export const account = (id) => element("a", { href: accountPage(id) }, id);

/** "5 % to 0.0.1000, or 2 HBAR if it is given away": one royalty, as the API returns it. */
export function royaltyWords({ accountId, numerator, denominator, fallbackFee }) {
  const share = `${percent.format((100 * Number(numerator)) / Number(denominator))} % to ${accountId}`;
  if (!fallbackFee) return share;
  return `${share}, or ${feeAmount(fallbackFee)} if it is given away`;
}

const feeAmount = ({ amount, token }) => (token ? `${amount} of ${token}` : tinybars(amount));

/** "1 HBAR to 0.0.2002": one fixed fee, as the API returns it. The seller pays it. */
export const fixedFeeWords = (fee) => `${feeAmount(fee)} to ${fee.accountId}`;

/** [{ who, role, gets }] in tinybars, below 0 for what is paid. Rounded as the network and the marketplace do. number: of NFTs. */
export function shares(price, { royalties, fixedFees }, { seller, buyer = null, number = 1 }) {
  const paid = inTinybars(price);
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
      gets: token ? 0n : BigInt(amount) * BigInt(number),
      units: token && `${BigInt(amount) * BigInt(number)} of ${token}, from the seller`,
    })),
  ].filter(({ who }) => who !== seller);
  const left = due.reduce((rest, { gets }) => rest - gets, paid - fee);
  return [
    { who: buyer, role: "Buyer", gets: -paid },
    { who: seller, role: "Seller", gets: left },
    ...due,
    { who: marketplace, role: "Marketplace", gets: fee },
  ];
}

/**
 * Show the shares in a <details>, open on a wide screen. Without a price, it is the floor price, or 100 HBAR; the
 * seller may not be known.
 */
export function showSale(shown, fees, { price = null, seller = null } = {}) {
  if (shown.hidden) shown.open = matchMedia("(min-width: 56rem)").matches;
  shown.hidden = false;
  const { floorPrice } = fees;
  const title = !price && hint(floorPrice ? "At the floor price:" : "At a price of 100 HBAR:");
  const table = shareTable(shares(price ?? floorPrice ?? 100, fees, { seller }));
  shown.querySelector("div").replaceChildren(...[title, table, ...NETWORK_FEE.map(hint)].filter(Boolean));
}

const hint = (text) => element("p", { class: "hint" }, text);

const NETWORK_FEE = [
  "The marketplace pays the network's own fee of a purchase.",
  "The owner pays that of a listing, a new price or a withdrawal: about 0.5 HBAR each.",
];

/** Who pays and who gets what, as a table. */
export function shareTable(parts) {
  const rows = parts.map(({ who, role, gets, units }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, role, " ", who && element("span", { class: "who" }, account(who))),
      element("td", {}, gets < 0n ? `pays ${tinybars(-gets)}` : `gets ${units ?? tinybars(gets)}`),
    ),
  );
  return element("table", { class: "shares" }, element("tbody", {}, rows));
}
