"""Writes transactions and histories of NFTs as the mirror node's documents."""

import base64
import json
from collections import Counter
from typing import Any

from google.protobuf.message import Message

from marketplace import times
from marketplace.ids import TransactionId
from marketplace.sandbox.ledger import accounts, keys, queries
from marketplace.sandbox.ledger.envelopes import TYPES, write_id
from marketplace.sandbox.ledger.execution import AssessedFee, Changes, Execution, NftTransfer
from marketplace.store.rows import Connection

# The account or token that a transaction is about, where mirror nodes name one: the first of these fields.
ENTITIES = ("token", "token_id", "account", "accountIDToUpdate", "deleteAccountID", "owner")


def write(execution: Execution, result: str, outer: Execution | None = None) -> None:
    """Record a transaction that reached consensus, successful or not, and what it did to NFTs.

    ``outer`` is the batch that it is in, or the schedule's transaction.
    """
    db, now, effects = execution.db, execution.now, execution.effects
    body = execution.signed.body
    kind = body.WhichOneof("data")
    fee = execution.fee + effects.further_fee
    moved = Counter(effects.moved)
    moved.update({(execution.payer, None): -fee, (accounts.FEE_COLLECTOR, None): fee})
    rows = _amounts(moved)
    fields = {
        "charged_tx_fee": fee,
        "entity_id": effects.created or _entity(getattr(body, kind)),
        "max_fee": str(body.transactionFee),
        "memo_base64": base64.b64encode(body.memo.encode()).decode(),
        "nft_transfers": [shown(nft) for nft in effects.nfts if nft.sender or nft.receiver],
        "node": write_id(body.nodeAccountID),
        "result": result,
        "scheduled": body.transactionID.scheduled,
        "token_transfers": [row for row in rows if "token_id" in row],
        "transaction_hash": base64.b64encode(execution.signed.hash).decode(),
        "transfers": [row for row in rows if "token_id" not in row],
        "valid_duration_seconds": str(body.transactionValidDuration.seconds),
    }
    if outer and body.HasField("batch_key"):
        fields["batch_key"] = keys.shown(body.batch_key)
        fields["parent_consensus_timestamp"] = times.to_consensus(outer.now)
    if effects.assessed_fees:
        fields["assessed_custom_fees"] = [_assessed(fee) for fee in effects.assessed_fees]
    write_transaction(db, execution.id, TYPES[kind], now, fields, effects.total_supply)
    for nft in effects.nfts:
        write_nft_transaction(db, execution.id, now, TYPES[kind], nft)
    for nonce, account_id in enumerate(effects.auto_created, start=1):
        _write_creation(execution, account_id, nonce)


def _entity(content: Message) -> str | None:
    for name in ENTITIES:
        if name in content.DESCRIPTOR.fields_by_name:
            return write_id(getattr(content, name))
    return None


def _amounts(moved: Changes) -> list[dict[str, Any]]:
    """The changes of balances, by the accounts' numbers."""
    return [
        {"account": account_id, "amount": amount, "is_approval": False}
        | ({"token_id": token} if token else {})
        for (account_id, token), amount in sorted(
            moved.items(), key=lambda change: by_number(change[0][0])
        )
        if amount
    ]


def _write_creation(execution: Execution, account_id: str, nonce: int) -> None:
    """Record an account that a transfer to its alias has created, just before the transfer."""
    fields = {
        "entity_id": account_id,
        "nonce": nonce,
        "parent_consensus_timestamp": times.to_consensus(execution.now),
    }
    now = execution.now - nonce
    write_transaction(execution.db, execution.id, "CRYPTOCREATEACCOUNT", now, fields)


def write_transaction(
    db: Connection,
    transaction_id: TransactionId,
    name: str,
    now: int,
    fields: dict[str, Any],
    total_supply: int | None = None,
) -> None:
    """Record a transaction with these fields, and with what all others have by default."""
    document: dict[str, Any] = {
        "batch_key": None,
        "bytes": None,
        "charged_tx_fee": 0,
        "consensus_timestamp": times.to_consensus(now),
        "entity_id": None,
        "high_volume": False,
        "high_volume_pricing_multiplier": 0,
        "max_custom_fees": [],
        "max_fee": "0",
        "memo_base64": "",
        "name": name,
        "nft_transfers": [],
        "node": "0.0.3",
        "nonce": 0,
        "parent_consensus_timestamp": None,
        "result": "SUCCESS",
        "scheduled": False,
        "staking_reward_transfers": [],
        "token_transfers": [],
        "transaction_hash": "",
        "transaction_id": transaction_id.dashed,
        "transfers": [],
        "valid_duration_seconds": "120",
        "valid_start_timestamp": f"{transaction_id.seconds}.{transaction_id.nanos:09}",
    }
    queries.put(
        db,
        "transaction_record",
        consensus_at=now,
        transaction_id=transaction_id.dashed,
        document=json.dumps(document | fields),
        total_supply=total_supply,
    )


def by_number(entity_id: str) -> tuple[int, ...]:
    """A key that sorts ids as mirror nodes do."""
    return tuple(map(int, entity_id.split(".")))


def _assessed(fee: AssessedFee) -> dict[str, Any]:
    return {
        "amount": fee.amount,
        "collector_account_id": fee.collector,
        "effective_payer_account_ids": [fee.payer],
        "token_id": fee.token,
    }


def shown(transfer: NftTransfer) -> dict[str, Any]:
    """An NFT that changed hands, as a row of a transaction shows it."""
    return {
        "is_approval": transfer.is_approval,
        "receiver_account_id": transfer.receiver or None,
        "sender_account_id": transfer.sender or None,
        "serial_number": transfer.serial_no,
        "token_id": transfer.token,
    }


def write_nft_transaction(
    db: Connection, transaction_id: TransactionId, now: int, name: str, nft: NftTransfer
) -> None:
    """Record in an NFT's history what a transaction did to it."""
    document = {
        "consensus_timestamp": times.to_consensus(now),
        "is_approval": nft.is_approval,
        "nonce": 0,
        "receiver_account_id": nft.receiver or None,
        "sender_account_id": nft.sender or None,
        "transaction_id": transaction_id.dashed,
        "type": name,
    }
    queries.put(
        db,
        "nft_transaction",
        token=nft.token,
        serial_no=nft.serial_no,
        consensus_at=now,
        document=json.dumps(document),
    )
