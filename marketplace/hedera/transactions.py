"""Builds the transactions of listings, withdrawals, purchases and offers. No key, no clock, no I/O.

It loads hiero-sdk-python, which takes 70 MB: import this module only when a transaction is built.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

import hiero_sdk_python.hapi.services.basic_types_pb2 as hapi
import hiero_sdk_python.hapi.services.crypto_approve_allowance_pb2 as approvals
import hiero_sdk_python.hapi.services.crypto_delete_allowance_pb2 as removals
from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList
from hiero_sdk_python.hapi.services.crypto_transfer_pb2 import CryptoTransferTransactionBody
from hiero_sdk_python.hapi.services.duration_pb2 import Duration
from hiero_sdk_python.hapi.services.schedulable_transaction_body_pb2 import (
    SchedulableTransactionBody,
)
from hiero_sdk_python.hapi.services.schedule_create_pb2 import ScheduleCreateTransactionBody
from hiero_sdk_python.hapi.services.schedule_delete_pb2 import ScheduleDeleteTransactionBody
from hiero_sdk_python.hapi.services.schedule_sign_pb2 import ScheduleSignTransactionBody
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from marketplace.hedera import messages, times
from marketplace.hedera.hbar import TINYBARS, find_credit
from marketplace.hedera.ids import TransactionId, numbers
from marketplace.hedera.messages import encode, write_list


class Envelope(TypedDict):
    """What every transaction has."""

    transaction_id: TransactionId
    memo: str
    max_fee_tinybars: int
    valid_seconds: int
    node_account_id: str


def build_listing(
    *, token: str, serial_nos: Sequence[int], spender: str, **envelope: Unpack[Envelope]
) -> bytes:
    """Build the unsigned listing: an allowance of exactly these serials, from their owner to the spender.

    The transaction id's account is owner and payer, and must sign.
    Returns the bytes of a HAPI TransactionList with one transaction: what an SDK's Transaction.fromBytes()
    reads.
    """
    allowance = approvals.NftAllowance(
        tokenId=messages.token(token),
        owner=messages.account(envelope["transaction_id"].account_id),
        spender=messages.account(spender),
        serial_numbers=serial_nos,
        # approved_for_all is left out. The SDK's own helper sends False, which at consensus revokes an
        # approve-for-all that the owner gave earlier.
    )
    data = approvals.CryptoApproveAllowanceTransactionBody(nftAllowances=[allowance])
    return write_unsigned(_body(envelope, cryptoApproveAllowance=data))


def build_withdrawal(
    *, token: str, serial_nos: Sequence[int], **envelope: Unpack[Envelope]
) -> bytes:
    """Build the unsigned withdrawal: it deletes the allowances of exactly these serials.

    The transaction id's account is owner and payer, and must sign. Returns what build_listing() does.
    """
    removed = removals.NftRemoveAllowance(
        token_id=messages.token(token),
        owner=messages.account(envelope["transaction_id"].account_id),
        serial_numbers=serial_nos,
    )
    data = removals.CryptoDeleteAllowanceTransactionBody(nftAllowances=[removed])
    return write_unsigned(_body(envelope, cryptoDeleteAllowance=data))


class SoldNft(NamedTuple):
    """One NFT of a purchase."""

    token: str
    serial_no: int
    seller: str
    price: int  # HBAR


def build_purchase(
    *, nfts: Sequence[SoldNft], buyer: str, fee_basis_points: int, **envelope: Unpack[Envelope]
) -> bytes:
    """Build the body of a purchase: all NFTs and all prices change hands together, or none does.

    Each NFT goes from its owner to the buyer by approval. The buyer pays the prices, in HBAR: each owner gets
    them less the marketplace's part, which goes to the transaction id's account. That account is the spender
    and the payer. It must sign, and so must the buyer. Returns the bytes of a HAPI TransactionBody.
    """
    market = envelope["transaction_id"].account_id
    payments: dict[str, int] = defaultdict(int)
    for nft in nfts:
        tinybars, credit = nft.price * TINYBARS, find_credit(nft.price, fee_basis_points)
        payments[buyer] -= tinybars
        payments[nft.seller] += credit
        if part := tinybars - credit:
            payments[market] += part
    amounts = [
        hapi.AccountAmount(accountID=messages.account(account_id), amount=payments[account_id])
        for account_id in sorted(payments, key=numbers)  # as JavaScript sorts them
    ]
    by_token: dict[str, list[SoldNft]] = defaultdict(list)
    for nft in sorted(nfts, key=_in_order):
        by_token[nft.token].append(nft)
    moved = [
        hapi.TokenTransferList(
            token=messages.token(token),
            nftTransfers=[
                hapi.NftTransfer(
                    senderAccountID=messages.account(nft.seller),
                    receiverAccountID=messages.account(buyer),
                    serialNumber=nft.serial_no,
                    is_approval=True,
                )
                for nft in of_token
            ],
        )
        for token, of_token in by_token.items()
    ]
    data = CryptoTransferTransactionBody(
        transfers=hapi.TransferList(accountAmounts=amounts), tokenTransfers=moved
    )
    return _body(envelope, cryptoTransfer=data)


def _in_order(nft: SoldNft) -> tuple[Any, ...]:
    """The order in which JavaScript sorts NFTs of one receiver. Then it groups them by token."""
    return numbers(nft.seller), nft.serial_no, numbers(nft.token)


class ScheduledSale(NamedTuple):
    """What an offer's schedule executes: the seller's NFT against the bidder's HBAR."""

    token: str
    serial_no: int
    seller: str
    bidder: str
    price: int  # HBAR
    part_tinybars: int  # of the price, for the marketplace
    market: str  # the marketplace's account
    memo: str
    max_fee_tinybars: int  # the highest fee of the execution, which the bidder pays

    def build(self) -> SchedulableTransactionBody:
        """Build the transaction. The rule of an offer admits no other form of it."""
        payments: dict[str, int] = defaultdict(int)
        tinybars = self.price * TINYBARS
        payments[self.bidder] -= tinybars
        payments[self.seller] += tinybars - self.part_tinybars
        payments[self.market] += self.part_tinybars
        moved = hapi.NftTransfer(
            senderAccountID=messages.account(self.seller),
            receiverAccountID=messages.account(self.bidder),
            serialNumber=self.serial_no,
        )
        data = CryptoTransferTransactionBody(
            transfers=hapi.TransferList(
                accountAmounts=[
                    hapi.AccountAmount(accountID=messages.account(account_id), amount=amount)
                    for account_id, amount in sorted(
                        payments.items(), key=lambda item: numbers(item[0])
                    )
                    if amount
                ]
            ),
            tokenTransfers=[
                hapi.TokenTransferList(token=messages.token(self.token), nftTransfers=[moved])
            ],
        )
        return SchedulableTransactionBody(
            transactionFee=self.max_fee_tinybars, memo=self.memo, cryptoTransfer=data
        )


