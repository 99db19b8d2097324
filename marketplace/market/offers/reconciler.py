"""Reconciles offers with the ledger. No other module writes offers, except for the sale of an NFT.

As for NFTs, the facts are read first, without a lock, and older facts never replace newer ones. A prepared
offer only says where to look.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from flask import current_app

from marketplace.errors import NftGone, NftNotOnLedger
from marketplace.events import EventKind
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import ALLOWED_LAG, Deadline
from marketplace.ledger.mirror_schemas import LedgerKey, Schedule, Transaction
from marketplace.market import add_nft, nft_events, reconciler
from marketplace.market.listing_rule import Undecided
from marketplace.market.nft_events import Event
from marketplace.market.offers import rule
from marketplace.market.offers.cover import covers
from marketplace.market.offers.rule import ENDED, Facts, Offer
from marketplace.market.stored_state import shows
from marketplace.services import mirror_node
from marketplace.store import nfts, offers
from marketplace.store.database import read, write
from marketplace.store.rows import OfferRow

OF_END = {
    "failed": EventKind.OFFER_FAILED,
    "withdrawn": EventKind.OFFER_WITHDRAWN,
    "expired": EventKind.OFFER_EXPIRED,
    "unsigned": EventKind.OFFER_WITHDRAWN,  # the bidder's account has another key by now
}


class Reconciliation(NamedTuple):
    """The result of reconciling one schedule."""

    before: OfferRow | None  # as it was stored
    offer: OfferRow | None  # as it is stored now; None: it is no offer
    undecided: str = ""  # why nothing could be decided

    @property
    def is_changed(self) -> bool:
        return self.before != self.offer


class Change(NamedTuple):
    """An offer as the ledger shows it, beside what was stored."""

    before: OfferRow | None
    offer: Offer
    is_covered: bool | None  # None: it was not looked at

    @property
    def columns(self) -> dict[str, Any]:
        offer = self.offer
        opened_at = self.before and self.before["opened_at"]
        if offer.state == "signed" and offer.by:
            opened_at = times.to_iso(offer.by.consensus_at)
        elif offer.state == "unsigned":
            opened_at = None
        return offer._asdict() | {
            "transaction_id": str(offer.transaction_id),
            "created_at": times.to_iso(offer.created_at),
            "expires_at": times.to_iso(offer.expires_at),
            "state_at": times.to_iso(offer.state_at),
            "opened_at": opened_at,
        }

    @property
    def is_new(self) -> bool:
        """Whether it differs from what is stored."""
        columns = {name: self.columns[name] for name in ("state", "state_at", "opened_at")}
        return self.before is None or {**self.before} != {**self.before} | columns

    def find_events(self) -> list[Event]:
        """The event of an offer that opens, ends after it was open here, or fails.

        A sale is an event of its NFT.
        """
        offer, before = self.offer, self.before["state"] if self.before else None
        kind = None
        if offer.state == "signed" and before != "signed":
            kind = EventKind.OFFERED
        elif before == "signed" or (before and offer.state == "failed"):
            kind = OF_END.get(offer.state)
        if kind is None:
            return []
        by, moment = None, offer.expires_at if offer.state == "expired" else None
        if offer.by:
            by, moment = str(offer.by.transaction_id), offer.by.consensus_at
        at = times.to_iso(moment) if moment else None
        parties = offer.seller, offer.bidder
        return [Event(kind, *parties, offer.price, None, by, at, offer.schedule_id)]


def reconcile_offers(
    schedule_ids: Sequence[str], deadline: Deadline
) -> Mapping[str, OfferRow | None]:
    """Compare offers with the ledger, and return the updated rows.

    None: the schedule is no offer. Raises the ledger's and the database's errors.
    """
    return {id: each.offer for id, each in reconcile_schedules(schedule_ids, deadline).items()}


def reconcile_schedules(
    schedule_ids: Iterable[str], deadline: Deadline, changed_at: int = 0
) -> dict[str, Reconciliation]:
    """Compare schedules with the ledger, and store those that are offers, in one transaction.

    ``changed_at``: the consensus timestamp of the newest transaction that may have changed them, if known.
    """
    stored = {id: offers.get_offer(read(), id) for id in sorted({*schedule_ids})}
    questions = [partial(_look, id, before, deadline, changed_at) for id, before in stored.items()]
    found = dict(zip(stored, mirror_node().ask(*questions), strict=True))
    found |= _store_sales(found, deadline)
    changes = [each for each in found.values() if isinstance(each, Change) and each.is_new]
    _add_nfts([change.offer for change in changes if change.offer.state == "signed"], deadline)
    _write(changes)
    reasons = {id: each.reason for id, each in found.items() if isinstance(each, Undecided)}
    return {
        id: Reconciliation(before, offers.get_offer(read(), id), reasons.get(id, ""))
        for id, before in stored.items()
    }


def _look(
    schedule_id: str, before: OfferRow | None, deadline: Deadline, changed_at: int
) -> Change | Undecided | None:
    """Read a schedule from the ledger, and apply the rule. It does not use the database."""
    if before and before["state"] in ENDED:
        return None
    shown_to = _find_shown(deadline)  # asked first, so that the facts are at least as new
    schedule = mirror_node().find_schedule(schedule_id, deadline)
    gone = Undecided("the mirror node no longer shows it as an offer") if before else None
    if schedule is None:
        return gone
    if before and times.to_iso(schedule.newest_at) < before["state_at"]:
        return Undecided("the mirror node shows an older state of it")
    market = current_app.config["ACCOUNT_ID"]
    sale = rule.read_sale(schedule, market)
    if sale is None:
        return gone
    bidder = None
    if not rule.has_ended(schedule, shown_to):
        bidder = mirror_node().find_account(sale.bidder, deadline)
    key = bidder.key if bidder and not bidder.is_deleted else None
    rows = _find_transactions(schedule, key, deadline, changed_at)
    offer = rule.decide(Facts(schedule, key, rows, shown_to), market)
    if not isinstance(offer, Offer):
        return offer or gone
    if before and before["opened_at"] and offer.state == "unsigned":
        # Replicas may differ: one may show the key from before the signature, another one the key from before
        # the change.
        since = max(times.to_nanoseconds(before["opened_at"]), changed_at)
        if shown_to < since:
            reason = "the bidder's key is another one, or the mirror node shows an older one"
            return Undecided(reason)
    is_covered = None
    if offer.state == "signed" and (before is None or before["state"] == "unsigned"):
        is_covered = covers(bidder, offer.token, offer.price, deadline)
    return Change(before, offer, is_covered)


def schedule_may_differ(schedule: Schedule) -> bool:
    """Tell whether a listed schedule may be an offer whose stored state differs."""
    if rule.read_sale(schedule, current_app.config["ACCOUNT_ID"]) is None:
        return False
    stored = offers.get_offer(read(), schedule.id)
    if stored is None or stored["state"] in ENDED:
        return stored is None
    is_newer = times.to_iso(schedule.newest_at) > stored["state_at"]
    return is_newer or schedule.is_deleted


def _find_transactions(
    schedule: Schedule, key: LedgerKey | None, deadline: Deadline, changed_at: int
) -> dict[int, Transaction]:
    """The transactions that decide a schedule's state, by consensus timestamp."""
    moments = {schedule.created_at, *rule.list_signed(schedule, key)}
    if schedule.executed_at:
        moments.add(schedule.executed_at)
    if schedule.is_deleted and changed_at:
        moments.add(changed_at)
    find = partial(mirror_node().find_transaction, deadline=deadline)
    return {moment: row for moment in sorted(moments) if (row := find(moment))}


