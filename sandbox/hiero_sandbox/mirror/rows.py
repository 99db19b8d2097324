"""The mirror node's rows of a transaction, derived from its body and its record."""

import base64
from typing import Any

from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountAmount, NftTransfer
from hiero_sdk_python.hapi.services.timestamp_pb2 import Timestamp
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox import times
from hiero_sandbox.ledger import keys, queries, records
from hiero_sandbox.ledger.consensus import HANDLERS
from hiero_sandbox.ledger.custom_fees import unit_of
from hiero_sandbox.ledger.envelopes import TYPES, write_id
from hiero_sandbox.ledger.records import Recorded

Document = dict[str, Any]


def transaction(recorded: Recorded) -> Document:
    """A transaction, as lists show it."""
    body, record = recorded
    id = record.transactionID
    has_parent = record.HasField("parent_consensus_timestamp")
    units = record.tokenTransferLists
    return {
        "batch_key": keys.shown(body.batch_key) if body.HasField("batch_key") else None,
        "bytes": None,
        "charged_tx_fee": record.transactionFee,
        "consensus_timestamp": _moment(record.consensusTimestamp),
        "entity_id": _entity(recorded),
        "high_volume": body.high_volume,
        "high_volume_pricing_multiplier": record.high_volume_pricing_multiplier,
        "max_custom_fees": _limits(body),
        "max_fee": str(body.transactionFee),
        "memo_base64": base64.b64encode(body.memo.encode()).decode(),
        "name": TYPES[recorded.kind],
        "nft_transfers": [
            {"serial_number": nft.serialNumber, "token_id": write_id(each.token)} | _parties(nft)
            for each in units
            for nft in each.nftTransfers
        ],
        "node": write_id(body.nodeAccountID),
        "nonce": id.nonce,
        "parent_consensus_timestamp": _moment(record.parent_consensus_timestamp)
        if has_parent
        else None,
        "result": recorded.result,
        "scheduled": id.scheduled,
        "staking_reward_transfers": [
            {"account": write_id(reward.accountID), "amount": reward.amount}
            for reward in record.paid_staking_rewards
        ],
        "token_transfers": [
            _amount(amount) | {"token_id": write_id(each.token)}
            for each in units
            for amount in each.transfers
        ],
        "transaction_hash": base64.b64encode(record.transactionHash).decode(),
        "transaction_id": _id(recorded),
        "transfers": [_amount(amount) for amount in record.transferList.accountAmounts],
        "valid_duration_seconds": str(body.transactionValidDuration.seconds),
        "valid_start_timestamp": _moment(id.transactionValidStart),
    }


def transaction_alone(recorded: Recorded) -> Document:
    """A transaction, as it is shown by itself: with the custom fees that it has paid, if any."""
    assessed = [
        {
            "amount": fee.amount,
            "collector_account_id": write_id(fee.fee_collector_account_id),
            "effective_payer_account_ids": [*map(write_id, fee.effective_payer_account_id)],
            "token_id": write_id(fee.token_id) if fee.HasField("token_id") else None,
        }
        for fee in recorded.record.assessed_custom_fees
    ]
    return transaction(recorded) | ({"assessed_custom_fees": assessed} if assessed else {})


def nft_transaction(recorded: Recorded, token: str, serial_no: int) -> Document:
    """A transaction in the history of an NFT. Approvals have no parties, nor has the change of a treasury."""
    moved = [
        nft
        for each in recorded.record.tokenTransferLists
        if write_id(each.token) == token
        for nft in each.nftTransfers
        if nft.serialNumber == serial_no
    ]
    return {
        "consensus_timestamp": _moment(recorded.record.consensusTimestamp),
        "nonce": recorded.record.transactionID.nonce,
        "transaction_id": _id(recorded),
        "type": TYPES[recorded.kind],
    } | _parties(moved[0] if moved else NftTransfer())


def gift(row: queries.Row, treasury: str) -> Document:
    """The first transaction in the history of an NFT that was a gift: the ledger has recorded none."""
    seconds, nanos = divmod(row["consensus_at"], times.SECOND)
    return {
        "consensus_timestamp": times.to_consensus(row["consensus_at"]),
        "is_approval": False,
        "nonce": 0,
        "receiver_account_id": row["owner"],
        "sender_account_id": None,
        "transaction_id": f"{treasury}-{seconds}-{nanos:09}",
        "type": "TOKENMINT",
    }


def _id(recorded: Recorded) -> str:
    id = recorded.record.transactionID
    start = id.transactionValidStart
    return f"{write_id(id.accountID)}-{start.seconds}-{start.nanos:09}"


def _moment(timestamp: Timestamp) -> str:
    return f"{timestamp.seconds}.{timestamp.nanos:09}"


def _entity(recorded: Recorded) -> str | None:
    """The entity that a transaction is about, or that it has created."""
    handler, receipt = HANDLERS.get(recorded.kind), recorded.record.receipt
    if handler is None:
        return None  # another version has executed it, whose state was loaded
    if handler.about:
        content = getattr(recorded.body, recorded.kind)
        is_named = content.HasField(handler.about)
        return write_id(getattr(content, handler.about)) if is_named else None
    is_made = handler.creates and receipt.HasField(handler.creates)
    return write_id(getattr(receipt, handler.creates)) if is_made else None


def _limits(body: TransactionBody) -> list[Document]:
    """The limits of a topic's custom fees that a message's payer has set."""
    return [
        {
            "account_id": write_id(limit.account_id),
            "amount": fee.amount,
            "denominating_token_id": unit_of(fee),
        }
        for limit in body.max_custom_fees
        for fee in limit.fees
    ]


def _amount(change: AccountAmount) -> Document:
    return {
        "account": write_id(change.accountID),
        "amount": change.amount,
        "is_approval": change.is_approval,
    }


def _parties(nft: NftTransfer) -> Document:
    """The owner of an NFT before a transfer, and the one after it."""
    sender, receiver = write_id(nft.senderAccountID), write_id(nft.receiverAccountID)
    return {
        "is_approval": nft.is_approval,
        "receiver_account_id": None if receiver == records.NOBODY else receiver,
        "sender_account_id": None if sender == records.NOBODY else sender,
    }
