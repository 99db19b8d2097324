"""Stands in for the consensus nodes: takes signed bytes, checks what they check, records what happened.

Result codes are HAPI's ResponseCodeEnum. What a node refuses before consensus (a bad signature, an
expired or repeated id, a payer who can't pay) leaves no record and costs nothing, as on the network; what
fails at consensus is recorded as failed, and its payer pays the fee, and nothing else.
"""

import base64
import json
import time
from collections.abc import Callable
from typing import NamedTuple

from marketplace import times
from marketplace.ids import TransactionId
from marketplace.sandbox.ledger import (
    accounts,
    allowances,
    custom_fees,
    history,
    network_fees,
    queries,
    schedules,
    signatures,
    tokens,
    transfers,
)
from marketplace.sandbox.ledger.accounts import Refused
from marketplace.sandbox.ledger.envelopes import Signed, open_transaction, read_list, write_id
from marketplace.sandbox.ledger.execution import Effects, Execution, NftTransfer, entity
from marketplace.store.database import write

MAX_TRANSACTION_BYTES = 6144
MEMO_BYTES = 100


class Receipt(NamedTuple):
    """What became of a transaction.

    ``result`` is a code of HAPI's ResponseCodeEnum. Where consensus was not reached, it is what the node
    answered at its precheck: nothing was recorded, and nothing charged.
    """

    transaction_id: str
    result: str
    reached_consensus: bool = True


class Kind(NamedTuple):
    """What is done with one kind of transaction: before consensus, and at it."""

    check: Callable | None
    handle: Callable[[Execution, object], None]


KINDS = {
    "cryptoApproveAllowance": Kind(allowances.check, allowances.approve),
    "cryptoDeleteAllowance": Kind(allowances.check, allowances.delete),
    "cryptoTransfer": Kind(transfers.check, transfers.transfer),
    "scheduleCreate": Kind(None, schedules.create),
    "tokenAssociate": Kind(tokens.check_associations, tokens.associate),
    "tokenDissociate": Kind(tokens.check_associations, tokens.dissociate),
    "tokenMint": Kind(tokens.check_mint, tokens.mint),
}


def submit(content: bytes, now: int) -> Receipt:
    """Submit signed bytes at a moment. A list for several nodes goes to its first one."""
    came = time.monotonic_ns()
    signed = open_transaction(read_list(content)[0])
    try:
        _precheck(signed, now)
        with write() as db:
            # Whoever waited for others comes after what the mirror node has told meanwhile.
            now += time.monotonic_ns() - came
            _require_valid(signed, now)
            signatures.require(db, signed, signed.id.account_id, now)
            first = queries.get_transaction(db, signed.id.dashed)
            if first:
                _require_another_node(first, signed)
            _require_solvency(db, signed)
            return Receipt(str(signed.id), _reach_consensus(db, signed, now, first is not None))
    except Refused as refusal:
        return Receipt(str(signed.id), str(refusal), reached_consensus=False)


def _precheck(signed: Signed, now: int) -> None:
    body = signed.body
    entity(body.transactionID.accountID, "INVALID_ACCOUNT_ID")
    entity(body.nodeAccountID, "INVALID_NODE_ACCOUNT")
    if body.transactionID.scheduled or body.transactionID.nonce:
        raise Refused("TRANSACTION_ID_FIELD_NOT_ALLOWED")
    start = body.transactionID.transactionValidStart
    if not 0 <= start.nanos < times.SECOND or not 0 <= start.seconds < 10**11:
        raise Refused("INVALID_TRANSACTION_START")
    if signed.size > MAX_TRANSACTION_BYTES:
        raise Refused("TRANSACTION_OVERSIZE")
    kind = body.WhichOneof("data")
    if kind not in KINDS:
        raise Refused("NOT_SUPPORTED")
    if len(body.memo.encode()) > MEMO_BYTES:
        raise Refused("MEMO_TOO_LONG")
    if "\0" in body.memo:
        raise Refused("INVALID_ZERO_BYTE_IN_STRING")
    if not 15 <= body.transactionValidDuration.seconds <= 180:
        raise Refused("INVALID_TRANSACTION_DURATION")
    _require_valid(signed, now)
    if KINDS[kind].check:
        KINDS[kind].check(getattr(body, kind))
    if body.transactionFee < network_fees.price(signed):
        raise Refused("INSUFFICIENT_TX_FEE")


def _require_valid(signed: Signed, now: int) -> None:
    """It must have begun to be valid, and not have expired."""
    start = signed.body.transactionID.transactionValidStart
    starts_at = start.seconds * times.SECOND + start.nanos
    if starts_at > now:
        raise Refused("INVALID_TRANSACTION_START")
    if starts_at + signed.body.transactionValidDuration.seconds * times.SECOND < now:
        raise Refused("TRANSACTION_EXPIRED")


def _require_another_node(first, signed: Signed) -> None:
    """A node knows what was submitted to it; what another one got first is only found at consensus."""
    if json.loads(first["document"])["node"] == write_id(signed.body.nodeAccountID):
        raise Refused("DUPLICATE_TRANSACTION")


def _require_solvency(db, signed: Signed) -> None:
    """The payer must have the fee, and what the transaction takes from him besides."""
    payer = signed.id.account_id
    spent = max(0, -transfers.hbar_of(signed.body.cryptoTransfer)[payer])
    if accounts.balance(db, payer) < network_fees.price(signed) + spent:
        raise Refused("INSUFFICIENT_PAYER_BALANCE")


