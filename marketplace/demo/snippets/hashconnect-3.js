// hashconnect 3 wants the SDK's objects: hand it a Transaction, not bytes and not text.
import { AccountId, Transaction } from "@hashgraph/sdk";

const listing = PREPARED;

const bytes = Uint8Array.from(atob(listing.byteArray), (char) => char.charCodeAt(0));
const transaction = Transaction.fromBytes(bytes);
const account = AccountId.fromString(listing.metadata.accountToSign);

await hashconnect.sendTransaction(account, transaction); // signs and submits
console.log(transaction.transactionId.toString()); // POST /v1/comingsoon takes it
