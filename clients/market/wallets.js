// Wallets of other libraries, as the client's trades ask them. Nothing is imported: each gets what its program has.

/** @typedef {import("./src/trade.js").Wallet} Wallet */
/** @typedef {import("./src/trade.js").Prepared} Prepared */

const bytesOf = (/** @type {Prepared} */ { byteArray }) => Uint8Array.from(atob(byteArray), (letter) => letter.charCodeAt(0));
const returned = (/** @type {Uint8Array} */ bytes) => ({ signedTransaction: btoa(String.fromCharCode(...bytes)) });
const submitted = (/** @type {any} */ transaction) => ({ transactionId: `${transaction.transactionId}` });

/**
 * A connected link of clients/wallet-link.
 * @param {any} link
 * @param {(byteArray: string) => string} bodyOf its function of this name
 * @returns {Wallet}
 */
export const ofWalletLink = (link, bodyOf) => ({
  signAndExecute: ({ byteArray }) => link.signAndExecute(byteArray),
  sign: async ({ byteArray }) => ({ signatureMap: await link.sign(bodyOf(byteArray)) }),
});

/**
 * HashConnect 3, paired.
 * @param {any} hashconnect
 * @param {any} sdk the @hashgraph/sdk that HashConnect uses: {AccountId, Transaction}
 * @returns {Wallet}
 */
export const ofHashConnect = (hashconnect, { AccountId, Transaction }) => ({
  async signAndExecute(prepared) {
    const transaction = Transaction.fromBytes(bytesOf(prepared));
    await hashconnect.sendTransaction(AccountId.fromString(prepared.metadata.accountToSign), transaction);
    return submitted(transaction);
  },
  async sign(prepared) {
    const account = AccountId.fromString(prepared.metadata.accountToSign);
    const signed = await hashconnect.signAndReturnTransaction(account, Transaction.fromBytes(bytesOf(prepared)));
    return returned(signed.toBytes());
  },
});

/**
 * A connected DAppConnector of hedera-wallet-connect.
 * @param {any} connector
 * @param {any} sdk the @hiero-ledger/sdk that it uses: {Transaction}
 * @param {string} [network]
 * @returns {Wallet}
 */
export const ofWalletConnect = (connector, { Transaction }, network = "mainnet") => ({
  async signAndExecute({ byteArray, metadata }) {
    const signerAccountId = `hedera:${network}:${metadata.accountToSign}`;
    return connector.signAndExecuteTransaction({ signerAccountId, transactionList: byteArray });
  },
  async sign(prepared) {
    const signerAccountId = `hedera:${network}:${prepared.metadata.accountToSign}`;
    const transactionBody = Transaction.fromBytes(bytesOf(prepared));
    return returned((await connector.signTransaction({ signerAccountId, transactionBody })).toBytes());
  },
});

/**
 * A key, in a program with an SDK.
 * @param {any} key a PrivateKey
 * @param {any} client of the network
 * @param {any} sdk {Transaction}
 * @returns {Wallet}
 */
export const ofKey = (key, client, { Transaction }) => ({
  async signAndExecute(prepared) {
    const transaction = await Transaction.fromBytes(bytesOf(prepared)).sign(key);
    await (await transaction.execute(client)).getReceipt(client);
    return submitted(transaction);
  },
  sign: async (prepared) => returned((await Transaction.fromBytes(bytesOf(prepared)).sign(key)).toBytes()),
});