def _reach_consensus(db, signed: Signed, now: int, is_duplicate: bool) -> str:
    """Charge a transaction, handle it, and write it down; returns the result code."""
    consensus_at = max(now, queries.get_last_consensus(db) + 1)
    price = network_fees.price_unhandled(signed) if is_duplicate else network_fees.price(signed)
    execution = Execution(db, signed, consensus_at, price)
    execution.charge()
    result = "DUPLICATE_TRANSACTION" if is_duplicate else _handle(execution)
    history.write_signed(execution, result)
    if execution.effects.child:
        history.write_executed(execution.effects.child)
    return result


def _handle(execution: Execution) -> str:
    """Do what the transaction says, all of it or nothing, and return the result code."""
    db, body = execution.db, execution.signed.body
    kind = body.WhichOneof("data")
    db.execute("SAVEPOINT effects")
    try:
        KINDS[kind].handle(execution, getattr(body, kind))
        return "SUCCESS"
    except Refused as refusal:
        db.execute("ROLLBACK TO effects")
        execution.effects = Effects()
        return str(refusal)
    finally:
        db.execute("RELEASE effects")


# What needs no signature, and costs nothing


def mint(token: str, serial_no: int, owner: str, now: int) -> None:
    """Give an NFT that nobody has yet to its first owner. A deleted token has none to give."""
    with write() as db:
        is_deleted = queries.get_deleted_token(db, token)
        if not is_deleted and queries.insert_nft(db, token, serial_no, owner, now):
            accounts.associate(db, owner, token, now)
            transaction_id = TransactionId(queries.TREASURY, *divmod(now, times.SECOND))
            history.write_nft_transaction(
                db, token, serial_no, transaction_id, now, "TOKENMINT", receiver_account_id=owner
            )


def hand_over(token: str, serial_no: int, receiver: str, now: int) -> Receipt:
    """Move an NFT to another account, as a sale elsewhere would: whoever owns it is not asked."""
    with write() as db:
        nft = queries.get_nft(db, token, serial_no)
        owner, modified_at = (nft["owner"], nft["modified_at"]) if nft else (queries.TREASURY, now)
        now = max(now, queries.get_last_consensus(db) + 1, modified_at + 1)
        transaction_id = TransactionId(owner, *divmod(now, times.SECOND))
        try:
            if queries.get_deleted_token(db, token):
                raise Refused("TOKEN_WAS_DELETED")
            accounts.associate_receiver(db, receiver, token, now)
        except Refused as refusal:
            return Receipt(str(transaction_id), str(refusal), reached_consensus=False)
        queries.insert_nft(db, token, serial_no, owner, now)
        queries.mark_owner(db, token, serial_no, receiver, now)
        moved = NftTransfer(token, serial_no, owner, receiver)
        history.write_moved(db, transaction_id, now, "CRYPTOTRANSFER", moved)
        history.write_transaction(
            db, transaction_id, "CRYPTOTRANSFER", now, {"nft_transfers": [history.shown(moved)]}
        )
    return Receipt(str(transaction_id), "SUCCESS")


def delete_token(token: str, now: int) -> Receipt:
    """Delete a token with all of its NFTs, as its issuer may. Their rows stay as they were."""
    with write() as db:
        now = max(now, queries.get_last_consensus(db) + 1)
        transaction_id = TransactionId(queries.TREASURY, *divmod(now, times.SECOND))
        if queries.insert_deleted_token(db, token, now) is None:
            return Receipt(str(transaction_id), "TOKEN_WAS_DELETED")
        history.write_transaction(db, transaction_id, "TOKENDELETION", now, {"entity_id": token})
    return Receipt(str(transaction_id), "SUCCESS")


def change_fees(token: str, schedule: custom_fees.Schedule, now: int) -> Receipt:
    """Give a token other custom fees, as its issuer may, from now on."""
    with write() as db:
        now = max(now, queries.get_last_consensus(db) + 1)
        transaction_id = TransactionId(queries.TREASURY, *divmod(now, times.SECOND))
        try:
            if queries.get_deleted_token(db, token):
                raise Refused("TOKEN_WAS_DELETED")
            custom_fees.change(db, token, schedule._replace(since=now))
        except Refused as refusal:
            return Receipt(str(transaction_id), str(refusal), reached_consensus=False)
        changed = {"entity_id": token}
        history.write_transaction(db, transaction_id, "TOKENFEESCHEDULEUPDATE", now, changed)
    return Receipt(str(transaction_id), "SUCCESS")


def update_metadata(token: str, serial_no: int, now: int, metadata: str | None = None) -> Receipt:
    """Update an NFT's metadata, as its issuer may: who may spend it stays as it is.

    Without a text that leads to other metadata, it is updated to what it was.
    """
    with write() as db:
        queries.insert_nft(db, token, serial_no, queries.TREASURY, now)
        nft = queries.get_nft(db, token, serial_no)
        now = max(now, queries.get_last_consensus(db) + 1, nft["modified_at"] + 1)
        transaction_id = TransactionId(queries.TREASURY, *divmod(now, times.SECOND))
        queries.mark_spender(db, token, serial_no, nft["spender"], now)
        if metadata is not None:
            encoded = base64.b64encode(metadata.encode()).decode()
            queries.mark_metadata(db, token, serial_no, encoded)
        history.write_nft_transaction(db, token, serial_no, transaction_id, now, "TOKENUPDATENFTS")
        history.write_transaction(db, transaction_id, "TOKENUPDATENFTS", now, {"entity_id": token})
    return Receipt(str(transaction_id), "SUCCESS")


def make_odd(token: str, serial_no: int, kind: str) -> None:
    """Let the mirror node answer about an NFT in a way that is rare, and real."""
    with write() as db:
        queries.insert_oddity(db, token, serial_no, kind)
