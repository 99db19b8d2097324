// An account's association with a token: before it, the network gives the account none of its NFTs.

import { openLink, walletAccount } from "../wallet/link.js";

/** Throws a WalletError. @param {string} token @param {AbortSignal} signal */
export async function associate(token, signal) {
  const [link, { writeAssociation }] = await Promise.all([openLink(), import("../wallet-link.js")]);
  await link.signAndExecute(writeAssociation(walletAccount(), token).byteArray, { signal });
}
