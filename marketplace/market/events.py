"""Events: the changes of an NFT between its stored state and its new one."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from flask import current_app

from marketplace import services, times
from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.hbar import TINYBARS
from marketplace.ids import EventKind
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.mirror_schemas import History, Nft, NftEvent
from marketplace.store import nft_collections
from marketplace.store.rows import Connection, NftRow

LAG = 60 * times.SECOND  # within which a history may be older than the NFT's own row
MAX_SALES = 5  # looked up at once, to see what was paid
BURNS = ("TOKENBURN", "TOKENWIPE")
SHOWN = ("name", "file_type", "attributes", "image", "original_image_url")


class Event(NamedTuple):
    kind: EventKind
    from_account: str | None = None
    to_account: str | None = None
    price: int | None = None  # HBAR
    previous_price: int | None = None
    transaction_id: str | None = None
    consensus_at: str | None = None


class Past(NamedTuple):
    """The part of an NFT's history that is not stored yet, the oldest entry first."""

    entries: tuple[NftEvent, ...] = ()
    # HBAR, by the consensus timestamps of sales through the marketplace
    paid: Mapping[int, int] = {}
    is_behind: bool = False  # the mirror node shows the NFT's row, and not yet all of its history


def read_past(on_ledger: Nft, before: NftRow, history: History | None, deadline: Deadline) -> Past:
    """Find the entries after the stored state, and the prices of sales. Raises the ledger's errors.

    An NFT whose owner is the same needs the entries for a transaction id alone: then no error is raised.
    """
    is_moved = on_ledger.owner not in (None, before["owner"])
    try:
        history = history or mirror_node().find_history(
            on_ledger.token, on_ledger.serial_no, deadline
        )
    except (LedgerUnreachable, LedgerAnswerInvalid):
        if is_moved:
            raise
        return Past()
    entries = _entries_after(before, history)
    is_new = on_ledger.modified_at > times.now() - LAG
    if (history.newest_at or 0) < on_ledger.modified_at:
        return Past(entries, is_behind=is_moved and is_new)
    paid = {}
    approved = [entry for entry in entries if entry.is_move and entry.is_approval]
    for entry in approved[-MAX_SALES:]:
        transaction = mirror_node().find_transaction(entry.consensus_at, deadline)
        if transaction is None:
            return Past(entries, is_behind=is_new)
        amounts = [
            amount for account, amount in transaction.hbar_transfers if account == entry.receiver
        ]
        if transaction.payer == current_app.config["ACCOUNT_ID"] and sum(amounts) <= -TINYBARS:
            paid[entry.consensus_at] = -sum(amounts) // TINYBARS
    return Past(entries, paid)


def _entries_after(before: NftRow, history: History) -> tuple[NftEvent, ...]:
    """The entries after the stored state, the oldest first."""
    entries: list[NftEvent] = []
    stored_at = times.to_nanoseconds(before["ledger_at"])
    for entry in history.entries:
        # An NFT that was stored without a date had its owner by then.
        is_before = stored_at == 0 and entry.is_move and entry.receiver == before["owner"]
        if is_before or entry.consensus_at <= stored_at:
            break
        entries.insert(0, entry)
    return tuple(entries)


def find_events(
    on_ledger: Nft, before: NftRow, state: Mapping[str, Any], past: Past, listed_by: str | None
) -> list[Event]:
    """Find the events between a stored NFT and its new state. ``listed_by``: the listing's transaction."""
    is_listed = bool(state["is_for_sale"])
    price_before = before["listing_price"] if before["is_for_sale"] else None
    owner, new_owner = before["owner"], state["owner"]
    found: list[Event] = []
    if owner != new_owner or any(entry.is_move for entry in past.entries):
        consensus_at = times.to_iso(on_ledger.modified_at)
        found += _moves(owner, new_owner, consensus_at, price_before, past)
        price_before = None
    if on_ledger.is_deleted:
        # A token's deletion leaves no entry in the histories of its NFTs.
        is_burned = any(entry.name in BURNS for entry in past.entries)
        newest = _newest(on_ledger, past) if is_burned else (None, None)
        found.append(Event(EventKind.BURNED, new_owner, None, None, price_before, *newest))
    elif price_before and not is_listed:
        is_decided = state["ledger_at"] >= before["ledger_at"]
        newest = _newest(on_ledger, past) if is_decided else (None, None)
        found.append(Event(EventKind.WITHDRAWN, owner, None, None, price_before, *newest))
    if is_listed:
        price, listed_at = state["listing_price"], state["last_listed_at"]
        if price_before is None or listed_at != before["last_listed_at"]:
            kind = EventKind.LISTED if price_before in (None, price) else EventKind.PRICE_CHANGED
            found.append(Event(kind, new_owner, None, price, price_before, listed_by, listed_at))
    return found


def _newest(on_ledger: Nft, past: Past) -> tuple[str | None, str | None]:
    """The transaction that changed the NFT's row last, as far as it is known, and its moment."""
    by = [entry for entry in past.entries if entry.consensus_at == on_ledger.modified_at]
    return str(by[0].transaction_id) if by else None, times.to_iso(on_ledger.modified_at)


def _moves(
    owner: str, new_owner: str, consensus_at: str, price: int | None, past: Past
) -> Iterable[Event]:
    """Each change of owner, with the price of the listing that the first one ended."""
    moves = [entry for entry in past.entries if entry.is_move]
    if not moves:
        # A new treasury gets all NFTs of the old one.
        yield Event(EventKind.TRANSFERRED, owner, new_owner, None, price, None, consensus_at)
    for move in moves:
        paid = past.paid.get(move.consensus_at)
        yield Event(
            EventKind.TRANSFERRED if paid is None else EventKind.SOLD,
            move.sender,
            move.receiver,
            paid,
            price,
            str(move.transaction_id),
            times.to_iso(move.consensus_at),
        )
        price = None


def is_redrawn(before: NftRow, after: NftRow) -> bool:
    """Tell whether clients see other metadata, or another image, than before."""
    shown, shown_before = {**after}, {**before}
    return any(shown[name] != shown_before[name] for name in SHOWN)


def store(db: Connection, found: Mapping[tuple[str, int], Iterable[Event]]) -> None:
    """Write the events of NFTs, at the end of the transaction that makes the changes."""
    seen_at = times.to_iso(times.now())
    rows = [
        {
            **event._asdict(),
            "kind": str(event.kind),
            "token": token,
            "serial_no": serial_no,
            "seen_at": seen_at,
        }
        for (token, serial_no), all_of_it in found.items()
        for event in all_of_it
    ]
    for row in rows:
        if row["kind"] == EventKind.SOLD:
            nft_collections.add_sale(db, row["token"], row["price"], row["consensus_at"])
    if rows:
        insert(db, rows)


def insert(db: Connection, rows: Iterable[dict[str, Any]]) -> None:
    """Insert events. Each is completed with its date, and the JSON in which every reader is given it."""
    own = services.services()
    for row in rows:
        row["date"] = row["consensus_at"] or row["seen_at"]
        row["body"] = own.encode_event_body(row)
    own.database.insert_events(db, rows)
