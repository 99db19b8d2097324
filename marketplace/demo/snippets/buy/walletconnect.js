// HIP-820. signClient and session are those of @walletconnect/sign-client.
import { proto } from "@hiero-ledger/proto";

const purchase = PREPARED;

const encode = (bytes) => btoa(String.fromCharCode(...bytes));
const bytes = Uint8Array.from(atob(purchase.byteArray), (char) => char.charCodeAt(0));
const [transaction] = proto.TransactionList.decode(bytes).transactionList;
const { bodyBytes } = proto.SignedTransaction.decode(transaction.signedTransactionBytes);

// Not hedera_signAndExecuteTransaction: the marketplace submits a purchase.
const { signatureMap } = await signClient.request({
  topic: session.topic,
  chainId: "hedera:testnet",
  request: {
    method: "hedera_signTransaction",
    params: {
      signerAccountId: `hedera:testnet:${purchase.metadata.accountToSign}`,
      transactionBody: encode(bodyBytes),
    },
  },
});

// POST /v1/comingsoon takes both.
console.log(JSON.stringify({ signedTransaction: purchase.byteArray, signatureMap }));
