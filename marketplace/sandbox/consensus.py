"""Stands in for the consensus nodes: takes signed bytes, checks what they check, records what happened.

Result codes are HAPI's ResponseCodeEnum. What a node refuses before consensus (a bad signature, an
expired or repeated id) leaves no record, as on the network; what fails at consensus is recorded as failed.
"""

import json
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from google.protobuf.message import Message
from hiero_sdk_python.crypto.public_key import PublicKey

from marketplace import times
from marketplace.ids import MAX_INT64, TransactionId
from marketplace.sandbox import history, queries
from marketplace.sandbox.envelopes import Signed, number_of, open_transaction, read_list, write_id
from marketplace.store.database import write

MAX_TRANSACTION_BYTES = 6144
MAX_APPROVALS = 20
MEMO_BYTES = 100


class Refused(Exception):
    """A result code other than SUCCESS."""


class Receipt(NamedTuple):
    """What became of a transaction.

    ``result`` is a code of HAPI's ResponseCodeEnum. Where consensus was not reached, it is what the node
    answered at its precheck: nothing was recorded, and nothing charged.
    """

    transaction_id: str
    result: str
    reached_consensus: bool = True


def submit(content: bytes, now: int) -> Receipt:
    """Submit signed bytes at a moment. A list for several nodes goes to its first one."""
    signed = open_transaction(read_list(content)[0])
    transaction_id = signed.id
    try:
        _precheck(signed, now)
        with write() as db:
            _require_signature(db, signed, transaction_id.account_id, now)
            consensus_at = max(now, queries.get_last_consensus(db) + 1)
            if first := queries.get_transaction(db, transaction_id.dashed):
                _require_another_node(first, signed)
                result = "DUPLICATE_TRANSACTION"
                history.write_signed(db, signed, transaction_id, result, consensus_at)
            else:
                result = _handle(db, signed, transaction_id, consensus_at)
                history.write_signed(db, signed, transaction_id, result, consensus_at)
                if result == "SUCCESS" and signed.body.HasField("scheduleCreate"):
                    history.write_executed(db, signed, transaction_id, consensus_at + 1)
        return Receipt(str(transaction_id), result)
    except Refused as refusal:
        return Receipt(str(transaction_id), str(refusal), reached_consensus=False)


def _require_another_node(first, signed: Signed) -> None:
    """A node knows what was submitted to it; what another one got first is only found at consensus."""
    if json.loads(first["document"])["node"] == write_id(signed.body.nodeAccountID):
        raise Refused("DUPLICATE_TRANSACTION")


def _precheck(signed: Signed, now: int) -> None:
    body = signed.body
    _entity(body.transactionID.accountID, "INVALID_ACCOUNT_ID")
    _entity(body.nodeAccountID, "INVALID_NODE_ACCOUNT")
    if body.transactionID.scheduled or body.transactionID.nonce:
        raise Refused("TRANSACTION_ID_FIELD_NOT_ALLOWED")
    duration = body.transactionValidDuration.seconds
    start = body.transactionID.transactionValidStart
    if not 0 <= start.nanos < times.SECOND or not 0 <= start.seconds < 10**11:
        raise Refused("INVALID_TRANSACTION_START")
    starts_at = start.seconds * times.SECOND + start.nanos
    if signed.size > MAX_TRANSACTION_BYTES:
        raise Refused("TRANSACTION_OVERSIZE")
    if body.WhichOneof("data") not in history.NAMES:
        raise Refused("NOT_SUPPORTED")
    if len(body.memo.encode()) > MEMO_BYTES:
        raise Refused("MEMO_TOO_LONG")
    if "\0" in body.memo:
        raise Refused("INVALID_ZERO_BYTE_IN_STRING")
    if not 15 <= duration <= 180:
        raise Refused("INVALID_TRANSACTION_DURATION")
    if starts_at > now:
        raise Refused("INVALID_TRANSACTION_START")
    if starts_at + duration * times.SECOND < now:
        raise Refused("TRANSACTION_EXPIRED")
    if body.transactionFee < history.FEE_TINYBARS:
        raise Refused("INSUFFICIENT_TX_FEE")


