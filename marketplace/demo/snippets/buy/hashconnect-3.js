// hashconnect 3 wants the SDK's objects: hand it a Transaction, not bytes and not text.
import { AccountId, Transaction } from "@hashgraph/sdk";

const purchase = PREPARED;

const bytes = Uint8Array.from(atob(purchase.byteArray), (char) => char.charCodeAt(0));
const account = AccountId.fromString(purchase.metadata.accountToSign);

// Not sendTransaction: the marketplace submits a purchase.
const signed = await hashconnect.signAndReturnTransaction(account, Transaction.fromBytes(bytes));

// POST /v1/comingsoon takes it as signedTransaction.
console.log(btoa(String.fromCharCode(...signed.toBytes())));
