"""Looks up each sale's costs on the ledger: the marketplace's part, royalties and fees.

In a basket, royalties and the marketplace's part are divided by price. The network's fee is divided equally.
"""

import json
import time
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from flask import current_app

from marketplace.errors import LedgerAnswerInvalid
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.ids import TransactionId
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.objects import Transaction
from marketplace.market.buying.fees import ASSOCIATION_CENTS
from marketplace.market.history import Replicas
from marketplace.services import mirror_node, read, write
from marketplace.store import events, properties
from marketplace.store.events import RateRow, SoldRow

AT_ONCE = 50  # sales of one call, and of one write
SECONDS = 10  # of one call

Costs = dict[str, Any]
UNKNOWN: Costs = dict.fromkeys(
    ("way", "part_tinybars", "royalties", "network_tinybars", "association_tinybars")
)


def store_sale_costs() -> None:
    """Look up sales that have become visible since the last call. Raises the ledger's errors."""
    stored = properties.get_property(read(), events.READ_TO)
    after = int(stored or 0)
    until, found = time.monotonic() + SECONDS, list[Costs]()
    for sold in events.list_sold_after(read(), after, AT_ONCE):
        if time.monotonic() > until or (costs := _find_costs(sold)) is None:
            break
        found.append(costs)
    if not found:
        return
    with write() as db:
        for costs in found:
            events.insert_sale(db, costs)
        properties.mark_property(db, events.READ_TO, str(found[-1]["event_id"]).encode())


def _find_costs(sold: SoldRow) -> Costs | None:
    """The row of a sale; None if the mirror node may show its transaction later."""
    deadline, rate = Deadline(UNHURRIED_SECONDS), events.get_rate(read(), sold["consensus_at"])
    rated = {
        "event_id": sold["id"],
        "rate_cents": rate and rate["cents"],
        "rate_hbar": rate and rate["hbar"],
    }
    consensus_at = times.to_nanoseconds(sold["consensus_at"])
    try:
        rows = mirror_node().list_transactions(
            TransactionId.require(sold["transaction_id"]), deadline
        )
        row = next((row for row in rows if row.consensus_at == consensus_at), None)
        # A schedule may be executed weeks after the valid start of its id, by which the mirror node looks.
        row = row or mirror_node().find_transaction(consensus_at, deadline)
        if row is None and Replicas(deadline).may_lack(consensus_at):
            return None
        if row is None:
            return UNKNOWN | rated
        return rated | _share(row, sold, rate, deadline)
    except (LedgerAnswerInvalid, ValueError, ZeroDivisionError) as error:  # it is not as a sale is
        current_app.logger.warning(
            "What the sale of event %s cost is not known: %s", sold["id"], error
        )
        return UNKNOWN | rated


def _share(row: Transaction, sold: SoldRow, rate: RateRow | None, deadline: Deadline) -> Costs:
    market, buyer, seller = (
        current_app.config["ACCOUNT_ID"],
        sold["to_account"],
        sold["from_account"],
    )
    moved = sorted((nft.token, nft.serial_no) for nft in row.nft_transfers)
    place = moved.index((sold["token"], sold["serial_no"]))
    # The buyer pays the fee of an offer's execution, and the marketplace that of any other sale.
    fee, fee_of_buyer = (0, row.fee_tinybars) if row.scheduled else (row.fee_tinybars, 0)
    part = row.find_earned(market) + fee
    price, paid = sold["price"] * TINYBARS, row.find_paid(buyer) - fee_of_buyer
    # This NFT's share of its seller's prices. The seller's earnings exclude the marketplace's part.
    share = (
        Fraction(price * (paid - part), paid * row.find_earned(seller))
        if paid != part
        else Fraction(1)
    )
    associations = {}
    if not row.scheduled:
        associations = _find_associations(row, buyer, [token for token, _ in moved], rate, deadline)
    network, rest = divmod(fee - sum(associations.values()), len(moved))
    is_first_of_token = place == [token for token, _ in moved].index(sold["token"])
    return {
        "way": "offer" if row.scheduled else "basket" if len(moved) > 1 else "single",
        "part_tinybars": round(Fraction(part * price, paid)),
        "royalties": json.dumps(
            [
                {"collector": fee.collector, "tinybars": round(fee.amount * share)}
                for fee in row.assessed_fees or ()
                if fee.token is None and fee.payers == (seller,)
            ]
        ),
        "network_tinybars": network + (rest if place == 0 else 0),
        "association_tinybars": associations.get(sold["token"], 0) if is_first_of_token else 0,
    }


def _find_associations(
    row: Transaction, buyer: str, tokens: Sequence[str], rate: RateRow | None, deadline: Deadline
) -> dict[str, int]:
    """What we paid in a transaction for a buyer's associations (HIP-904), by token."""
    price = _find_association_price(rate, deadline)
    if price > row.fee_tinybars:  # true for most sales: no question is needed
        return {}
    associated = {}
    for token in dict.fromkeys(tokens):
        relationship = mirror_node().find_relationship(buyer, token, deadline)
        if (
            relationship
            and relationship.is_automatic
            and relationship.created_at == row.consensus_at
        ):
            associated[token] = price
    return associated if sum(associated.values()) <= row.fee_tinybars else {}


def _find_association_price(rate: RateRow | None, deadline: Deadline) -> int:
    if rate is None:
        current = mirror_node().find_exchange_rates(deadline).current
        cents, hbar = current.cents, current.hbar
    else:
        cents, hbar = rate["cents"], rate["hbar"]
    return ceil(Fraction(ASSOCIATION_CENTS * hbar * TINYBARS, cents))
