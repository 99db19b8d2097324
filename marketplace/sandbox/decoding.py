"""Looks inside a transaction: an SDK's bytes in, plain values out. No key, no clock, no I/O."""

from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from marketplace import times
from marketplace.sandbox.ledger.envelopes import open_transaction, read_list
from marketplace.sandbox.ledger.history import NAMES

LAST_SECOND = 10**11  # the year 5138: what is later is no date


def decode(content: bytes) -> dict:
    """Read what a wallet is asked to sign: the columns of DecodedTransactionSchema. Raises Unreadable.

    A list for several nodes holds the same transaction once for each: the first one is told.
    """
    copies = [open_transaction(transaction) for transaction in read_list(content)]
    signed, body = copies[0], copies[0].body
    kind = body.WhichOneof("data")
    starts_at = signed.id.seconds * times.SECOND + signed.id.nanos
    valid_seconds = body.transactionValidDuration.seconds
    return {
        "type": NAMES.get(kind, kind),
        "payer": signed.id.account_id,
        "transaction_id": str(signed.id),
        "valid_from": _date(starts_at),
        "valid_until": _date(starts_at + valid_seconds * times.SECOND),
        "valid_seconds": valid_seconds,
        "memo": body.memo,
        "max_fee_tinybars": body.transactionFee,
        "node_account_ids": [_account(copy.body.nodeAccountID) for copy in copies],
        "size_bytes": len(content),
        "signed_by": [pair.pubKeyPrefix.hex() for pair in signed.pairs],
        "approvals": _approvals(body, signed.id.account_id),
        "deleted_approvals": _deleted_approvals(body, signed.id.account_id),
        "hbar_transfers": [
            {"account_id": _account(transfer.accountID), "amount": transfer.amount}
            for transfer in body.cryptoTransfer.transfers.accountAmounts
        ],
        "nft_transfers": _nft_transfers(body),
    }


def _approvals(body: TransactionBody, payer: str) -> list[dict]:
    return [
        {
            "token": _id(approval.tokenId, approval.tokenId.tokenNum),
            "serial_nos": list(approval.serial_numbers),
            "owner": _account(approval.owner) if approval.HasField("owner") else payer,
            "spender": _account(approval.spender),
            # Absent leaves an approve-for-all as it is; false, when it is there, revokes it.
            "is_for_all": (
                approval.approved_for_all.value if approval.HasField("approved_for_all") else None
            ),
        }
        for approval in body.cryptoApproveAllowance.nftAllowances
    ]


def _deleted_approvals(body: TransactionBody, payer: str) -> list[dict]:
    return [
        {
            "token": _id(approval.token_id, approval.token_id.tokenNum),
            "serial_nos": list(approval.serial_numbers),
            "owner": _account(approval.owner) if approval.HasField("owner") else payer,
        }
        for approval in body.cryptoDeleteAllowance.nftAllowances
    ]


def _nft_transfers(body: TransactionBody) -> list[dict]:
    return [
        {
            "token": _id(transfers.token, transfers.token.tokenNum),
            "serial_no": transfer.serialNumber,
            "sender": _account(transfer.senderAccountID),
            "receiver": _account(transfer.receiverAccountID),
            "is_approval": transfer.is_approval,
        }
        for transfers in body.cryptoTransfer.tokenTransfers
        for transfer in transfers.nftTransfers
    ]


def _account(account) -> str:
    return _id(account, account.accountNum)


def _id(proto, number: int) -> str:
    return f"{proto.shardNum}.{proto.realmNum}.{number}"


def _date(nanoseconds: int) -> str | None:
    in_range = 0 <= nanoseconds < LAST_SECOND * times.SECOND
    return times.to_iso(nanoseconds) if in_range else None
