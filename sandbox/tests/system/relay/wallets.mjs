// Wallets made of WalletConnect's own libraries. answer(request) returns the result of a request, or throws {code, message, data};
// admit() returns whether a page may connect.
import { WalletKit } from "@reown/walletkit";
import { Core } from "@walletconnect/core";
import { SignClient as SignClient211 } from "sign-client-2.11";

const metadata = { name: "Test", description: "A test", url: "https://test.example", icons: [] };
let clients = 0;

export const options = (relayUrl) => ({
  customStoragePrefix: `client-${(clients += 1)}`, // with the same one, two would be one
  projectId: "test", relayUrl, metadata, logger: "silent", telemetryEnabled: false,
  storageOptions: { database: ":memory:" },
});

const respond = async (answer, { id, topic, params }) => {
  const outcome = await Promise.resolve(params)
    .then(answer)
    .then((result) => ({ result }), ({ code, message, data }) => ({ error: { code, message, data } }));
  return { topic, response: { id, jsonrpc: "2.0", ...outcome } };
};

const REFUSED = { code: 5000, message: "User rejected." }, OVER = { code: 6000, message: "User disconnected." };

async function openWalletKit({ relayUrl, accounts, answer, admit = () => true }) {
  const signConfig = { disableRequestQueue: true }; // which waits for a second between two requests
  const wallet = await WalletKit.init({ core: new Core(options(relayUrl)), metadata, signConfig });
  wallet.on("session_proposal", ({ id, params }) =>
    admit() ? wallet.approveSession({ id, namespaces: allow(params, accounts) }) : wallet.rejectSession({ id, reason: REFUSED }));
  wallet.on("session_request", async (event) => wallet.respondSessionRequest(await respond(answer, event)));
  const end = () => Promise.all(Object.keys(wallet.getActiveSessions()).map((topic) => wallet.disconnectSession({ topic, reason: OVER })));
  return { pair: (uri) => wallet.pair({ uri }), end, client: wallet.engine.signClient };
}

async function openSignClient({ relayUrl, accounts, answer }) {
  const wallet = await SignClient211.init(options(relayUrl));
  wallet.on("session_proposal", ({ id, params }) => wallet.approve({ id, namespaces: allow(params, accounts) }));
  wallet.on("session_request", async (event) => wallet.respond(await respond(answer, event)));
  return { pair: (uri) => wallet.core.pairing.pair({ uri }), client: wallet };
}

/** All that a dApp proposes, for accounts. */
function allow({ optionalNamespaces, requiredNamespaces }, accounts) {
  const { hedera } = { ...requiredNamespaces, ...optionalNamespaces };
  const chains = accounts.map((account) => account.split(":").slice(0, 2).join(":"));
  return { hedera: { ...hedera, chains: [...new Set(chains)], accounts } };
}

export const wallets = { "walletkit 1.2.10": openWalletKit, "sign-client 2.11.2": openSignClient };
