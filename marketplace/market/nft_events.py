"""Events: the changes of an NFT between its stored state and its new one."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from marketplace.events import EventKind
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger.objects import HistoryEntry, Nft
from marketplace.market.history import WITHDRAWAL, UnstoredHistory
from marketplace.market.listing_rule import NftFacts
from marketplace.services import services
from marketplace.store import nft_collections, offers
from marketplace.store.connection import Connection
from marketplace.store.events import insert_event
from marketplace.store.nfts import NftRow

SHOWN = ("name", "file_type", "attributes", "image", "original_image_url")


class Event(NamedTuple):
    kind: EventKind
    from_account: str | None = None
    to_account: str | None = None
    price: int | None = None  # HBAR
    previous_price: int | None = None
    transaction_id: str | None = None
    consensus_at: str | None = None
    offer_id: str | None = None  # of a schedule
    received: int | None = None  # tinybars


def find_events(
    facts: NftFacts, before: NftRow, state: Mapping[str, Any], past: UnstoredHistory
) -> list[Event]:
    """Find the events between a stored NFT and its new state."""
    on_ledger, is_listed = facts.nft, state["is_for_sale"]
    price_before = before["listing_price"] if before["is_listed"] else None
    owner, new_owner = before["owner"], state["owner"]
    events = [*_find_changes(on_ledger, owner, new_owner, price_before, past)]
    if events:
        price_before = None
    if on_ledger.is_deleted:
        events.append(
            Event(EventKind.BURNED, new_owner, None, None, price_before, *_name(past.end))
        )
    elif price_before and not is_listed:
        is_decided = state["ledger_state"] != "undecided"
        ended_at = times.to_iso(on_ledger.modified_at) if is_decided else None
        by = _name(past.end_of_listing, ended_at)
        events.append(Event(EventKind.WITHDRAWN, owner, None, None, price_before, *by))
    if is_listed:
        price, listed_at = state["listing_price"], state["last_listed_at"]
        if price_before is None or listed_at != before["last_listed_at"]:
            kind = EventKind.LISTED if price_before in (None, price) else EventKind.PRICE_CHANGED
            signed = facts.transaction and str(facts.transaction.transaction_id)
            events.append(Event(kind, new_owner, None, price, price_before, signed, listed_at))
    return events


def _name(entry: HistoryEntry | None, date: str | None = None) -> tuple[str | None, str | None]:
    """The transaction of an entry, and its date. Without an entry: no transaction, and ``date``."""
    if entry is None:
        return None, date
    return str(entry.transaction_id), times.to_iso(entry.consensus_at)


def _find_changes(
    on_ledger: Nft, owner: str, new_owner: str, price: int | None, past: UnstoredHistory
) -> Iterator[Event]:
    """Yield each change of owner, and the withdrawal before it. The first event has the listing's price."""
    for entry in past.entries:
        if entry.is_move:
            sale = past.sales.get(entry.consensus_at)
            kind = EventKind.SOLD if sale else EventKind.TRANSFERRED
            paid, received, offer_id = sale or (None, None, None)
            who = entry.sender, entry.receiver
            yield Event(kind, *who, paid, price, *_name(entry), offer_id, received)
            owner, price = entry.receiver or owner, None
        elif price and entry.name == WITHDRAWAL:
            yield Event(EventKind.WITHDRAWN, owner, None, None, price, *_name(entry))
            price = None
    if owner != new_owner:
        # The history is incomplete, or does not say who became the token's treasury.
        moved_at = times.to_iso(on_ledger.modified_at)
        yield Event(EventKind.TRANSFERRED, owner, new_owner, None, price, None, moved_at)


def is_redrawn(before: NftRow, after: Mapping[str, Any]) -> bool:
    """Tell whether the metadata or the image that clients see has changed."""
    shown, shown_before = {**after}, {**before}
    return any(shown[name] != shown_before[name] for name in SHOWN)


def note_sales(db: Connection, nft_id: NftId, events: Iterable[Event]) -> None:
    """Add the sales among an NFT's events to the totals of its collection, unless the NFT is hidden."""
    for event in events:
        if event.kind is EventKind.SOLD:
            nft_collections.add_sale(db, event._asdict() | nft_id._asdict())


def note_accepted(db: Connection, events: Iterable[Event]) -> None:
    """Mark the offers that sold NFTs as executed."""
    sold = {each.offer_id: each.consensus_at for each in events if each.offer_id}
    for offer_id in sorted(sold):
        offers.mark_executed(db, offer_id, sold[offer_id])


def store(db: Connection, events: Mapping[NftId, Iterable[Event]]) -> None:
    """Write the events of NFTs, at the end of the transaction that makes the changes."""
    seen_at = times.to_iso(times.now())
    rows = [
        event._asdict() | {"token": token, "serial_no": serial_no, "seen_at": seen_at}
        for (token, serial_no), of_nft in events.items()
        for event in of_nft
    ]
    if rows:
        insert(db, rows)


def insert(db: Connection, rows: Iterable[dict[str, Any]]) -> None:
    """Append events to the feed. No other transaction can write events until this one is visible."""
    services().database.lock_events(db)
    for row in rows:
        insert_event(db, row)
