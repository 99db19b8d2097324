// The wallet check without a page, for a wallet's CI: node clients/wallet-link/check.mjs http://127.0.0.1:8000 -- COMMAND
// COMMAND starts the wallet. A line of its input is the address of a pairing, or what its user does with the next request:
// "refuse", "close" (the wallet, and come back) or "wait" (for 30 seconds). All others are approved. Without a command, the
// address is printed, and rows that need its user are not tried. Prints the report as text, with --json as JSON. The
// status is 1 if a row is wrong or failed.
import { spawn } from "node:child_process";
import { parseArgs } from "node:util";
import { WalletLink } from "../../marketplace/storefront/static/wallet-link.js";
import { makeReport, runCheck, writeText } from "../../marketplace/demo/static/wallet-check.js";

const { values, positionals: [address, ...command] } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean" } },
});
if (!address || !globalThis.WebSocket) {
  console.error(address ? "Needs Node.js 22.7 or newer" : "node check.mjs http://127.0.0.1:8000 [--json] [-- COMMAND]");
  process.exit(2);
}

/** What a page of the sandbox says in its <meta> elements: the token, and where the API and the relay are. */
async function readPage(url) {
  const page = await (await fetch(url)).text();
  return (name) => new RegExp(`<meta name="market-${name}" content="([^"]*)">`).exec(page)?.[1] ?? "";
}

function openMarket(url, meta) {
  const call = async (path, body) => {
    const headers = { Authorization: `Bearer ${meta("token")}`, "Content-Type": "application/json" };
    const response = await fetch(new URL(path, url), { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
    const data = await response.json();
    return { ok: response.ok, status: response.status, data, message: data.message ?? response.statusText };
  };
  return { wallet: meta("wallet"), api: (path, body) => call(meta("api") + path, body), sandbox: (path, body) => call(meta("sandbox") + path, body) };
}

const meta = await readPage(address);
const kept = new Map();
const storage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) };
const metadata = { name: "Wallet check", description: "What a market asks of a wallet", url: address, icons: [] };
const chains = ["hedera:testnet", "hedera:devnet", "hedera:previewnet", "hedera:mainnet"];
const link = new WalletLink({ relayUrl: meta("relay"), metadata, chains, storage });
const wallet = command.length > 0 ? spawn(command[0], command.slice(1), { stdio: ["pipe", "ignore", "inherit"] }) : null;
wallet?.on("exit", (status) => {
  console.error(`The wallet ended with status ${status}`);
  process.exit(2);
});
const say = (line) => (wallet ? wallet.stdin.write(`${line}\n`) : line.startsWith("wc:") && console.log(line));
const user = {
  async tell(words, step) {
    if (words && wallet) say(step);
    return !words || Boolean(wallet);
  },
  ask: async () => null,
};
await link.connect(say);
const results = await runCheck({ link, market: openMarket(address, meta), user, onRow: ({ title, result }) => console.error(`${result}: ${title}`) });
const report = makeReport(link.session, results);
console.log(values.json ? JSON.stringify(report, null, 2) : writeText(report));
await link.disconnect();
wallet?.removeAllListeners("exit").kill();
process.exit(report.summary.wrong + report.summary.failed > 0 ? 1 : 0);
