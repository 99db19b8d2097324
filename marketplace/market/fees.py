"""What purchases cost the marketplace: few are open at a time, and a budget bounds the fees of an hour.

The marketplace pays for a purchase, also for one that fails at consensus. So each reserves the most that it
may cost before it is signed, in one transaction with what it is counted against, and the reservation becomes
what was charged once the ledger tells: nothing, where it never came.
"""

import math
from decimal import Decimal
from typing import Any

from flask import current_app

from marketplace import times
from marketplace.errors import (
    BudgetTooSmall,
    FeesSpent,
    LedgerAnswerInvalid,
    LedgerUnreachable,
    TooManyPurchases,
)
from marketplace.ids import TransactionId
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.answers import Transaction
from marketplace.market.prepared import MIRROR_LAG
from marketplace.market.transactions import TINYBARS
from marketplace.store import preparations
from marketplace.store.database import read, write

# Purchases that are signed, may still be submitted, and of which nothing is known yet. The last one of an
# NFT or a buyer is never of a caller who has one of them: nobody keeps all others from buying it, as it
# costs nothing to ask in anybody's name, and to sign nothing.
OPEN_FOR_EACH_NFT = 4
OPEN_FOR_EACH_BUYER = 6
OPEN_FOR_EACH_CALLER = 10
ASSOCIATION_CENTS = 5  # https://docs.hedera.com/networks/fees
# As far as the clocks of several machines may differ, before LedgerBehind stops the one that is ahead.
CLOCKS = 15 * times.SECOND
HOUR = 3600 * times.SECOND + CLOCKS
LOOKED_AT = 1000  # fees, to tell when there is room again


def find_most(deadline: Deadline) -> int:
    """The most that a purchase can cost, in tinybars: its own cap, and what the network charges beyond it.

    That is the association of a buyer, whatever the transaction's cap is (HIP-904): also of one who is
    associated now, and ends that before the purchase is submitted.
    """
    association = mirror_node().find_price(ASSOCIATION_CENTS, deadline)
    return current_app.config["SALE_MAX_FEE"] + association


def require_few_open(db: Any, token: str, serial_no: int, buyer: str, caller: str) -> None:
    """Raise TooManyPurchases where as many are open for the NFT, the buyer or the caller as may be."""
    now = times.now()
    present = times.to_iso(now)
    of_nft = preparations.get_open_purchases_of_nft(db, token, serial_no, caller, present)
    of_buyer = preparations.get_open_purchases_of_buyer(db, buyer, caller, present)
    of_caller = preparations.get_open_purchases_of_caller(db, caller, present)
    for whose, found, most in (
        (f"{token} #{serial_no}", of_nft, OPEN_FOR_EACH_NFT - bool(of_nft["of_caller"])),
        (buyer, of_buyer, OPEN_FOR_EACH_BUYER - bool(of_buyer["of_caller"])),
        ("This access token", of_caller, OPEN_FOR_EACH_CALLER),
    ):
        if found["n"] >= most:
            raise TooManyPurchases(whose, found["n"], _seconds_until(found["first_end"], now))


def require_room(db: Any, fee_tinybars: int) -> None:
    """Raise FeesSpent where the hour's budget has no room for another fee; BudgetTooSmall if it never has."""
    now, budget = times.now(), current_app.config["SALE_FEE_BUDGET"]
    if fee_tinybars > budget:
        raise BudgetTooSmall(Decimal(fee_tinybars) / TINYBARS, Decimal(budget) / TINYBARS)
    spent = int(preparations.get_fees(db, _an_hour_before(now))["total"])
    missing = spent + fee_tinybars - budget
    if missing > 0:
        raise FeesSpent(_seconds_until_room(db, missing, now))


def find_fees(now: int) -> tuple[int, int]:
    """The fees of the last hour, in tinybars: those charged, and those reserved besides."""
    found = preparations.get_fees(read(), _an_hour_before(now))
    charged = int(found["charged"])
    return charged, int(found["total"]) - charged


def _an_hour_before(now: int) -> str:
    """What expired before then was charged more than an hour ago, if it ever was."""
    return times.to_iso(now - HOUR)


def _seconds_until(iso: str, now: int) -> int:
    return max(1, math.ceil(times.from_iso(iso) - now / times.SECOND))


def _seconds_until_room(db: Any, missing: int, now: int) -> int:
    """When so many tinybars may be free: of what never came soon, of what was charged after an hour."""
    ends = []
    for row in preparations.list_fees(db, _an_hour_before(now), LOOKED_AT):
        lasts = HOUR if row["is_settled"] else MIRROR_LAG
        ends.append((_seconds_until(row["expires_at"], now - lasts), row["fee_tinybars"]))
    for seconds, fee in sorted(ends):
        missing -= fee
        if missing <= 0:
            return seconds
    return HOUR // times.SECOND


def list_unsettled(limit: int) -> list:
    """Purchases whose time is over, and of which it is not known what they cost: the oldest first."""
    overdue = times.to_iso(times.now() - MIRROR_LAG)
    return preparations.list_purchases_unsettled(read(), overdue, limit)


def settle(purchases: list, present: int, deadline: Deadline) -> None:
    """Ask the ledger what became of purchases, as far as the mirror node has come (nanoseconds).

    One that it can not tell about now is asked about again.
    """
    for purchase in purchases:
        transaction_id = purchase["transaction_id"]
        try:
            parsed = TransactionId.parse(transaction_id)
            rows = mirror_node().list_transactions(parsed, deadline)
        except LedgerAnswerInvalid as error:
            current_app.logger.warning("%s is not settled yet: %s", transaction_id, error)
            continue
        except LedgerUnreachable:
            return
        if not note_charged(transaction_id, rows) and _never_comes(purchase, present):
            _note(transaction_id, 0)


def note_charged(transaction_id: str, rows: list[Transaction]) -> bool:
    """Note what a purchase was charged, where the ledger shows it. Tells whether it does.

    Also of one that was taken for one that never came: what is shown counts more than what is not.
    """
    if not any(row.is_original for row in rows):
        return False
    purchase = preparations.get_prepared_transaction(read(), transaction_id)
    if purchase and (purchase["is_settled"] == 0 or purchase["fee_tinybars"] == 0):
        _note(transaction_id, sum(row.fee_tinybars for row in rows))
    return True


def _never_comes(purchase: Any, present: int) -> bool:
    return purchase["expires_at"] < times.to_iso(present - MIRROR_LAG)


def _note(transaction_id: str, fee_tinybars: int) -> None:
    with write() as db:
        preparations.mark_settled(db, transaction_id, fee_tinybars)
