// What a wallet does with byteArray: decode, show, sign, encode. Reads base64, writes JSON.
// Usage: node wallet.mjs ED25519|ECDSA < byteArray
import { readFileSync } from "node:fs";
import { proto } from "@hiero-ledger/proto";
import {
  AccountAllowanceApproveTransaction,
  AccountAllowanceDeleteTransaction,
  PrivateKey,
  Transaction,
  TransferTransaction,
} from "@hashgraph/sdk";

const bytes = Buffer.from(readFileSync(0, "utf8").trim(), "base64");
const transaction = Transaction.fromBytes(bytes);
const reencoded = Buffer.from(transaction.toBytes());

// A wallet that is asked for a signature only (HIP-820 hedera_signTransaction) encodes the body anew.
const { transactionList } = proto.TransactionList.decode(bytes);
const { bodyBytes } = proto.SignedTransaction.decode(transactionList[0].signedTransactionBytes);
const body = transaction._makeTransactionBody(transaction.nodeAccountIds[0]);
const bodyEncodedAnew = Buffer.from(proto.TransactionBody.encode(body).finish());

// What it is shown to do, by its kind.
function describe() {
  if (transaction instanceof AccountAllowanceApproveTransaction) {
    const [approval] = transaction.tokenNftApprovals;
    return {
      token: approval.tokenId.toString(),
      serials: approval.serialNumbers.map(String),
      owner: approval.ownerAccountId.toString(),
      spender: approval.spenderAccountId.toString(),
      allSerials: approval.allSerials,
    };
  }
  if (transaction instanceof AccountAllowanceDeleteTransaction) {
    const [removed] = transaction.tokenNftAllowanceDeletions;
    return {
      token: removed.tokenId.toString(),
      serials: removed.serialNumbers.map(String),
      owner: removed.ownerAccountId.toString(),
    };
  }
  return {
    payments: Object.fromEntries(
      transaction.hbarTransfersList.map(({ accountId, amount }) => [
        accountId.toString(),
        amount.toTinybars().toString(),
      ]),
    ),
    nfts: [...transaction.nftTransfers].flatMap(([token, transfers]) =>
      transfers.map(({ sender, recipient, serial, isApproved }) => [
        token.toString(),
        serial.toString(),
        sender.toString(),
        recipient.toString(),
        isApproved,
      ]),
    ),
  };
}

const KINDS = {
  listing: AccountAllowanceApproveTransaction,
  withdrawal: AccountAllowanceDeleteTransaction,
  purchase: TransferTransaction,
};
const shown = describe();
const key = process.argv[2] === "ECDSA" ? PrivateKey.generateECDSA() : PrivateKey.generateED25519();
const signed = await transaction.sign(key);

console.log(JSON.stringify({
  kind: Object.keys(KINDS).find((kind) => transaction instanceof KINDS[kind]),
  isFrozen: transaction.isFrozen(),
  transactionId: transaction.transactionId.toString(),
  nodes: transaction.nodeAccountIds.map(String),
  memo: transaction.transactionMemo,
  maxFee: transaction.maxTransactionFee.toString(),
  validSeconds: transaction.transactionValidDuration,
  ...shown,
  sameBytes: reencoded.equals(bytes),
  sameBody: bodyEncodedAnew.equals(Buffer.from(bodyBytes)),
  signed: Buffer.from(signed.toBytes()).toString("base64"),
}, null, 2));
