"""Events: the changes of an NFT between its stored state and its new one."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any, NamedTuple

from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.hedera import times
from marketplace.hedera.ids import EventKind, NftId
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.mirror_schemas import History, Nft, NftEvent
from marketplace.market import sale_prices
from marketplace.market.listing_rule import Facts
from marketplace.market.sale_prices import SaleNotShown
from marketplace.services import services
from marketplace.store import nft_collections
from marketplace.store.rows import Connection, NftRow

LAG = times.MINUTE  # for so long a history may be older than the NFT's own row
MAX_SALES = 5  # of one NFT, the newest: only their prices are looked up
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
    # Prices of sales through the marketplace, in HBAR, by consensus timestamp
    paid: Mapping[int, int] = {}

    @property
    def moves(self) -> list[NftEvent]:
        return [entry for entry in self.entries if entry.is_move]


def read_past(
    facts: Facts, before: NftRow, state: Mapping[str, Any], deadline: Deadline
) -> Past | None:
    """Find the entries between a stored NFT and its new state, and the prices of sales.

    Returns None if the mirror node shows the NFT's row, but not yet its whole history. Raises the ledger's
    errors if the owner changed; otherwise the history is optional, since it adds only a transaction id.
    """
    nft, history = facts.nft, facts.history
    is_moved = state["owner"] != before["owner"]
    is_taken_off = before["is_for_sale"] and not state["is_for_sale"]
    if not (history or is_moved or is_taken_off):
        return Past()
    try:
        history = history or mirror_node().find_history(nft.token, nft.serial_no, deadline)
    except (LedgerUnreachable, LedgerAnswerInvalid):
        if is_moved:
            raise
        return Past()
    entries = _entries_between(before, nft, history)
    is_new = nft.modified_at > times.now() - LAG
    if is_moved and is_new and (history.newest_at or 0) < nft.modified_at:
        return None
    try:
        return Past(entries, _find_prices(nft.id, Past(entries).moves, deadline))
    except SaleNotShown:
        return None


def _find_prices(nft_id: NftId, moves: list[NftEvent], deadline: Deadline) -> dict[int, int]:
    """The prices of the newest sales, by consensus timestamp. Raises SaleNotShown."""
    prices = {}
    for sale in [move for move in moves if sale_prices.may_be_sale(move)][-MAX_SALES:]:
        try:
            price = sale_prices.find_price(nft_id, sale, deadline)
        except SaleNotShown:
            if sale.consensus_at > times.now() - LAG:
                raise
            continue
        if price is not None:
            prices[sale.consensus_at] = price
    return prices


def _entries_between(before: NftRow, nft: Nft, history: History) -> tuple[NftEvent, ...]:
    """The entries after the stored state, up to the entry of the NFT's own row, the oldest first.

    A history may be newer than the row: later entries become events together with a newer row.
    """
    stored_at = times.to_nanoseconds(before["ledger_at"])
    until_row = [entry for entry in history.entries if entry.consensus_at <= nft.modified_at]

    def is_after(entry: NftEvent) -> bool:
        # If the NFT was stored without a date, it belonged to the stored owner by then.
        is_before = stored_at == 0 and entry.is_move and entry.receiver == before["owner"]
        return entry.consensus_at > stored_at and not is_before

    return tuple(takewhile(is_after, until_row))[::-1]


def find_events(facts: Facts, before: NftRow, state: Mapping[str, Any], past: Past) -> list[Event]:
    """Find the events between a stored NFT and its new state."""
    on_ledger, is_listed = facts.nft, state["is_for_sale"]
    price_before = before["listing_price"] if before["is_for_sale"] else None
    owner, new_owner = before["owner"], state["owner"]
    found = [*_find_moves(on_ledger, owner, new_owner, price_before, past)]
    if found:
        price_before = None
    if on_ledger.is_deleted:
        # A token's deletion leaves no entry in the histories of its NFTs.
        is_burned = any(entry.name in BURNS for entry in past.entries)
        newest = _newest(on_ledger, past) if is_burned else ()
        found.append(Event(EventKind.BURNED, new_owner, None, None, price_before, *newest))
    elif price_before and not is_listed:
        is_decided = state["ledger_at"] >= before["ledger_at"]
        newest = _newest(on_ledger, past) if is_decided else ()
        found.append(Event(EventKind.WITHDRAWN, owner, None, None, price_before, *newest))
    if is_listed:
        price, listed_at = state["listing_price"], state["last_listed_at"]
        if price_before is None or listed_at != before["last_listed_at"]:
            kind = EventKind.LISTED if price_before in (None, price) else EventKind.PRICE_CHANGED
            by = facts.transaction and str(facts.transaction.transaction_id)
            found.append(Event(kind, new_owner, None, price, price_before, by, listed_at))
    return found


def _newest(on_ledger: Nft, past: Past) -> tuple[str | None, str | None]:
    """The id of the transaction that last changed the NFT's row, or None if unknown, and its date."""
    by = [entry for entry in past.entries if entry.consensus_at == on_ledger.modified_at]
    return str(by[0].transaction_id) if by else None, times.to_iso(on_ledger.modified_at)


def _find_moves(
    on_ledger: Nft, owner: str, new_owner: str, price: int | None, past: Past
) -> Iterator[Event]:
    """Yield each change of owner. The first one has the price of the listing that it ended."""
    for move in past.moves:
        paid = past.paid.get(move.consensus_at)
        kind = EventKind.TRANSFERRED if paid is None else EventKind.SOLD
        by, moved_at = str(move.transaction_id), times.to_iso(move.consensus_at)
        yield Event(kind, move.sender, move.receiver, paid, price, by, moved_at)
        owner, price = move.receiver or owner, None
    if owner != new_owner:
        # A token's new treasury received all NFTs of the old one, or the history is incomplete.
        moved_at = times.to_iso(on_ledger.modified_at)
        yield Event(EventKind.TRANSFERRED, owner, new_owner, None, price, None, moved_at)


def is_redrawn(before: NftRow, after: NftRow) -> bool:
    """Tell whether the metadata or the image that clients see has changed."""
    shown, shown_before = {**after}, {**before}
    return any(shown[name] != shown_before[name] for name in SHOWN)


def store(db: Connection, found: Mapping[tuple[str, int], Iterable[Event]]) -> None:
    """Write the events of NFTs, at the end of the transaction that makes the changes."""
    seen_at = times.to_iso(times.now())
    rows = [
        event._asdict() | {"token": token, "serial_no": serial_no, "seen_at": seen_at}
        for (token, serial_no), of_nft in found.items()
        for event in of_nft
    ]
    if rows:
        insert(db, rows)


def insert(db: Connection, rows: list[dict[str, Any]]) -> None:
    """Insert events, with their date and their JSON, which is the same for every reader.

    Sales are added to the totals of their collections.
    """
    own = services()
    for row in rows:
        if row["kind"] == EventKind.SOLD:
            nft_collections.add_sale(db, row["token"], row["price"], row["consensus_at"])
        row["date"] = row["consensus_at"] or row["seen_at"]
        row["body"] = own.encode_event_body(row)
    own.database.insert_events(rows)
