// The link to the visitor's own wallet. It is loaded when it is needed: pages whose visitor has no wallet do without.

import { isSandbox, network, project, relay } from "../addresses.js";
import { remember, sharedAccounts } from "../memory.js";

const METADATA = { name: document.querySelector(".brand span").textContent, description: isSandbox ? "An NFT market in a sandbox" : "An NFT shop", url: location.origin, icons: [] };
// In the sandbox: wallets under development know some of the networks, and the account's own is used for what it signs.
const CHAINS = isSandbox ? ["hedera:testnet", "hedera:devnet", "hedera:previewnet", "hedera:mainnet"] : [`hedera:${network}`];

/** @typedef {{ id: number, method: string, params: any, milliseconds?: number, result?: any, error?: any }} Exchange a request to the wallet, and its answer */

/** @type {Promise<any> | undefined} */
let opening; // of the link: clients/wallet-link/src/wallet-link.js

/** The account that the connected wallet signs for, or null. */
export const walletAccount = () => sharedAccounts()[0] ?? null;

/** Whether the connected wallet shares an account. */
export const isShared = (id) => sharedAccounts().includes(id);

/** The link, with the session that the browser remembers, if there is one. */
export function openLink() {
  opening ??= load();
  return opening;
}

/** @type {Exchange[]} */
export const exchanges = []; // of this page, the newest last

async function load() {
  const { WalletLink } = await import("../wallet-link.js");
  const link = new WalletLink({ relayUrl: relay, metadata: METADATA, chains: CHAINS, projectId: project || undefined });
  const keep = () => {
    remember("wallets", link.session?.accounts.map(({ accountId }) => accountId).join(",") ?? null);
    document.dispatchEvent(new Event("wallet"));
  };
  link.addEventListener("session", keep);
  link.addEventListener("exchange", (/** @type {CustomEvent} */ { detail }) => {
    const known = exchanges.findIndex(({ id }) => id === detail.id);
    if (known < 0) exchanges.push(detail);
    else exchanges[known] = detail;
    document.dispatchEvent(new Event("exchange"));
  });
  keep(); // the session may have ended since
  return link;
}
