// A wallet on one's desk that has hedera-wallet-connect read and answer what it is asked; as desk.mjs of the sandbox's tests.
import HederaWallet from "@hashgraph/hedera-wallet-connect/dist/lib/wallet/index.js";
import Provider from "@hashgraph/hedera-wallet-connect/dist/lib/wallet/provider.js";
import { Client, PrivateKey } from "@hiero-ledger/sdk";
import { Core } from "@walletconnect/core";
import { WebSocket } from "ws";
import { User } from "../../../sandbox/tests/system/relay/user.mjs";

globalThis.WebSocket = WebSocket;
const { relayUrl, node, account, keyType, waitSeconds } = JSON.parse(process.argv[2]);
const CHAIN = "hedera:testnet";
const REFUSED = { code: 5000, message: "User rejected." }, UNKNOWN = { code: 3001, message: "Another account." };
const key = keyType === "ECDSA" ? PrivateKey.generateECDSA() : PrivateKey.generateED25519();
const provider = new Provider(Client.forNetwork({ [node]: "0.0.3" }));
const user = new User({ waitSeconds });
const core = new Core({ projectId: "desk", relayUrl, logger: "silent", telemetryEnabled: false, storageOptions: { database: ":memory:" } });
const metadata = { name: "Desk", description: "On one's desk", url: "https://desk.example", icons: [] };
const signConfig = { disableRequestQueue: true }; // which waits for a second between two requests
const wallet = new HederaWallet({ core, metadata, signConfig });
await wallet.engine.init();
wallet.on("session_proposal", (proposal) => wallet.buildAndApproveSession([`${CHAIN}:${account}`], proposal));
wallet.on("session_request", async (event) => {
  try {
    if ((await user.decide()) === "refuse") throw REFUSED;
    const { chainId, accountId } = wallet.parseSessionRequest(event);
    if (`${accountId}` !== account) throw UNKNOWN;
    await wallet.executeSessionRequest(event, wallet.getHederaWallet(chainId, accountId, key, provider));
  } catch (error) {
    const { code = 9000, message, status } = error;
    await wallet.rejectSessionRequest(event, { code, message: `${status ?? message}`, data: `${status?._code ?? ""}` });
  }
});
await user.follow({ pair: (uri) => wallet.core.pairing.pair({ uri }), relayer: core.relayer });
process.exit();
