"""Writes transactions and histories of NFTs as the mirror node's documents."""

import base64
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from google.protobuf.message import Message

from marketplace import times
from marketplace.ids import TransactionId
from marketplace.sandbox.ledger import accounts, keys, queries
from marketplace.sandbox.ledger.envelopes import TYPES, write_id
from marketplace.sandbox.ledger.execution import AssessedFee, Execution, NftTransfer
from marketplace.store.rows import Connection

# The account or token that a transaction is about, where mirror nodes name one: the first of these fields.
ENTITIES = ("token", "token_id", "account", "accountIDToUpdate", "deleteAccountID", "owner")


def write_signed(execution: Execution, result: str, batch: Execution | None = None) -> None:
    """Record a transaction that reached consensus, successful or not; by itself, or in a batch."""
    body = execution.signed.body
    kind = body.WhichOneof("data")
    fields: dict[str, Any] = {
        "entity_id": execution.effects.created or _entity(getattr(body, kind)),
        "max_fee": str(body.transactionFee),
        "memo_base64": base64.b64encode(body.memo.encode()).decode(),
        "node": write_id(body.nodeAccountID),
        "result": result,
        "transaction_hash": base64.b64encode(execution.signed.hash).decode(),
        "valid_duration_seconds": str(body.transactionValidDuration.seconds),
    }
    if batch:
        fields["batch_key"] = keys.shown(body.batch_key)
        fields["parent_consensus_timestamp"] = times.to_consensus(batch.now)
    _write_execution(execution, TYPES[kind], fields)
    for nonce, account_id in enumerate(execution.effects.auto_created, start=1):
        _write_creation(execution, account_id, nonce)


def _entity(content: Message) -> str | None:
    for name in ENTITIES:
        if name in content.DESCRIPTOR.fields_by_name:
            return write_id(getattr(content, name))
    return None


def _write_creation(execution: Execution, account_id: str, nonce: int) -> None:
    """Record an account that a transfer to its alias has created, just before the transfer."""
    fields = {
        "entity_id": account_id,
        "nonce": nonce,
        "parent_consensus_timestamp": times.to_consensus(execution.now),
    }
    now = execution.now - nonce
    write_transaction(execution.db, execution.id, "CRYPTOCREATEACCOUNT", now, fields)


def write_executed(execution: Execution) -> None:
    """Record what a schedule executed, under the id of the transaction that made the schedule."""
    scheduled = execution.signed.body.scheduleCreate.scheduledTransactionBody
    fields = {
        "memo_base64": base64.b64encode(scheduled.memo.encode()).decode(),
        "scheduled": True,
    }
    _write_execution(execution, TYPES[scheduled.WhichOneof("data")], fields)


def _write_execution(execution: Execution, name: str, fields: dict[str, Any]) -> None:
    effects, fee = execution.effects, execution.fee + execution.effects.further_fee
    hbar = Counter(effects.hbar)
    hbar.update({execution.payer: -fee, accounts.FEE_COLLECTOR: fee})
    moved = {
        "charged_tx_fee": fee,
        "nft_transfers": [shown(transfer) for transfer in effects.nft_transfers],
        "token_transfers": _token_transfers(effects.units),
        "transfers": _transfers(hbar),
    }
    if effects.assessed_fees:
        moved["assessed_custom_fees"] = [_assessed(fee) for fee in effects.assessed_fees]
    supply = effects.total_supply
    write_transaction(execution.db, execution.id, name, execution.now, moved | fields, supply)


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


def _transfers(hbar: Mapping[str, int]) -> list[dict[str, Any]]:
    """The changes of balances, by the accounts' numbers."""
    return [
        {"account": account_id, "amount": amount, "is_approval": False}
        for account_id, amount in sorted(hbar.items(), key=lambda change: by_number(change[0]))
        if amount
    ]


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


def _token_transfers(units: Mapping[tuple[str, str], int]) -> list[dict[str, Any]]:
    return [
        {"account": account_id, "amount": amount, "is_approval": False, "token_id": token}
        for (account_id, token), amount in sorted(units.items())
        if amount
    ]


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
