"""Reconciles offers with the ledger. No other module writes offers, except for the sale of an NFT.

As for NFTs, the facts are read first, without a lock, and older facts never replace newer ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from flask import current_app

from marketplace.errors import NftGone, NftNotOnLedger
from marketplace.events import EventKind
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.ledger.objects import Transaction
from marketplace.market import reconciler
from marketplace.market.history import Event, store_events
from marketplace.market.listing_rule import Undecided
from marketplace.market.nfts import add_new
from marketplace.market.offers import rule
from marketplace.market.offers.checks import covers
from marketplace.market.offers.rule import ENDS, Offer, OfferFacts, Shop
from marketplace.services import mirror_node, read, write
from marketplace.store import nfts, offers, rechecks
from marketplace.store.connection import Connection
from marketplace.store.nfts import shows
from marketplace.store.offers import OfferRow
from marketplace.store.rechecks import What


class OfferReconciliation(NamedTuple):
    """The result of reconciling one schedule."""

    before: OfferRow | None  # as it was stored
    offer: OfferRow | None  # as it is stored now; None: it is no offer
    undecided: str = ""  # why nothing could be decided

    @property
    def is_changed(self) -> bool:
        return self.before != self.offer


class OfferChange(NamedTuple):
    """An offer as the ledger shows it, beside what was stored."""

    before: OfferRow | None
    offer: Offer
    is_covered: bool | None  # None: it was not looked at

    @property
    def nft_id(self) -> NftId:
        return NftId(self.offer.token, self.offer.serial_no)

    @property
    def columns(self) -> dict[str, Any]:
        offer = self.offer
        accepted_at = offer.accepted and times.to_iso(offer.accepted.consensus_at)
        return offer._asdict() | {
            "transaction_id": str(offer.transaction_id),
            "created_at": times.to_iso(offer.created_at),
            "expires_at": times.to_iso(offer.expires_at),
            "state_at": times.to_iso(offer.state_at),
            "accepted_at": accepted_at,
        }

    @property
    def is_new(self) -> bool:
        """Whether it differs from what is stored."""
        columns = {name: self.columns[name] for name in ("state", "state_at", "accepted_at")}
        return self.before is None or {**self.before} != {**self.before} | columns

    def find_events(self) -> list[Event]:
        """The events of an offer that opens, is accepted without a sale, or ends after it was open here.

        A sale is an event of its NFT.
        """
        offer, before = self.offer, self.before["state"] if self.before else None
        events, kind, end = [], None, ENDS.get(offer.state)
        if offer.state == "open" and before != "open":
            kind = EventKind.OFFERED
        elif offer.state == "closed" and before == "open":  # the bidder's account has another key
            kind = EventKind.OFFER_WITHDRAWN
        elif end and (before == "open" or (before and offer.state == "failed")):
            kind = end.event
        if kind:
            moment = offer.expires_at if offer.state == "expired" else None
            # What opens it again is another transaction than its creation, though not a known one.
            is_again = before is not None and offer.state == "open"
            is_known = offer.by and offer.by.consensus_at > offer.created_at
            events.append(
                self._event(kind, None if is_again and not is_known else offer.by, moment)
            )
        was_accepted = self.before and self.before["accepted_at"]
        if offer.accepted and not was_accepted:
            events.append(self._event(EventKind.OFFER_NOT_EXECUTED, offer.accepted))
        return events

    def _event(self, kind: EventKind, by: Transaction | None, moment: int | None = None) -> Event:
        offer = self.offer
        moment = by.consensus_at if by else moment
        return Event(
            kind,
            offer.seller,
            offer.bidder,
            offer.price,
            transaction_id=str(by.transaction_id) if by else None,
            consensus_at=times.to_iso(moment) if moment else None,
            offer_id=offer.schedule_id,
        )


def reconcile_offers(
    schedule_ids: Iterable[str], deadline: Deadline
) -> dict[str, OfferReconciliation]:
    """Compare schedules with the ledger, and store those that are offers, in one transaction.

    Raises the ledger's and the database's errors.
    """
    stored = {id: offers.get_offer(read(), id) for id in sorted({*schedule_ids})}
    questions = [
        partial(_read_offer, id, before, deadline, *_find_changed(id))
        for id, before in stored.items()
    ]
    found = dict(zip(stored, mirror_node().ask(*questions), strict=True))
    changes = {id: each for id, each in found.items() if isinstance(each, OfferChange)}
    undecided = {id: each.reason for id, each in found.items() if isinstance(each, Undecided)}
    executed = {each.nft_id for each in changes.values() if each.offer.state == "executed"}
    reconciler.reconcile(sorted(executed), deadline)  # which stores the sales
    undecided |= _find_sold(changes, deadline)
    new = [each for id, each in changes.items() if each.is_new and id not in undecided]
    _add_nfts([each for each in new if each.offer.state == "open"], deadline)
    undecided |= _write(new)
    return {
        id: OfferReconciliation(before, offers.get_offer(read(), id), undecided.get(id, ""))
        for id, before in stored.items()
    }


def _find_changed(schedule_id: str) -> tuple[int, int]:
    """When the newest transaction was that may have changed an offer, and the oldest; 0 if none is queued."""
    queued = rechecks.get_recheck(read(), *What("offer", schedule_id))
    if queued is None:
        return 0, 0
    return times.to_nanoseconds(queued["changed_at"]), times.to_nanoseconds(queued["since"])


def _read_offer(
    schedule_id: str, before: OfferRow | None, deadline: Deadline, changed_at: int, since: int
) -> OfferChange | Undecided | None:
    """Read a schedule from the ledger, and apply the rule. It does not use the database."""
    if before and before["state"] in ENDS:
        return None
    shown_to = _find_shown(deadline)  # asked first, so that the facts are at least as new
    schedule = mirror_node().find_schedule(schedule_id, deadline)
    gone = Undecided("the mirror node no longer shows it as an offer") if before else None
    if schedule is None:
        return gone
    if before and times.to_iso(schedule.newest_at) < before["state_at"]:
        return Undecided("the mirror node shows an older state of it")
    # The marketplace may ask for a larger part by now: that closes an offer.
    shop = today = Shop.of(current_app.config)
    if before and rule.read_sale(schedule, shop) is None:
        shop = shop._replace(basis_points=0)
    sale = rule.read_sale(schedule, shop)
    if sale is None:
        return gone
    facts = OfferFacts(schedule, shown_to=shown_to, changed_at=changed_at, since=since)
    bidder = None
    if not rule.has_ended(schedule, shown_to):
        then, bidder = mirror_node().ask(
            partial(mirror_node().find_account, sale.bidder, deadline, schedule.created_at),
            partial(mirror_node().find_account, sale.bidder, deadline),
        )
        key = bidder.key if bidder and not bidder.is_deleted else None
        facts = facts._replace(key_at_creation=then and then.key, key=key)
    facts = facts._replace(transactions=_find_transactions(facts, before, deadline))
    offer = rule.decide(facts, shop)
    if not isinstance(offer, Offer):
        return offer or gone
    if offer.state == "open" and shop != today:
        offer = offer._replace(state="closed", by=None)
    is_covered = None
    if offer.state == "open" and (before is None or before["state"] != "open"):
        is_covered = covers(bidder, offer.token, offer.price, deadline)
    return OfferChange(before, offer, is_covered)


def _find_transactions(
    facts: OfferFacts, before: OfferRow | None, deadline: Deadline
) -> dict[int, Transaction]:
    """The transactions that decide a schedule's state, by consensus timestamp."""
    schedule = facts.schedule
    moments = {schedule.created_at, schedule.executed_at, facts.changed_at}
    if not rule.has_ended(schedule, facts.shown_to):
        moments |= {*rule.list_signed(schedule)}
        if before and before["accepted_at"]:  # beyond those that others have signed
            moments.add(times.to_nanoseconds(before["accepted_at"]))
    find = partial(mirror_node().find_transaction, deadline=deadline)
    asked = sorted(moment for moment in moments if moment)
    rows = mirror_node().ask(*(partial(find, moment) for moment in asked))
    return {moment: row for moment, row in zip(asked, rows, strict=True) if row}