def _require_signature(db, signed: Signed, account_id: str, now: int) -> None:
    """Check that an account has signed. The first key that signs for an account becomes its key.

    But the payer's own signature never speaks for another account whose key is not known yet.
    """
    account = queries.get_account(db, account_id)
    payer = queries.get_account(db, signed.id.account_id)
    for pair in signed.pairs:
        key = bytes.fromhex(account["public_key"]) if account else pair.pubKeyPrefix
        if not key.startswith(pair.pubKeyPrefix):
            continue
        if account is None and payer and payer["public_key"] == key.hex():
            continue
        key_type = _verify(key, pair, signed.body_bytes)
        if key_type:
            if account is None:
                queries.insert_account(db, account_id, key_type, key.hex(), now)
            return
    raise Refused("INVALID_SIGNATURE")


def _verify(key: bytes, pair, content: bytes) -> str | None:
    """The type of the key whose signature of the content this pair is, or None where it is none."""
    try:
        if len(key) == 32:
            Ed25519PublicKey.from_public_bytes(key).verify(pair.ed25519, content)
            return "ED25519"
        if len(key) == 33:
            PublicKey.from_bytes_ecdsa(key).verify(pair.ECDSA_secp256k1, content)
            return "ECDSA_SECP256K1"
    except (InvalidSignature, ValueError):
        pass
    return None


def _handle(db, signed: Signed, transaction_id: TransactionId, now: int) -> str:
    """Do what the transaction says, all of it or nothing, and return the result code."""
    handlers = {
        "cryptoApproveAllowance": _approve,
        "cryptoDeleteAllowance": _delete_approvals,
        "cryptoTransfer": _transfer,
        "scheduleCreate": _schedule,
    }
    kind = signed.body.WhichOneof("data")
    db.execute("SAVEPOINT effects")
    try:
        handlers[kind](db, signed, getattr(signed.body, kind), transaction_id, now)
        return "SUCCESS"
    except Refused as refusal:
        db.execute("ROLLBACK TO effects")
        return str(refusal)
    finally:
        db.execute("RELEASE effects")


def _approve(db, signed: Signed, approvals, transaction_id: TransactionId, now: int) -> None:
    if approvals.cryptoAllowances or approvals.tokenAllowances:
        raise Refused("NOT_SUPPORTED")
    if not approvals.nftAllowances:
        raise Refused("EMPTY_ALLOWANCES")
    _require_few(approvals.nftAllowances)
    for approval in approvals.nftAllowances:
        owner = _owner_of(db, signed, approval, transaction_id, now)
        token = _entity(approval.tokenId, "INVALID_TOKEN_ID")
        if not approval.HasField("spender"):
            raise Refused("INVALID_ALLOWANCE_SPENDER_ID")
        if approval.HasField("delegating_spender"):
            raise Refused("NOT_SUPPORTED")
        spender = _entity(approval.spender, "INVALID_ALLOWANCE_SPENDER_ID")
        if spender == owner:
            raise Refused("SPENDER_ACCOUNT_SAME_AS_OWNER")
        if approval.HasField("approved_for_all"):
            # A false one that is present revokes: the trap of the SDKs that always send it.
            queries.delete_approval_for_all(db, owner, spender, token)
            if approval.approved_for_all.value:
                queries.insert_approval_for_all(db, owner, spender, token, now)
        elif not approval.serial_numbers:
            raise Refused("EMPTY_ALLOWANCES")
        for serial_no in approval.serial_numbers:
            _require_owner(db, token, serial_no, owner)
            queries.mark_spender(db, token, serial_no, spender, now)
            history.write_nft_transaction(
                db, token, serial_no, transaction_id, now, "CRYPTOAPPROVEALLOWANCE"
            )


