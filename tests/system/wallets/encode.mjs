// Whether the JavaScript SDK encodes anew what it was given byte for byte. Reads lines of base64, writes JSON of each.
import { readFileSync } from "node:fs";
import { Transaction } from "@hashgraph/sdk";
import { proto } from "@hiero-ledger/proto";

for (const line of readFileSync(0, "utf8").trim().split("\n")) {
  const bytes = Buffer.from(line, "base64");
  const transaction = Transaction.fromBytes(bytes);
  const { transactionList } = proto.TransactionList.decode(bytes);
  const { bodyBytes } = proto.SignedTransaction.decode(transactionList[0].signedTransactionBytes);
  // A wallet that is asked for a signature only (HIP-820 hedera_signTransaction) encodes the body anew.
  const body = transaction._makeTransactionBody(transaction.nodeAccountIds[0]);
  console.log(JSON.stringify({
    isSameList: Buffer.from(transaction.toBytes()).equals(bytes),
    isSameBody: Buffer.from(proto.TransactionBody.encode(body).finish()).equals(Buffer.from(bodyBytes)),
    payments: (transaction.hbarTransfersList ?? []).map(({ accountId, amount }) => [
      accountId.toString(), amount.toTinybars().toString(),
    ]),
  }));
}
