"""Stores transactions and the histories of NFTs, as documents of the mirror node."""

import base64
import hashlib
import json
from collections import Counter
from typing import Any

from google.protobuf.message import Message

from hiero_sandbox.ledger import accounts, keys, network_fees, queries
from hiero_sandbox.ledger.custom_fees import unit_of
from hiero_sandbox.ledger.envelopes import TYPES, write_id
from hiero_sandbox.ledger.execution import Changes, Execution, NftTransfer
from marketplace.hedera import times
from marketplace.hedera.ids import numbers

# Mirror nodes name the account or token that a transaction is about. It is in the first of these fields.
ENTITIES = (
    "token", "token_id", "account", "accountIDToUpdate", "deleteAccountID", "owner", "scheduleID",
    "topicID",
)  # fmt: skip


def write(execution: Execution, outer: Execution | None = None) -> None:
    """Record a transaction that reached consensus, successful or not, and all that it has executed.

    ``outer`` is the batch that it is in, or the transaction that has executed it.
    """
    effects, body = execution.effects, execution.signed.body
    kind, has_batch_key = body.WhichOneof("data"), body.HasField("batch_key")
    parent = outer if has_batch_key or body.transactionID.nonce else None
    if parent and execution.now < parent.now:
        parent = None  # what it needed first, such as an account for an alias
    fee = execution.fee + effects.further_fee
    moved = Counter(effects.moved)
    moved.update({(execution.payer, None): -fee, (accounts.FEE_COLLECTOR, None): fee})
    moved.update({(account_id, None): reward for account_id, reward in effects.rewards.items()})
    moved[accounts.STAKING_REWARDS, None] -= sum(effects.rewards.values())
    rows = _amounts(moved)
    document: dict[str, Any] = {
        "batch_key": keys.shown(body.batch_key) if has_batch_key else None,
        "bytes": None,
        "charged_tx_fee": fee,
        "consensus_timestamp": times.to_consensus(execution.now),
        "entity_id": effects.created or _entity(getattr(body, kind)),
        "high_volume": body.high_volume,
        "high_volume_pricing_multiplier": network_fees.high_volume_rate(body),
        "max_custom_fees": _limits(body),
        "max_fee": str(body.transactionFee),
        "memo_base64": base64.b64encode(body.memo.encode()).decode(),
        "name": TYPES[kind],
        "nft_transfers": [
            {"serial_number": nft.serial_no, "token_id": nft.token} | _parties(nft)
            for nft in _transfers(effects.nfts, is_update=kind == "tokenUpdate")
        ],
        "node": write_id(body.nodeAccountID),
        "nonce": body.transactionID.nonce,
        "parent_consensus_timestamp": times.to_consensus(parent.now) if parent else None,
        "result": execution.result,
        "scheduled": body.transactionID.scheduled,
        "staking_reward_transfers": [
            {"account": account_id, "amount": reward}
            for account_id, reward in effects.rewards.items()
        ],
        "token_transfers": [row for row in rows if "token_id" in row],
        "transaction_hash": base64.b64encode(execution.signed.hash or _hash(body)).decode(),
        "transaction_id": execution.id.dashed,
        "transfers": [row for row in rows if "token_id" not in row],
        "valid_duration_seconds": str(body.transactionValidDuration.seconds),
        "valid_start_timestamp": f"{execution.id.seconds}.{execution.id.nanos:09}",
    }
    if effects.assessed_fees:
        document["assessed_custom_fees"] = [
            {
                "amount": assessed.amount,
                "collector_account_id": assessed.collector,
                "effective_payer_account_ids": list(assessed.payers),
                "token_id": assessed.token,
            }
            for assessed in effects.assessed_fees
        ]
    queries.put(
        execution.db,
        "transaction_record",
        consensus_at=execution.now,
        transaction_id=execution.id.dashed,
        document=json.dumps(document),
        record=effects.record.SerializeToString(),
    )
    write_nfts(execution)
    for child in [*effects.children, *execution.inner]:
        write(child, execution)


def _hash(body: Message) -> bytes:
    """The hash of a transaction that nobody has sent: one that another has executed, or a gift."""
    return hashlib.sha384(body.SerializeToString(deterministic=True)).digest()


def _limits(body: Message) -> list[dict[str, Any]]:
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


def _transfers(changed: list[NftTransfer], is_update: bool) -> list[NftTransfer]:
    """The NFTs that were moved. A new treasury got all NFTs of the old one: one row of serial number -1."""
    moved = [nft for nft in changed if nft.sender or nft.receiver]
    return [moved[0]._replace(serial_no=-1)] if moved and is_update else moved


def _entity(content: Message) -> str | None:
    for name in ENTITIES:
        if name in content.DESCRIPTOR.fields_by_name:
            return write_id(getattr(content, name))
    return None


def _amounts(moved: Changes) -> list[dict[str, Any]]:
    """The changes of balances, sorted by the numbers of the tokens, and of the accounts."""

    def place(change: tuple[tuple[str, str | None], int]) -> tuple[list[int], list[int]]:
        (account_id, token), _ = change
        return [*numbers(token)] if token else [], [*numbers(account_id)]

    by_number = sorted(moved.items(), key=place)
    return [
        {"account": account_id, "amount": amount, "is_approval": False}
        | ({"token_id": token} if token else {})
        for (account_id, token), amount in by_number
        if amount
    ]


def _parties(nft: NftTransfer) -> dict[str, Any]:
    """The owner of an NFT before a transfer, and the one after it."""
    return {
        "is_approval": nft.is_approval,
        "receiver_account_id": nft.receiver or None,
        "sender_account_id": nft.sender or None,
    }


def write_nfts(execution: Execution) -> None:
    """Record in the histories of NFTs what a transaction did to them."""
    kind = execution.signed.body.WhichOneof("data")
    for nft in execution.effects.nfts:
        if kind == "tokenUpdate":  # the entry of a new treasury has no accounts
            nft = nft._replace(sender="", receiver="")
        document = {
            "consensus_timestamp": times.to_consensus(execution.now),
            "nonce": 0,
            "transaction_id": execution.id.dashed,
            "type": TYPES[kind],
        }
        queries.put(
            execution.db,
            "nft_transaction",
            token=nft.token,
            serial_no=nft.serial_no,
            consensus_at=execution.now,
            document=json.dumps(document | _parties(nft)),
        )
