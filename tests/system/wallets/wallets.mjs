// The other end: wallets, made of what each library offers for wallets. They sign with a real key, and submit
// to the sandbox in place of a network.
import HederaWallet from "@hashgraph/hedera-wallet-connect/dist/lib/wallet/index.js";
import Provider from "@hashgraph/hedera-wallet-connect/dist/lib/wallet/provider.js";
import { Transaction } from "@hashgraph/sdk";
import { Client, PrivateKey, TransactionResponse } from "@hiero-ledger/sdk";
import { Core } from "@walletconnect/core";
import { HashConnect } from "hashconnect-0";

export const METADATA = {
  name: "Wallet", description: "On one's desk", url: "https://wallet.example", icons: [], icon: "",
};

/** The network as a wallet of HIP-820 knows it. */
export class SandboxProvider extends Provider {
  constructor(market) {
    super(Client.forTestnet());
    this.market = market;
  }

  async call(transaction) {
    const { result, transactionId } = await this.market.submit(transaction.toBytes());
    if (result !== "SUCCESS") throw new Error(result);
    return TransactionResponse.fromJSON({ nodeId: "0.0.3", transactionHash: "00", transactionId });
  }
}

/** A wallet that speaks WalletConnect (HIP-820), for all accounts; hedera-wallet-connect's own. */
export async function openWalletConnect(accounts) {
  const core = new Core({ projectId: "desk", customStoragePrefix: "wallet", logger: "silent" });
  const signConfig = { disableRequestQueue: true }; // which waits for a second between two requests
  const wallet = new HederaWallet({ core, metadata: METADATA, signConfig });
  await wallet.engine.init();
  const ids = accounts.map(({ id }) => `hedera:testnet:${id}`);
  wallet.on("session_proposal", (proposal) => wallet.buildAndApproveSession(ids, proposal));
  wallet.on("session_request", async (event) => {
    try {
      const { accountId } = wallet.parseSessionRequest(event);
      const { key, market } = accounts.find(({ id }) => id === accountId.toString());
      const signer = wallet.getHederaWallet(
        "hedera:testnet", accountId, PrivateKey.fromStringDer(key.toStringDer()),
        new SandboxProvider(market));
      await wallet.executeSessionRequest(event, signer);
    } catch (error) {
      await wallet.rejectSessionRequest(event, { code: 9000, message: error.message });
    }
  });
  return { pair: (uri) => wallet.core.pairing.pair({ uri }) };
}

/** A wallet that speaks HashConnect 0.x; hashconnect's own end for wallets. */
export async function openHashConnect(accounts) {
  const wallet = new HashConnect();
  await wallet.init({ ...METADATA }, "testnet");
  wallet.transactionEvent.on(async ({ topic, byteArray, metadata }) => {
    const answer = { topic };
    try {
      const { key, market } = accounts.find(({ id }) => id === metadata.accountToSign);
      const signed = (await Transaction.fromBytes(byteArray).sign(key)).toBytes();
      if (metadata.returnTransaction) Object.assign(answer, { success: true, signedTransaction: signed });
      else {
        const { result, transactionId } = await market.submit(signed);
        const response = JSON.stringify({ nodeId: "0.0.3", transactionHash: "00", transactionId });
        Object.assign(answer, { success: result === "SUCCESS", response, error: result });
      }
    } catch (error) {
      Object.assign(answer, { success: false, error: `${error.message ?? error}` });
    }
    await wallet.sendTransactionResponse(topic, answer);
  });
  return {
    pair: (pairing) =>
      wallet.pair(wallet.decodePairingString(pairing), accounts.map(({ id }) => id), "testnet"),
  };
}
