// The report of a wallet check, to put into an issue of the wallet: as text, and as JSON.

/** @param {import("../wallet-link.js").Session} session @param {import("./run.js").Result[]} results @param {string} [date] */
export function makeReport({ wallet, accounts }, results, date = new Date().toISOString()) {
  const count = (wanted) => results.filter(({ result }) => result === wanted).length;
  const summary = { right: count("right"), wrong: count("wrong"), notTried: count("not tried"), failed: count("failed") };
  return { check: "Hedera wallet check (HIP-820)", date, wallet, accounts, summary, rows: results };
}

/** @param {ReturnType<typeof makeReport>} report */
export function writeText({ check, date, wallet, accounts, summary, rows }) {
  const { right, wrong, notTried, failed } = summary;
  const head = [
    `${check}, ${date}`,
    `Wallet: ${wallet.name} ${wallet.url}`.trim(),
    `Accounts: ${accounts.map(({ chain, accountId }) => `${chain}:${accountId}`).join(", ")}`,
    `${right} right, ${wrong} wrong, ${notTried} not tried${failed ? `, ${failed} failed` : ""}`,
  ];
  const body = rows.flatMap(({ title, result, asked, answered, why }) => [
    "",
    `[${result.toUpperCase()}] ${title}`,
    `  Asked: ${asked}`,
    `  Came back: ${answered}`,
    ...(result === "wrong" ? [`  Why it matters: ${why}`] : []),
  ]);
  return [...head, ...body].join("\n");
}
