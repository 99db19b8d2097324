// Official dApps and wallets pair over the relay at argv[2], and the wallet answers requests. Prints a line of JSON
// for each pair: {dapp, wallet, milliseconds of pairing, of each request, the refusal's code}.
import { SignClient } from "@walletconnect/sign-client";
import { SignClient as SignClient211 } from "sign-client-2.11";
import { options, wallets } from "./wallets.mjs";

const relayUrl = process.argv[2];
const REQUESTS = 5;
const CHAIN = "hedera:testnet", ACCOUNT = `${CHAIN}:0.0.1002`, METHOD = "hedera_signMessage";
const hedera = { methods: [METHOD], events: [], chains: [CHAIN] };

function answer({ request: { params } }) {
  if (params.message === "no") throw { code: 5000, message: "User rejected" };
  return params.message.length;
}

const elapsed = (since) => Math.round(performance.now() - since);
const dapps = { "sign-client 2.21.8": SignClient, "sign-client 2.11.2": SignClient211 };
for (const [dapp, Client] of Object.entries(dapps))
  for (const [wallet, open] of Object.entries(wallets)) {
    const client = await Client.init(options(relayUrl));
    const other = await open({ relayUrl, accounts: [ACCOUNT], answer });
    const began = performance.now();
    const { uri, approval } = await client.connect({ optionalNamespaces: { hedera }, requiredNamespaces: {} });
    await other.pair(uri);
    const { topic, namespaces } = await approval();
    if (namespaces.hedera.accounts[0] !== ACCOUNT) throw new Error("another account");
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
