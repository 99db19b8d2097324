"""Receipts and records, made of the mirror node's document of a transaction."""

import base64
import json
from typing import Any, NamedTuple

from google.protobuf.message import Message
from hiero_sdk_python.hapi.services.basic_types_pb2 import TransactionID
from hiero_sdk_python.hapi.services.transaction_receipt_pb2 import TransactionReceipt
from hiero_sdk_python.hapi.services.transaction_record_pb2 import TransactionRecord

from marketplace import times
from marketplace.sandbox.hapi.codes import code
from marketplace.sandbox.hapi.network import exchange_rate
from marketplace.sandbox.ledger import queries
from marketplace.sandbox.ledger.envelopes import read_transaction_id, refuse_if
from marketplace.sandbox.ledger.messages import account, timestamp, token
from marketplace.store.database import read

KEPT_SECONDS = 180  # how long after consensus a node has receipts and records


class Handled(NamedTuple):
    """One transaction that reached consensus: when, in nanoseconds, and its mirror node's document."""

    consensus_at: int
    document: dict[str, Any]
    total_supply: int


def find_receipt(query: Message, response: Message, now: int) -> None:
    (first, *repeated), children = _find(query.transactionID, now, "RECEIPT_NOT_FOUND")
    response.receipt.CopyFrom(_receipt(first))
    if query.includeDuplicates:
        response.duplicateTransactionReceipts.extend(map(_receipt, repeated))
    if query.include_child_receipts:
        response.child_transaction_receipts.extend(map(_receipt, children))


def find_record(query: Message, response: Message, now: int) -> None:
    transaction_id = query.transactionID
    (first, *repeated), children = _find(transaction_id, now, "RECORD_NOT_FOUND")
    response.transactionRecord.CopyFrom(_record(first, transaction_id))
    if query.includeDuplicates:
        response.duplicateTransactionRecords.extend(
            _record(each, transaction_id) for each in repeated
        )
    if query.include_child_records:
        response.child_transaction_records.extend(
            _record(each, transaction_id) for each in children
        )


def _find(
    transaction_id: TransactionID, now: int, missing: str
) -> tuple[list[Handled], list[Handled]]:
    """The recent transactions under an id in the order of consensus, and their children.

    Refuses if there are none.
    """
    refuse_if(not transaction_id.HasField("accountID"), "INVALID_TRANSACTION_ID")
    rows = queries.list_transactions(read(), read_transaction_id(transaction_id).dashed)
    handled = [
        Handled(row["consensus_at"], json.loads(row["document"]), row["total_supply"] or 0)
        for row in rows
    ]
    recent = [
        each
        for each in handled
        if each.consensus_at >= now - KEPT_SECONDS * times.SECOND
        and each.document["scheduled"] == transaction_id.scheduled
    ]
    found = [each for each in recent if each.document["nonce"] == transaction_id.nonce]
    refuse_if(not found, missing)
    return found, [each for each in recent if each.document["nonce"] > transaction_id.nonce]


def _receipt(handled: Handled) -> TransactionReceipt:
    document = handled.document
    receipt = TransactionReceipt(
        status=code(document["result"]), exchangeRate=exchange_rate(handled.consensus_at)
    )
    if document["result"] == "SUCCESS":
        if document["name"] == "CRYPTOCREATEACCOUNT":
            receipt.accountID.CopyFrom(account(document["entity_id"]))
        if document["name"] == "TOKENCREATION":
            receipt.tokenID.CopyFrom(token(document["entity_id"]))
        if document["name"] == "TOKENMINT":
            minted = document["nft_transfers"]
            receipt.serialNumbers.extend(transfer["serial_number"] for transfer in minted)
        receipt.newTotalSupply = handled.total_supply
    return receipt


def _record(handled: Handled, transaction_id: TransactionID) -> TransactionRecord:
    document = handled.document
    record = TransactionRecord(
        receipt=_receipt(handled),
        transactionHash=base64.b64decode(document["transaction_hash"]),
        consensusTimestamp=timestamp(handled.consensus_at),
        transactionID=transaction_id,
        memo=base64.b64decode(document["memo_base64"] or "").decode(errors="replace"),
        transactionFee=document["charged_tx_fee"],
    )
    for transfer in document["transfers"]:
        record.transferList.accountAmounts.add(
            accountID=account(transfer["account"]),
            amount=transfer["amount"],
            is_approval=transfer["is_approval"],
        )
    _add_token_transfers(record, document)
    for fee in document.get("assessed_custom_fees", []):
        record.assessed_custom_fees.add(
            amount=fee["amount"],
            token_id=token(fee["token_id"]) if fee["token_id"] else None,
            fee_collector_account_id=account(fee["collector_account_id"]),
            effective_payer_account_id=map(account, fee["effective_payer_account_ids"]),
        )
    return record


def _add_token_transfers(record: TransactionRecord, document: dict[str, Any]) -> None:
    transfers: dict[str, Message] = {}

    def of(token_id: str) -> Message:
        if token_id not in transfers:
            transfers[token_id] = record.tokenTransferLists.add(token=token(token_id))
        return transfers[token_id]

    for moved in document["token_transfers"]:
        of(moved["token_id"]).transfers.add(
            accountID=account(moved["account"]), amount=moved["amount"]
        )
    for moved in document["nft_transfers"]:
        sender, receiver = moved["sender_account_id"], moved["receiver_account_id"]
        of(moved["token_id"]).nftTransfers.add(
            senderAccountID=sender and account(sender),
            receiverAccountID=receiver and account(receiver),
            serialNumber=moved["serial_number"],
            is_approval=moved["is_approval"],
        )
