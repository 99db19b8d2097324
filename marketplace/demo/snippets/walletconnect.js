// HIP-820. signClient and session are those of @walletconnect/sign-client.
const listing = PREPARED;

const { transactionId } = await signClient.request({
  topic: session.topic,
  chainId: "hedera:testnet",
  request: {
    method: "hedera_signAndExecuteTransaction",
    params: {
      signerAccountId: `hedera:testnet:${listing.metadata.accountToSign}`,
      transactionList: listing.byteArray, // as it is: it is base64 already
    },
  },
});
console.log(transactionId); // POST /v1/comingsoon takes it