def _store_sales(
    found: Mapping[str, Change | Undecided | None], deadline: Deadline
) -> dict[str, Undecided]:
    """Reconcile executed offers' NFTs, which stores the sales. Returns offers whose NFTs are still behind."""
    executed = {
        id: change.offer
        for id, change in found.items()
        if isinstance(change, Change) and change.offer.state == "executed"
    }
    sold = {id: NftId(offer.token, offer.serial_no) for id, offer in executed.items()}
    reconciler.reconcile(sorted({*sold.values()}), deadline)
    late = Undecided("its NFT is stored as it was before the sale")
    return {
        id: late
        for id, offer in executed.items()
        if (nft := nfts.get_nft(read(), *sold[id])) and not shows(nft, offer.state_at)
    }


def _find_shown(deadline: Deadline) -> int:
    """The consensus time up to which every replica is complete."""
    return mirror_node().recall_present(deadline).ended_at - ALLOWED_LAG


def _add_nfts(signed: Iterable[Offer], deadline: Deadline) -> None:
    """Store missing NFTs that have signed offers: the database may have been lost."""
    for offer in signed:
        nft_id = NftId(offer.token, offer.serial_no)
        if nfts.get_nft(read(), *nft_id) is None:
            try:
                add_nft.add_new(offer.seller, [nft_id], deadline)
            except (NftNotOnLedger, NftGone) as error:
                current_app.logger.info("The NFT of an offer was not added: %s", error)


def _write(changes: Sequence[Change]) -> None:
    """Write changes of offers with their events, in one transaction. Keep others' newer writes."""
    if not changes:
        return
    events, now = dict[NftId, list[Event]](), times.to_iso(times.now())
    with write() as db:
        for change in changes:
            offer, state_before = change.offer, change.before["state"] if change.before else None
            if offers.put_offer(db, change.columns, state_before):
                if change.is_covered is not None:
                    offers.mark_covered(db, offer.schedule_id, change.is_covered, now)
                nft_id = NftId(offer.token, offer.serial_no)
                events[nft_id] = events.get(nft_id, []) + change.find_events()
        nft_events.store(db, events)