def _schedule(db, signed: Signed, schedule, transaction_id: TransactionId, now: int) -> None:
    """Execute what is scheduled at once: all that must sign it have signed, or it is refused.

    Only approvals, and no schedule stays open: the network would wait for signatures.
    """
    scheduled = schedule.scheduledTransactionBody
    if scheduled.WhichOneof("data") != "cryptoApproveAllowance":
        raise Refused("SCHEDULED_TRANSACTION_NOT_IN_WHITELIST")
    if schedule.HasField("payerAccountID") or schedule.wait_for_expiry:
        raise Refused("NOT_SUPPORTED")
    _approve(db, signed, scheduled.cryptoApproveAllowance, transaction_id, now + 1)


def _delete_approvals(db, signed: Signed, approvals, transaction_id: TransactionId, now) -> None:
    if not approvals.nftAllowances:
        raise Refused("EMPTY_ALLOWANCES")
    _require_few(approvals.nftAllowances)
    for approval in approvals.nftAllowances:
        owner = _owner_of(db, signed, approval, transaction_id, now)
        token = _entity(approval.token_id, "INVALID_TOKEN_ID")
        if not approval.serial_numbers:
            raise Refused("EMPTY_ALLOWANCES")
        for serial_no in approval.serial_numbers:
            _require_owner(db, token, serial_no, owner)
            queries.mark_spender(db, token, serial_no, None, now)
            history.write_nft_transaction(
                db, token, serial_no, transaction_id, now, "CRYPTODELETEALLOWANCE"
            )


def _transfer(db, signed: Signed, transfers, transaction_id: TransactionId, now: int) -> None:
    # The sandbox keeps no balances: HBAR moves freely, as long as it adds up.
    if sum(amount.amount for amount in transfers.transfers.accountAmounts):
        raise Refused("INVALID_ACCOUNT_AMOUNTS")
    for amount in transfers.transfers.accountAmounts:
        if amount.amount < 0 and amount.is_approval:
            raise Refused("SPENDER_DOES_NOT_HAVE_ALLOWANCE")  # there are none of HBAR here
        if amount.amount < 0:
            account_id = _entity(amount.accountID, "INVALID_ACCOUNT_ID")
            _require_signature(db, signed, account_id, now)
    moved_already = set()
    for moved in transfers.tokenTransfers:
        if moved.transfers:
            raise Refused("NOT_SUPPORTED")
        token = _entity(moved.token, "INVALID_TOKEN_ID")
        for transfer in moved.nftTransfers:
            if (token, transfer.serialNumber) in moved_already:
                raise Refused("INVALID_ACCOUNT_AMOUNTS")
            moved_already.add((token, transfer.serialNumber))
            sender = _entity(transfer.senderAccountID, "INVALID_ACCOUNT_ID")
            receiver = _entity(transfer.receiverAccountID, "INVALID_ACCOUNT_ID")
            if sender == receiver:
                raise Refused("ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS")
            nft = _require_owner(db, token, transfer.serialNumber, sender)
            if transfer.is_approval:
                _require_approval(db, nft, transaction_id.account_id)
            else:
                _require_signature(db, signed, sender, now)
            _move(db, nft, receiver, transaction_id, now, bool(transfer.is_approval))


def _require_few(approvals) -> None:
    if sum(max(1, len(approval.serial_numbers)) for approval in approvals) > MAX_APPROVALS:
        raise Refused("MAX_ALLOWANCES_EXCEEDED")


def _owner_of(db, signed: Signed, approval, transaction_id: TransactionId, now: int) -> str:
    """Whose approval it is: the payer's, or that of an owner who has signed too."""
    if not approval.HasField("owner"):
        return transaction_id.account_id
    owner = _entity(approval.owner, "INVALID_ALLOWANCE_OWNER_ID")
    if owner != transaction_id.account_id:
        _require_signature(db, signed, owner, now)
    return owner