def build_offer(
    *,
    sale: ScheduledSale,
    expires_at: int,
    admin_keys: Sequence[hapi.Key],
    **envelope: Unpack[Envelope],
) -> bytes:
    """Build the unsigned ScheduleCreate of an offer. The transaction id's account is the bidder.

    The network executes the sale once the owner has signed it, too; the bidder pays for that. Each of
    ``admin_keys`` can delete the schedule. ``expires_at``: in seconds since 1970. Returns what
    build_listing() does.
    """
    threshold = hapi.ThresholdKey(threshold=1, keys=hapi.KeyList(keys=admin_keys))
    data = ScheduleCreateTransactionBody(
        scheduledTransactionBody=sale.build(),
        memo=envelope["memo"],
        adminKey=hapi.Key(thresholdKey=threshold),
        payerAccountID=messages.account(sale.bidder),
        expiration_time=messages.timestamp(expires_at * times.SECOND),
    )
    return write_unsigned(_body(envelope, scheduleCreate=data))


def build_offer_signature(*, schedule_id: str, **envelope: Unpack[Envelope]) -> bytes:
    """Build the unsigned ScheduleSign, by which the transaction id's account signs what is scheduled.

    Returns what build_listing() does.
    """
    data = ScheduleSignTransactionBody(scheduleID=messages.schedule(schedule_id))
    return write_unsigned(_body(envelope, scheduleSign=data))


def build_offer_withdrawal(*, schedule_id: str, **envelope: Unpack[Envelope]) -> bytes:
    """Build the unsigned ScheduleDelete of an offer. Returns what build_listing() does."""
    data = ScheduleDeleteTransactionBody(scheduleID=messages.schedule(schedule_id))
    return write_unsigned(_body(envelope, scheduleDelete=data))


def read_first(transactions: bytes) -> bytes:
    """The bytes of the first HAPI Transaction of a TransactionList: what a node takes."""
    [first, *_] = TransactionList.FromString(transactions).transaction_list
    return bytes(first.SerializeToString())


def write_signed(body_bytes: bytes, public_key: bytes, signature: bytes) -> bytes:
    """Write a body with one signature: the bytes of a HAPI TransactionList, as build_listing() does."""
    kind = "ed25519" if len(public_key) == 32 else "ECDSA_secp256k1"
    pair = hapi.SignaturePair(pubKeyPrefix=public_key, **{kind: signature})
    signatures = hapi.SignatureMap(sigPair=[pair])
    return write_list(SignedTransaction(bodyBytes=body_bytes, sigMap=signatures))


def _body(envelope: Envelope, **data: Any) -> bytes:
    """Write the body of a transaction for one node. ``data``: the transaction's own part of the body.

    With several nodes, a hardware wallet would ask its user for each, and the marketplace might pay twice.
    """
    transaction_id = envelope["transaction_id"]
    start = messages.timestamp(transaction_id.valid_start)
    payer = messages.account(transaction_id.account_id)
    body = TransactionBody(
        transactionID=hapi.TransactionID(accountID=payer, transactionValidStart=start),
        nodeAccountID=messages.account(envelope["node_account_id"]),
        transactionFee=envelope["max_fee_tinybars"],
        transactionValidDuration=Duration(seconds=envelope["valid_seconds"]),
        memo=envelope["memo"],
        **data,
    )
    return encode(body)


def write_unsigned(body: bytes) -> bytes:
    """Write a body without signatures: the bytes of a HAPI TransactionList."""
    return write_list(SignedTransaction(bodyBytes=body))
