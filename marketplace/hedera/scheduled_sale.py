"""The transaction inside of an offer's schedule: one NFT for HBAR. No key, no clock, no I/O.

It loads hiero-sdk-python, which takes 70 MB: import this module only for a schedule.
"""

from collections import defaultdict
from typing import NamedTuple

import hiero_sdk_python.hapi.services.basic_types_pb2 as hapi
from hiero_sdk_python.hapi.services.crypto_transfer_pb2 import CryptoTransferTransactionBody
from hiero_sdk_python.hapi.services.schedulable_transaction_body_pb2 import (
    SchedulableTransactionBody,
)

from marketplace.hedera import messages
from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.ids import numbers


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