def _require_owner(db, token: str, serial_no: int, owner: str):
    if serial_no < 1:
        raise Refused("INVALID_TOKEN_NFT_SERIAL_NUMBER")
    if queries.get_deleted_token(db, token):
        raise Refused("TOKEN_WAS_DELETED")
    nft = queries.get_nft(db, token, serial_no)
    if nft is None or nft["owner"] != owner:
        raise Refused("SENDER_DOES_NOT_OWN_NFT_SERIAL_NO")
    return nft


def _require_approval(db, nft, spender: str) -> None:
    if nft["spender"] != spender and not queries.get_approval_for_all(
        db, nft["owner"], spender, nft["token"]
    ):
        raise Refused("SPENDER_DOES_NOT_HAVE_ALLOWANCE")


def _move(db, nft, receiver: str, transaction_id: TransactionId, now: int, is_approval: bool):
    queries.mark_owner(db, nft["token"], nft["serial_no"], receiver, now)
    history.write_nft_transaction(
        db,
        nft["token"],
        nft["serial_no"],
        transaction_id,
        now,
        "CRYPTOTRANSFER",
        sender_account_id=nft["owner"],
        receiver_account_id=receiver,
        is_approval=is_approval,
    )


def _entity(proto: Message, code: str) -> str:
    """Write a protobuf id as text. Refuses, with the code, what the sandbox has no account for."""
    number = number_of(proto)
    if min(proto.shardNum, proto.realmNum, number) < 0 or number > MAX_INT64 or number == 0:
        raise Refused(code)
    return write_id(proto)


# What needs no signature


def mint(token: str, serial_no: int, owner: str, now: int) -> None:
    """Give an NFT that nobody has yet to its first owner. A deleted token has none to give."""
    with write() as db:
        is_deleted = queries.get_deleted_token(db, token)
        if not is_deleted and queries.insert_nft(db, token, serial_no, owner, now):
            transaction_id = TransactionId(queries.TREASURY, *divmod(now, times.SECOND))
            history.write_nft_transaction(
                db, token, serial_no, transaction_id, now, "TOKENMINT", receiver_account_id=owner
            )


def hand_over(token: str, serial_no: int, receiver: str, now: int) -> Receipt:
    """Move an NFT to another account, as a sale elsewhere would: whoever owns it is not asked."""
    with write() as db:
        queries.insert_nft(db, token, serial_no, queries.TREASURY, now)
        nft = queries.get_nft(db, token, serial_no)
        now = max(now, queries.get_last_consensus(db) + 1, nft["modified_at"] + 1)
        transaction_id = TransactionId(nft["owner"], *divmod(now, times.SECOND))
        if queries.get_deleted_token(db, token):
            return Receipt(str(transaction_id), "TOKEN_WAS_DELETED")
        _move(db, nft, receiver, transaction_id, now, is_approval=False)
        moved = history.nft_transfer(token, serial_no, nft["owner"], receiver, is_approval=False)
        history.write_transaction(
            db, transaction_id, "CRYPTOTRANSFER", now, {"nft_transfers": [moved]}
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


def update_metadata(token: str, serial_no: int, now: int) -> Receipt:
    """Update an NFT's metadata, as its issuer may: who may spend it stays as it is."""
    with write() as db:
        queries.insert_nft(db, token, serial_no, queries.TREASURY, now)
        nft = queries.get_nft(db, token, serial_no)
        now = max(now, queries.get_last_consensus(db) + 1, nft["modified_at"] + 1)
        transaction_id = TransactionId(queries.TREASURY, *divmod(now, times.SECOND))
        queries.mark_spender(db, token, serial_no, nft["spender"], now)
        history.write_nft_transaction(db, token, serial_no, transaction_id, now, "TOKENUPDATENFTS")
        history.write_transaction(db, transaction_id, "TOKENUPDATENFTS", now, {"entity_id": token})
    return Receipt(str(transaction_id), "SUCCESS")


def make_odd(token: str, serial_no: int, kind: str) -> None:
    """Let the mirror node answer about an NFT in a way that is rare, and real."""
    with write() as db:
        queries.insert_oddity(db, token, serial_no, kind)
