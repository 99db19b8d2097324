// Official dApps and wallets pair over the relay at argv[2], and the wallet answers requests. Prints a line of JSON
// for each pair: {dapp, wallet, milliseconds of pairing, of each request, the refusal's code}.
import { WalletKit } from "@reown/walletkit";
import { Core } from "@walletconnect/core";
import { SignClient } from "@walletconnect/sign-client";
import { SignClient as SignClient211 } from "sign-client-2.11";

const relayUrl = process.argv[2];
const REQUESTS = 5;
const CHAIN = "hedera:testnet", ACCOUNT = `${CHAIN}:0.0.1002`, METHOD = "hedera_signMessage";
const namespaces = { hedera: { accounts: [ACCOUNT], methods: [METHOD], events: [], chains: [CHAIN] } };
const metadata = { name: "Test", description: "A test", url: "https://test.example", icons: [] };
let clients = 0;
const options = () => ({
  customStoragePrefix: `client-${(clients += 1)}`, // with the same one, two would be one
  projectId: "test", relayUrl, metadata, logger: "silent", telemetryEnabled: false,
  storageOptions: { database: ":memory:" },
});

async function openWalletKit() {
  const wallet = await WalletKit.init({ core: new Core(options()), metadata });
  wallet.engine.signClient.engine.requestQueueDelay = 0; // it waits for a second between two requests
  wallet.on("session_proposal", ({ id }) => wallet.approveSession({ id, namespaces }));
  wallet.on("session_request", (event) => wallet.respondSessionRequest({ topic: event.topic, response: answer(event) }));
  return { pair: (uri) => wallet.pair({ uri }) };
}

async function openSignClient() {
  const wallet = await SignClient211.init(options());
  wallet.on("session_proposal", ({ id }) => wallet.approve({ id, namespaces }));
  wallet.on("session_request", (event) => wallet.respond({ topic: event.topic, response: answer(event) }));
  return { pair: (uri) => wallet.core.pairing.pair({ uri }) };
}

function answer({ id, params: { request } }) {
  const { message } = request.params;
  const outcome = message === "no" ? { error: { code: 5000, message: "User rejected" } } : { result: message.length };
  return { id, jsonrpc: "2.0", ...outcome };
}

const elapsed = (since) => Math.round(performance.now() - since);
const dapps = { "sign-client 2.21.8": SignClient, "sign-client 2.11.2": SignClient211 };
const wallets = { "walletkit 1.2.10": openWalletKit, "sign-client 2.11.2": openSignClient };
for (const [dapp, Client] of Object.entries(dapps))
  for (const [wallet, open] of Object.entries(wallets)) {
    const [client, other] = [await Client.init(options()), await open()];
    const began = performance.now();
    const { uri, approval } = await client.connect({ optionalNamespaces: { hedera: { ...namespaces.hedera } }, requiredNamespaces: {} });
    await other.pair(uri);
    const { topic, namespaces: agreed } = await approval();
    if (agreed.hedera.accounts[0] !== ACCOUNT) throw new Error("another account");
    const pairing = elapsed(began), requests = [];
    const ask = (message) =>
      client.request({ topic, chainId: CHAIN, request: { method: METHOD, params: { message } } });
    for (let length = 1; length <= REQUESTS; length += 1) {
      const since = performance.now();
      if ((await ask("x".repeat(length))) !== length) throw new Error("another answer");
      requests.push(elapsed(since));
    }
    const refusal = await ask("no").catch((error) => error.code);
    console.log(JSON.stringify({ dapp, wallet, pairing, requests, refusal }));
  }
process.exit();
