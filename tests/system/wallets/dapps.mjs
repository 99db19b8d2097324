// dApps of each library, paired with the wallets over the relay, as their users pair them.
import { DAppConnector } from "@hashgraph/hedera-wallet-connect/dist/lib/dapp/index.js";
import { HederaJsonRpcMethod } from "@hashgraph/hedera-wallet-connect/dist/lib/shared/index.js";
import { LedgerId } from "@hiero-ledger/sdk";
import { HashConnect as HashConnect3 } from "hashconnect";
import { HashConnect as HashConnect0 } from "hashconnect-0";
import { LedgerId as LedgerId3 } from "hashgraph-sdk-2.41";

const metadata = () => ({
  name: "dApp", description: "On one's desk", url: "https://dapp.example", icons: [], icon: "",
});

export async function pairHashConnect0(wallet) {
  const hashconnect = new HashConnect0();
  const { pairingString, topic } = await hashconnect.init(metadata(), "testnet", false);
  const paired = new Promise((resolve) => hashconnect.pairingEvent.on(resolve));
  await wallet.pair(pairingString);
  await paired;
  return { hashconnect, topic };
}

export async function pairHashConnect3(wallet) {
  const hashconnect = new HashConnect3(LedgerId3.TESTNET, "desk", metadata(), false);
  await hashconnect.init();
  const paired = new Promise((resolve) => hashconnect.pairingEvent.on(resolve));
  await wallet.pair(hashconnect.pairingString);
  await paired;
  return hashconnect;
}

export async function pairWalletConnect(wallet) {
  const methods = Object.values(HederaJsonRpcMethod);
  const connector = new DAppConnector(
    metadata(), LedgerId.TESTNET, "desk", methods, [], ["hedera:testnet"], "off");
  await connector.init({ logger: "silent" });
  await connector.connect((uri) => wallet.pair(uri));
  return connector;
}
