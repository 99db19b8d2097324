// Runs every row of docs/wallets.md. Takes the service as JSON: {"url", "token", "node"}; node is its address for
// gRPC. Writes a line of JSON for each: {row, kind, outcome, isSubmitted, hasItsId}, where the outcome is the
// ledger's code, the reason of the service, or the error of the library where nothing was submitted. Then what is true of the bytes: {fact,
// trades, kind, ...}.
import { RelaySocket, startRelay, stopRelay } from "./relay.mjs";
import { Market, Trade } from "./market.mjs";

const KINDS = ["list", "withdraw", "buy", "offer"];
const SALES = KINDS.slice(0, 3); // of several NFTs, and what docs/wallets.md shows of the bytes
const { url, token, node, only = "" } = JSON.parse(process.argv[2]);
const { fetch: fetchOverNetwork } = globalThis;
globalThis.fetch = (address, options) =>
  // What these libraries tell their makers, they tell nobody here.
  `${address.url ?? address}`.startsWith(url)
    ? fetchOverNetwork(address, options)
    : Promise.reject(new Error("no network"));
await startRelay();
globalThis.WebSocket = RelaySocket;

const { openHashConnect, openWalletConnect } = await import("./wallets.mjs");
const { pairHashConnect0, pairHashConnect3, pairWalletConnect } = await import("./dapps.mjs");
const { facts, makeRows } = await import("./rows.mjs");

const market = new Market({ url, token });
const of = (keyType) => KINDS.map((kind) => new Trade(market, kind, keyType));
const trades = {
  ED25519: of("ED25519"),
  ECDSA: of("ECDSA"),
  unknown: of("ED25519"), // whose keys the ledger does not know
  // Twenty NFTs of one seller; a basket of eight, of two sellers and collections.
  several: [[20], [20], [4, 4]].map((sizes, kind) => new Trade(market, SALES[kind], "ED25519", sizes)),
};
for (const trade of trades.unknown) trade.isUnknown = true;
const all = Object.values(trades).flat();
const accounts = all.flatMap(({ accounts, market }) => accounts.map((account) => ({ ...account, market })));
const first = await openHashConnect(accounts);
const wallet = await openWalletConnect(accounts);
const rows = makeRows({
  hashconnect0: await pairHashConnect0(first),
  hashconnect3: await pairHashConnect3(wallet),
  connector: await pairWalletConnect(wallet),
  node,
});

function print(line) {
  console.log(JSON.stringify(line));
}

async function run(act, trade) {
  if (!trade.hasBegun) await trade.begin();
  const prepared = await trade.prepare();
  try {
    const signed = await act(prepared);
    if (signed?.result) trade.market.last = signed;
    else if (signed) await trade.handIn(signed);
  } catch (error) {
    if (!trade.market.last) return `${error?.message ?? error}`;
  }
  return trade.market.last ? trade.settle() : "nothing was submitted";
}

for (const [kind, name] of KINDS.entries())
  for (const [row, { act, trades: which = "ED25519", kinds = KINDS }] of Object.entries(rows)) {
    const trade = trades[which][kind];
    if (!row.includes(only) || !kinds.includes(name) || !trade) continue;
    const outcome = await run(act, trade).catch((error) => `in the test: ${error.stack}`);
    const { last } = trade.market;
    print({ row, kind: name, outcome, isSubmitted: !!last, hasItsId: last?.transactionId === trade.lastId });
  }
for (const which of ["ED25519", "several"])
  for (const [kind, name] of SALES.entries()) {
    const trade = trades[which][kind];
    if (!trade.hasBegun) await trade.begin();
    const prepared = await trade.prepare();
    for (const [fact, find] of Object.entries(facts))
      print({ fact, trades: which, kind: name, ...(await find(prepared)) });
  }
stopRelay();
process.exit();