def _find_sold(changes: Mapping[str, OfferChange], deadline: Deadline) -> dict[str, str]:
    """Find new offers that may be sold: their NFTs are stored as their bidders', by a newer replica."""
    shown_to = times.to_iso(_find_shown(deadline))
    return {
        id: "its NFT is stored as its bidder's already"
        for id, each in changes.items()
        if each.before is None and each.offer.state == "open"
        if (nft := nfts.get_nft(read(), *each.nft_id))
        if nft["owner"] == each.offer.bidder and nft["ledger_at"] > shown_to
    }


def _find_shown(deadline: Deadline) -> int:
    """The consensus time up to which every replica is complete."""
    return mirror_node().recall_present(deadline).ended_at - times.ALLOWED_LAG


def _add_nfts(opened: Iterable[OfferChange], deadline: Deadline) -> None:
    """Store missing NFTs that have open offers: somebody else prepared them, or the database was lost."""
    for change in opened:
        if nfts.get_nft(read(), *change.nft_id) is None:
            try:
                add_new(change.offer.seller, [change.nft_id], deadline)
            except (NftNotOnLedger, NftGone) as error:
                current_app.logger.info("The NFT of an offer was not added: %s", error)


def _write(changes: Sequence[OfferChange]) -> dict[str, str]:
    """Write changes of offers with their events, in one transaction. Says which ones must be read again."""
    if not changes:
        return {}
    events, undecided, now = dict[NftId, list[Event]](), dict[str, str](), times.to_iso(times.now())
    with write() as db:
        for change in changes:
            id = change.offer.schedule_id
            if _is_early(db, change):
                undecided[id] = "its NFT is stored as it was before the sale"
            elif not offers.put_offer(db, change.columns, change.before):
                undecided[id] = "another process has written it at the same time"
            else:
                if change.is_covered is not None:
                    offers.mark_covered(db, id, change.is_covered, now)
                events[change.nft_id] = events.get(change.nft_id, []) + change.find_events()
        store_events(db, events)
    return undecided


def _is_early(db: Connection, change: OfferChange) -> bool:
    """Whether an offer was executed, and its NFT is stored without the sale."""
    nft = nfts.get_nft(db, *change.nft_id) if change.offer.state == "executed" else None
    return nft is not None and not shows(nft, change.offer.state_at)
