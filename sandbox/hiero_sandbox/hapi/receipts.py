"""Receipts and records, made from the mirror node's document of a transaction."""

import base64
import json
from typing import Any

from google.protobuf.message import Message
from hiero_sdk_python.hapi.services.basic_types_pb2 import TokenTransferList, TransactionID
from hiero_sdk_python.hapi.services.transaction_receipt_pb2 import TransactionReceipt
from hiero_sdk_python.hapi.services.transaction_record_pb2 import TransactionRecord

from hiero_sandbox.database import read
from hiero_sandbox.hapi.network import exchange_rate
from hiero_sandbox.ledger import accounts, queries
from hiero_sandbox.ledger.envelopes import read_transaction_id, refuse_if
from hiero_sandbox.ledger.execution import entity
from marketplace.hedera import times
from marketplace.hedera.messages import account, timestamp, token

Document = dict[str, Any]  # the mirror node's, with the columns of its row
NOBODY = "0.0.0"  # gives NFTs that are minted, and gets those that end
KEPT_SECONDS = 180  # how long after consensus a node has receipts and records


def find_receipt(query: Message, response: Message, now: int) -> None:
    found = _find(query.transactionID, now, "RECEIPT_NOT_FOUND")
    (first, *repeated), children = ([_receipt(each) for each in group] for group in found)
    response.receipt.CopyFrom(first)
    if query.includeDuplicates:
        response.duplicateTransactionReceipts.extend(repeated)
    if query.include_child_receipts:
        response.child_transaction_receipts.extend(children)


def find_record(query: Message, response: Message, now: int) -> None:
    asked = query.transactionID
    found = _find(asked, now, "RECORD_NOT_FOUND")
    (first, *repeated), children = ([_record(each, asked) for each in group] for group in found)
    response.transactionRecord.CopyFrom(first)
    if query.includeDuplicates:
        response.duplicateTransactionRecords.extend(repeated)
    if query.include_child_records:
        response.child_transaction_records.extend(children)


def find_account_records(query: Message, response: Message, now: int) -> None:
    """The recent transactions that an account has paid for, in the order of consensus."""
    account_id = entity(query.accountID, "INVALID_ACCOUNT_ID")
    accounts.require_usable(read(), account_id)
    response.accountID.CopyFrom(account(account_id))
    since = now - KEPT_SECONDS * times.SECOND
    for row in queries.list_paid_transactions(read(), account_id, since):
        document = json.loads(row["document"]) | dict(row)
        start = timestamp(times.from_consensus(document["valid_start_timestamp"]))
        id = TransactionID(accountID=account(account_id), transactionValidStart=start)
        id.scheduled = document["scheduled"]
        response.records.append(_record(document, id))


def _find(asked: TransactionID, now: int, missing: str) -> tuple[list[Document], list[Document]]:
    """Find the recent transactions with an id, in the order of consensus, and their children.

    Refuses, with the code ``missing``, if there are none.
    """
    refuse_if(not asked.HasField("accountID"), "INVALID_TRANSACTION_ID")
    recent = [
        json.loads(row["document"]) | dict(row)
        for row in queries.list_transactions(read(), read_transaction_id(asked).dashed)
        if row["consensus_at"] >= now - KEPT_SECONDS * times.SECOND
    ]
    recent = [each for each in recent if each["scheduled"] == asked.scheduled]
    found = [each for each in recent if each["nonce"] == asked.nonce]
    refuse_if(not found, missing)
    return found, [each for each in recent if each["nonce"] > asked.nonce]


def _receipt(document: Document) -> TransactionReceipt:
    done = document["name"] if document["result"] == "SUCCESS" else None
    minted = document["nft_transfers"] if done == "TOKENMINT" else []
    receipt = TransactionRecord.FromString(document["record"]).receipt
    told = TransactionReceipt(
        status=document["result"],
        exchangeRate=exchange_rate(document["consensus_at"]),
        accountID=account(document["entity_id"]) if done == "CRYPTOCREATEACCOUNT" else None,
        tokenID=token(document["entity_id"]) if done == "TOKENCREATION" else None,
        serialNumbers=[transfer["serial_number"] for transfer in minted],
    )
    receipt.MergeFrom(told)
    return receipt


def _record(document: Document, asked: TransactionID) -> TransactionRecord:
    record = TransactionRecord.FromString(document["record"])
    record.receipt.CopyFrom(_receipt(document))
    told = TransactionRecord(
        transactionHash=base64.b64decode(document["transaction_hash"]),
        consensusTimestamp=timestamp(document["consensus_at"]),
        transactionID=asked,
        memo=base64.b64decode(document["memo_base64"]).decode(),
        transactionFee=document["charged_tx_fee"],
        high_volume_pricing_multiplier=document["high_volume_pricing_multiplier"],
        transferList={"accountAmounts": map(_amount, document["transfers"])},
    )
    record.MergeFrom(told)
    record.transactionID.nonce = document["nonce"]
    ids = [moved["token_id"] for moved in document["token_transfers"] + document["nft_transfers"]]
    lists = {token_id: TokenTransferList(token=token(token_id)) for token_id in ids}
    for moved in document["token_transfers"]:
        lists[moved["token_id"]].transfers.add(**_amount(moved))
    for moved in document["nft_transfers"]:
        sender, receiver = moved["sender_account_id"], moved["receiver_account_id"]
        lists[moved["token_id"]].nftTransfers.add(
            senderAccountID=account(sender or NOBODY),
            receiverAccountID=account(receiver or NOBODY),
            serialNumber=moved["serial_number"],
            is_approval=moved["is_approval"],
        )
    record.tokenTransferLists.extend(lists.values())
    for fee in document.get("assessed_custom_fees", []):
        record.assessed_custom_fees.add(
            amount=fee["amount"],
            token_id=fee["token_id"] and token(fee["token_id"]),
            fee_collector_account_id=account(fee["collector_account_id"]),
            effective_payer_account_id=map(account, fee["effective_payer_account_ids"]),
        )
    return record


def _amount(moved: Document) -> dict[str, Any]:
    return {"accountID": account(moved["account"]), "amount": moved["amount"]}
