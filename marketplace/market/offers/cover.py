"""Whether bidders can pay for their offers, as their accounts are now."""

from collections import ChainMap, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from flask import current_app

from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.mirror_schemas import LedgerAccount
from marketplace.market.purchase_fees import ASSOCIATION_CENTS, max_fee
from marketplace.services import mirror_node
from marketplace.store import offers
from marketplace.store.database import write
from marketplace.store.rows import OfferRow


def find_need(price: int, needs_association: bool, deadline: Deadline) -> int:
    """What the bidder's balance must cover, in tinybars: the price, the fee, and an association if needed.

    Raises the ledger's errors.
    """
    association = mirror_node().find_price(ASSOCIATION_CENTS, deadline) if needs_association else 0
    return price * TINYBARS + max_fee(1) + association


def covers(bidder: LedgerAccount | None, token: str, price: int, deadline: Deadline) -> bool:
    """Tell whether a bidder can pay, and can receive an NFT of the token."""
    if bidder is None or bidder.is_deleted or bidder.balance is None:
        return False
    if bidder.balance < find_need(price, needs_association=False, deadline=deadline):
        return False
    if mirror_node().find_relationship(bidder.id, token, deadline):
        return True
    if not bidder.max_automatic_associations:
        return False
    return bidder.balance >= find_need(price, needs_association=True, deadline=deadline)


def look_at_cover(offer: OfferRow, deadline: Deadline) -> None:
    """Store whether its bidder can pay for an offer. Raises the ledger's and the database's errors."""
    _mark_covered(_find_covered([offer], deadline))


def look_at_covers(rows: Iterable[OfferRow]) -> None:
    """Store whether bidders can pay for offers, with at most three requests for each offer.

    If the mirror node's answer about a bidder is invalid or missing, that bidder's offers stay unchanged
    until the next look. Raises the ledger's errors if the mirror node does not answer at all.
    """
    of_bidder = defaultdict[str, list[OfferRow]](list)
    for row in rows:
        of_bidder[row["bidder"]].append(row)
    if of_bidder:
        mirror_node().recall_present(Deadline(UNHURRIED_SECONDS))
        questions = [partial(_look_at_bidder, each) for each in of_bidder.values()]
        _mark_covered(dict(ChainMap(*mirror_node().ask(*questions))))


def _look_at_bidder(rows: Sequence[OfferRow]) -> dict[str, bool]:
    """Tell which of a bidder's offers are covered. If the ledger does not say, return the stored values."""
    try:
        return _find_covered(rows, Deadline(UNHURRIED_SECONDS))
    except (LedgerUnreachable, LedgerAnswerInvalid) as error:
        bidder = rows[0]["bidder"]
        current_app.logger.warning("It is not known whether %s can pay: %s", bidder, error)
        return {row["schedule_id"]: bool(row["is_covered"]) for row in rows}


def _find_covered(rows: Sequence[OfferRow], deadline: Deadline) -> dict[str, bool]:
    """Ask the ledger which of one bidder's offers are covered."""
    bidder = mirror_node().find_account(rows[0]["bidder"], deadline)
    return {
        row["schedule_id"]: covers(bidder, row["token"], row["price"], deadline) for row in rows
    }


def _mark_covered(covered: Mapping[str, bool]) -> None:
    now = times.to_iso(times.now())
    with write() as db:
        for schedule_id in sorted(covered):
            offers.mark_covered(db, schedule_id, covered[schedule_id], now)
