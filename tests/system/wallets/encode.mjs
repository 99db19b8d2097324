// Whether the JavaScript SDKs encode again what they were given byte for byte. Reads lines of base64, writes JSON of each.
import { readFileSync } from "node:fs";
import * as hashgraph from "@hashgraph/sdk";
import * as hiero279 from "@hiero-ledger/sdk";
import { proto } from "@hiero-ledger/proto";
import * as hashgraph241 from "hashgraph-sdk-2.41";
import * as hiero from "hiero-sdk";

const SDKS = [hashgraph, hashgraph241, hiero279, hiero];
const isSame = (encoded, bytes) => Buffer.from(encoded).equals(Buffer.from(bytes));

for (const line of readFileSync(0, "utf8").trim().split("\n")) {
  const bytes = Buffer.from(line, "base64");
  const { transactionList } = proto.TransactionList.decode(bytes);
  const { bodyBytes } = proto.SignedTransaction.decode(transactionList[0].signedTransactionBytes);
  const transactions = SDKS.map(({ Transaction }) => Transaction.fromBytes(bytes));
  // A wallet that is asked for a signature only (HIP-820 hedera_signTransaction) encodes the body again.
  const bodies = transactions.map((each) => each._makeTransactionBody(each.nodeAccountIds[0]));
  console.log(JSON.stringify({
    isSameList: transactions.every((each) => isSame(each.toBytes(), bytes)),
    isSameBody: bodies.every((body) => isSame(proto.TransactionBody.encode(body).finish(), bodyBytes)),
    payments: (transactions[0].hbarTransfersList ?? []).map(({ accountId, amount }) => [
      accountId.toString(), amount.toTinybars().toString(),
    ]),
  }));
}
