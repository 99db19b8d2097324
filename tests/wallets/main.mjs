// Runs every row of docs/wallets.md: node main.mjs '{"url", "token"}'. Writes a line of JSON for each:
// {row, kind, outcome}, where the outcome is the ledger's code, or the error of the library.
import { RelaySocket, startRelay, stopRelay } from "./relay.mjs";
import { KINDS, Market, Trade } from "./market.mjs";

await startRelay();
globalThis.WebSocket = RelaySocket;
const { fetch: fetchOverNetwork } = globalThis;
const { url, token, only, kinds = KINDS } = JSON.parse(process.argv[2]);
globalThis.fetch = (address, options) => {
  // What these libraries tell their makers, they tell nobody here.
  if (!`${address.url ?? address}`.startsWith(url)) return Promise.reject(new Error("no network"));
  return fetchOverNetwork(address, options);
};

const { openHashConnect, openWalletConnect } = await import("./wallets.mjs");
const { pairHashConnect0, pairHashConnect3, pairWalletConnect } = await import("./dapps.mjs");
const rows = await import("./rows.mjs");

const market = new Market({ url, token });
const trades = Array.from({ length: 60 }, (_, number) => new Trade(market, number));
const accounts = trades.flatMap(({ seller, buyer }) => [seller, buyer]);
const first = await openHashConnect(market, accounts);
const wallet = await openWalletConnect(market, accounts);
const acts = {
  ...rows.hashconnect0(await pairHashConnect0(first)),
  ...rows.hashconnect3(await pairHashConnect3(wallet)),
  ...rows.walletConnect(await pairWalletConnect(wallet)),
  ...rows.sdks,
};

async function run(trade, act, kind) {
  const prepared = await trade.prepare(kind);
  try {
    const signed = await act(prepared);
    if (signed) await market.submit(signed);
  } catch (error) {
    if (!market.last) return `${error?.message ?? error}`;
  }
  if (!market.last) return "nothing was submitted";
  return market.last.result === "SUCCESS" ? trade.report(prepared) : market.last.result;
}

for (const [number, [row, act]] of Object.entries(acts).entries()) {
  if (only && !row.includes(only)) continue;
  await trades[number].begin();
  for (const kind of kinds) {
    const outcome = await run(trades[number], act, kind).catch((error) => `here: ${error.stack}`);
    console.log(JSON.stringify({ row, kind, outcome }));
  }
}
stopRelay();
process.exit();
