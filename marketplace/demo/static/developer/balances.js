// Balances of accounts on the ledger, before a transaction and after it.

import { accountPage, sandbox } from "../addresses.js";
import { bareTinybars } from "../amount.js";
import { get } from "../call.js";
import { element } from "../element.js";

/** Ask the ledger for balances of accounts; returns { calls, tinybars: { id: amount, or null if unknown } }. */
export async function readBalances(ids) {
  const calls = await Promise.all(ids.map((id) => get(sandbox("/api/v1/accounts/{id}", { id }))));
  const amounts = calls.map(({ data }) => data?.balance?.balance ?? null);
  return { calls, tinybars: Object.fromEntries(ids.map((id, i) => [id, amounts[i]])) };
}

/** The table of the balances, in HBAR. roles: words by account id. */
export function balanceTable(before, after, roles) {
  const head = ["Account", "Before", "After", "Change"].map((name) => element("th", { scope: "col" }, name));
  const rows = Object.keys(after).map((id) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, roles[id], " ", element("span", { class: "who" }, element("a", { href: accountPage(id) }, id))),
      element("td", {}, shown(before[id])),
      element("td", {}, shown(after[id])),
      element("td", { class: kind(before[id], after[id]) }, difference(before[id], after[id])),
    ),
  );
  const table = element("table", { class: "shares balances" }, element("thead", {}, element("tr", {}, head)));
  table.append(element("tbody", {}, rows));
  return table;
}

const shown = (amount) => (amount === null ? "Not known" : bareTinybars(amount));

function difference(before, after) {
  if (before === null || after === null) return "";
  const amount = BigInt(after) - BigInt(before);
  return `${amount > 0n ? "+" : ""}${bareTinybars(amount)}`;
}

function kind(before, after) {
  if (before === null || before === after) return null;
  return BigInt(after) > BigInt(before) ? "gain" : "loss";
}
