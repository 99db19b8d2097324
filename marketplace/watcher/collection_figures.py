"""Counts each collection's hours from the events: its sales, and its floor price at their ends.

Events become visible in another order than they happened on the ledger. So the hours since the earliest new
event are counted again, from all of their events. Only one NFT's events are always in the order of their ids.
"""

import heapq
from collections.abc import Iterable

from marketplace.hedera import times
from marketplace.services import read, write
from marketplace.store import collection_hours, properties
from marketplace.store.collection_hours import HourRow, ListingChangeRow

PAUSE_SECONDS = 2  # between two looks at what is new
NEW_AT_ONCE = 1_000_000  # events: each collection of which is counted once
EVENTS_AT_ONCE = 10_000  # of one statement
DUE_AT_ONCE = 100  # collections of one write
# Of the local clock behind the ledger's: an event may be written before it happened.
CLOCK_ERROR = times.HOUR
LISTED = ("LISTED", "PRICE_CHANGED", "SHOWN")
BEGINNING = "1970-01-01T00:00:00.000000000Z"


def count_figures() -> float:
    """Count what is new, and what has become old. Returns how many seconds to pause."""
    stored = properties.get_property(read(), collection_hours.READ_TO)
    after = int(stored) if stored else 0
    changed = collection_hours.list_changed(read(), after, NEW_AT_ONCE)
    for row in changed:
        _store_figures(row["token"], row["since"])
    if changed:
        newest = max(row["newest"] for row in changed)
        with write() as db:
            properties.mark_property(db, collection_hours.READ_TO, str(newest).encode())
    _count_due()
    return PAUSE_SECONDS


def _store_figures(token: str, since: str | None) -> None:
    """Count a collection's hours since a date again, and what follows from them. None: only what follows."""
    rows = []
    if since:
        begin, after = _find_begin(since)
        changes, floor = _read_changes(token, after)
        rows = changes.count(_hour(begin), floor)
    with write() as db:
        if since:
            collection_hours.delete_hours(db, token, _hour(begin))
        for row in rows:
            collection_hours.insert_hour(db, token, row)
        collection_hours.mark_figures(db, token, **_name_hours())


def _count_due() -> None:
    due = [""]
    while due:
        now = times.to_iso(times.now())
        if due := collection_hours.list_figures_due(read(), now, DUE_AT_ONCE):
            with write() as db:
                for token in sorted(due):  # as all writers of collections do
                    collection_hours.mark_figures(db, token, **_name_hours())


def _name_hours() -> dict[str, str]:
    now = times.now()
    day, week, month = (_hour(times.to_iso(now - days * times.DAY)) for days in (1, 7, 30))
    due_at = times.to_iso((now // times.HOUR + 1) * times.HOUR)
    return {"day": day, "week": week, "month": month, "due_at": due_at}


def _hour(date: str) -> str:
    return date[:13]


def _find_begin(since: str) -> tuple[str, int]:
    """When to begin, and the id before the first event that may have happened since then.

    The hours before the oldest stored event stay as they are: their events are deleted. Those of the last day
    never are.
    """
    db = read()
    oldest = collection_hours.get_event_date(db, 0)
    if oldest and oldest[0] > 1:
        complete = times.to_nanoseconds(oldest[1]) + CLOCK_ERROR + times.HOUR
        since = max(since, times.to_iso(min(complete, times.now() - times.DAY)))
    written_at = times.to_iso(
        max(0, times.to_nanoseconds(since[:13] + BEGINNING[13:]) - CLOCK_ERROR)
    )
    # Ids are in the order in which events were written.
    low, high = 0, collection_hours.get_newest_id(db)
    while low < high:
        middle = (low + high) // 2
        found = collection_hours.get_event_date(db, middle)
        low, high = (middle + 1, high) if found and found[1] < written_at else (low, middle)
    return since, low


def _read_changes(token: str, after: int) -> tuple["Changes", int | None]:
    """Read a collection's events after an id, and the floor of the NFTs that none of them is about."""
    changes, newest = Changes(), after
    while True:
        page = collection_hours.list_listing_changes(read(), token, newest, EVENTS_AT_ONCE)
        changes.add(page)
        newest = page[-1]["id"] if page else newest
        if len(page) == EVENTS_AT_ONCE:
            continue
        steady = collection_hours.get_steady(read(), token, after)
        if steady["newest"] <= newest:
            return changes, steady["floor_price"]


class Changes:
    """What events changed, by hour: an NFT's price when the hour ended, and the prices of sales."""

    def __init__(self) -> None:
        self._before: dict[int, int | None] = {}  # each NFT's price before its first event
        self._last: dict[int, str] = {}  # the hour of its last event
        self._prices: dict[str, dict[int, int | None]] = {}
        self._sales: dict[str, list[int]] = {}

    def add(self, events: Iterable[ListingChangeRow]) -> None:
        """Add events in the order of their ids."""
        for event in events:
            serial_no, hour = event["serial_no"], _hour(event["date"])
            self._before.setdefault(serial_no, event["previous_price"])
            hour = self._last[serial_no] = max(hour, self._last.get(serial_no, ""))
            price = event["price"] if event["kind"] in LISTED else None
            self._prices.setdefault(hour, {})[serial_no] = price
            if event["kind"] == "SOLD" and event["price"] is not None:
                self._sales.setdefault(hour, []).append(event["price"])

    def count(self, begin: str, steady: int | None) -> list[HourRow]:
        """Count the hours from ``begin`` on. ``steady``: the floor of all other NFTs."""
        listed = dict(self._before)
        heap = [(price, serial_no) for serial_no, price in listed.items() if price is not None]
        heapq.heapify(heap)

        def find_floor() -> int | None:
            while heap and listed[heap[0][1]] != heap[0][0]:
                heapq.heappop(heap)
            prices = [
                price for price in (steady, heap[0][0] if heap else None) if price is not None
            ]
            return min(prices, default=None)

        rows = []
        for hour in sorted(self._prices):
            listed |= self._prices[hour]
            for serial_no, price in self._prices[hour].items():
                if price is not None:
                    heapq.heappush(heap, (price, serial_no))
            if hour >= begin:
                rows.append(_count_hour(hour, self._sales.get(hour, []), find_floor()))
        return rows


def _count_hour(hour: str, sold: list[int], floor: int | None) -> HourRow:
    return {
        "hour": hour,
        "sales": len(sold),
        "volume": sum(sold),
        "lowest_price": min(sold, default=None),
        "highest_price": max(sold, default=None),
        "floor_price": floor,
    }
