"""Decodes transactions: an SDK's bytes in, plain values out. No key, no clock, no I/O."""

from datetime import UTC, datetime
from typing import Any

from hiero_sdk_python.hapi.services.basic_types_pb2 import TokenID
from hiero_sdk_python.hapi.services.crypto_approve_allowance_pb2 import (
    CryptoAllowance,
    NftAllowance,
    TokenAllowance,
)
from hiero_sdk_python.hapi.services.crypto_delete_allowance_pb2 import NftRemoveAllowance

from hiero_sandbox import times
from hiero_sandbox.ledger.envelopes import TYPES, open_transaction, read_list, write_id

Allowance = NftAllowance | TokenAllowance | CryptoAllowance | NftRemoveAllowance
LAST_SECOND = 10**11  # the year 5138; later ones are no date


def decode(content: bytes) -> dict[str, Any]:
    """Decode a transaction to the fields of DecodedTransactionSchema. Raises Unreadable.

    A list for several nodes holds the same transaction once for each node. The first one is decoded.
    """
    copies = [open_transaction(transaction) for transaction in read_list(content)]
    signed, body = copies[0], copies[0].body
    payer = signed.id.account_id
    valid_seconds = body.transactionValidDuration.seconds
    return {
        "type": TYPES.get(body.WhichOneof("data")),
        "payer": payer,
        "transactionId": str(signed.id),
        "validFrom": _date(signed.id.valid_start),
        "validUntil": _date(signed.id.valid_start + valid_seconds * times.SECOND),
        "validSeconds": valid_seconds,
        "memo": body.memo,
        "maxFeeTinybars": body.transactionFee,
        "nodeAccountIds": [write_id(copy.body.nodeAccountID) for copy in copies],
        "sizeBytes": len(content),
        "signedBy": [pair.pubKeyPrefix.hex() for pair in signed.pairs],
        "approvals": [
            _approval(allowance, payer) for allowance in body.cryptoApproveAllowance.nftAllowances
        ],
        "deletedApprovals": [
            _allowance(allowance, allowance.token_id, payer)
            for allowance in body.cryptoDeleteAllowance.nftAllowances
        ],
        "hbarTransfers": [
            {"accountId": write_id(transfer.accountID), "amount": transfer.amount}
            for transfer in body.cryptoTransfer.transfers.accountAmounts
        ],
        "nftTransfers": [
            {
                "tokenId": write_id(transfers.token),
                "serialNumber": transfer.serialNumber,
                "sender": write_id(transfer.senderAccountID),
                "receiver": write_id(transfer.receiverAccountID),
                "isApproval": transfer.is_approval,
            }
            for transfers in body.cryptoTransfer.tokenTransfers
            for transfer in transfers.nftTransfers
        ],
    }


def parties(content: bytes) -> set[str] | None:
    """The accounts of an approval or a transfer, some of which must sign; None if the bytes don't say it.

    Other transactions are signed by keys of tokens and topics, too, and an alias may be any account.
    """
    signed = open_transaction(read_list(content)[0])
    body, payer = signed.body, signed.id.account_id
    kind = body.WhichOneof("data")
    if kind == "cryptoApproveAllowance":
        allowances: list[Allowance] = [
            *body.cryptoApproveAllowance.nftAllowances,
            *body.cryptoApproveAllowance.tokenAllowances,
            *body.cryptoApproveAllowance.cryptoAllowances,
        ]
        ids = [each.owner for each in allowances if each.HasField("owner")]
        delegated = body.cryptoApproveAllowance.nftAllowances
        ids += [one.delegating_spender for one in delegated if one.HasField("delegating_spender")]
    elif kind == "cryptoDeleteAllowance":
        allowances = [*body.cryptoDeleteAllowance.nftAllowances]
        ids = [each.owner for each in allowances if each.HasField("owner")]
    elif kind == "cryptoTransfer":
        tokens = body.cryptoTransfer.tokenTransfers
        ids = [each.accountID for each in body.cryptoTransfer.transfers.accountAmounts]
        ids += [each.accountID for transfers in tokens for each in transfers.transfers]
        ids += [each.senderAccountID for transfers in tokens for each in transfers.nftTransfers]
        ids += [each.receiverAccountID for transfers in tokens for each in transfers.nftTransfers]
    else:
        return None
    if any(each.HasField("alias") for each in ids):
        return None
    return {payer, *map(write_id, ids)}


def _approval(allowance: NftAllowance, payer: str) -> dict[str, Any]:
    # If it is missing, an approval for all does not change. False revokes it.
    for_all = allowance.approved_for_all if allowance.HasField("approved_for_all") else None
    return _allowance(allowance, allowance.tokenId, payer) | {
        "spender": write_id(allowance.spender),
        "approvedForAll": for_all and for_all.value,
    }


def _allowance(
    allowance: NftAllowance | NftRemoveAllowance, token: TokenID, payer: str
) -> dict[str, Any]:
    return {
        "tokenId": write_id(token),
        "serialNumbers": list(allowance.serial_numbers),
        "owner": write_id(allowance.owner) if allowance.HasField("owner") else payer,
    }


def _date(nanoseconds: int) -> str | None:
    in_range = 0 <= nanoseconds < LAST_SECOND * times.SECOND
    if not in_range:
        return None
    seconds, nanos = divmod(nanoseconds, times.SECOND)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{nanos:09}Z"
