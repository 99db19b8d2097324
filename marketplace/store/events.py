"""The feed of events, in the order in which they became visible here, and what sales cost."""

from collections.abc import Mapping
from typing import NamedTuple, TypedDict

from marketplace.errors import CursorGone
from marketplace.events import Cursor
from marketplace.hedera.ids import MAX_INT64
from marketplace.services import services
from marketplace.store.connection import Connection, merge, only


class StoredEventRow(TypedDict):
    id: int
    seen_at: str


class FeedRow(TypedDict):
    """The state of the feed: its epoch, and the oldest and newest id that are stored."""

    epoch: str
    oldest: int  # newest + 1 if there are no events
    newest: int


class EventRow(FeedRow):
    """An event, and the state of the feed when it was read."""

    cursor: str  # epoch and id
    id: int
    kind: str
    token: str
    serial_no: int
    from_account: str | None
    to_account: str | None
    price: int | None
    previous_price: int | None
    transaction_id: str | None
    consensus_at: str | None
    offer_id: str | None
    received: int | None
    date: str


class KeptSalesRow(TypedDict):
    sales: int
    volume: int


class SoldRow(TypedDict):
    """An event of a sale, which always has these."""

    id: int
    token: str
    serial_no: int
    from_account: str
    to_account: str
    price: int
    transaction_id: str
    consensus_at: str


class RateRow(TypedDict):
    """An exchange rate: an amount of US cents for an amount of HBAR."""

    read_at: str
    cents: int
    hbar: int


class SalesRow(TypedDict):
    sales_24h: int
    volume_24h: int
    first_at: str | None


READ_TO = "sales_read_to"  # the property with the id of the last event whose sale was looked up
# The columns of a FeedRow. ``epoch``: Engine.epoch.
FEED = """
    {epoch} AS epoch,
    COALESCE((SELECT MIN(id) FROM event), 1) AS oldest,
    COALESCE((SELECT MAX(id) FROM event), 0) AS newest
"""


class EventFilter(NamedTuple):
    """A filter of events. All of its conditions must hold."""

    token: str | None = None
    serial_no: int | None = None  # only with a token
    account_id: str | None = None  # the owner before, or after
    kinds: tuple[str, ...] = ()  # any of these; empty: all kinds
    since: str | None = None  # the earliest date
    until: str | None = None  # the first date that is too late


# The date of an event, as the index event_by_date has it.
DATED = "COALESCE(consensus_at, seen_at)"


class Place(NamedTuple):
    """Where a page of events is in the feed."""

    # An id: events after it, or before it if newest_first; None: the newest events, or with ``since`` the
    # oldest
    after: int | None
    limit: int
    newest_first: bool = False


def insert_event(db: Connection, event: Mapping[str, object]) -> None:
    # Only after Engine.lock_events(). It is in no list while its NFT is hidden. A blocked account's listings,
    # and offers of one or to one, are no events.
    sql = """
        INSERT INTO event (
            id, kind, token, serial_no, from_account, to_account, price, previous_price, transaction_id,
            consensus_at, seen_at, offer_id, received, is_hidden
        )
        SELECT
            (SELECT COALESCE(MAX(id), 0) + 1 FROM event), :kind, :token, :serial_no, :from_account,
            :to_account, :price, :previous_price, :transaction_id, :consensus_at, :seen_at, :offer_id,
            :received, CASE WHEN EXISTS (
                SELECT 1 FROM nft WHERE token = :token AND serial_no = :serial_no AND is_hidden = 1
            ) THEN 1 ELSE 0 END
        WHERE NOT (
            (:kind IN ('LISTED', 'PRICE_CHANGED') OR :kind LIKE 'OFFER%') AND EXISTS (
                SELECT 1 FROM decision WHERE kind = 'blocked' AND id IN (:from_account, :to_account)
            )
        )
    """
    db.execute(sql, event)


def get_sales_between(db: Connection, token: str, first: int, last: int) -> KeptSalesRow:
    # Of NFTs that are not hidden, between two serial numbers.
    sql = """
        SELECT COUNT(*) AS sales, CAST(COALESCE(SUM(price), 0) AS BIGINT) AS volume FROM event
        WHERE token = :token AND serial_no BETWEEN :first AND :last AND sold_at IS NOT NULL
    """
    row: KeptSalesRow = only(db, sql, {"token": token, "first": first, "last": last})
    return row


def get_next_event(db: Connection, selection: EventFilter, after: int) -> StoredEventRow | None:
    sql, parameters = _select("id, seen_at", selection, after, 1, newest_first=False)
    return db.execute(sql, parameters).fetchone()


def list_page(
    db: Connection, selection: EventFilter, place: Place
) -> tuple[FeedRow, list[EventRow]]:
    # The events at this place, and the state of the feed at that moment.
    begins = 0 if selection.since and not place.newest_first else MAX_INT64
    after = begins if place.after is None else place.after
    is_backwards = place.newest_first or after == MAX_INT64
    part, parameters = _select("*", selection, after, place.limit, is_backwards)
    sql = f"""
        WITH page AS ({part})
        SELECT
            feed.epoch, feed.oldest, feed.newest, feed.epoch || '-' || page.id AS cursor, page.id, page.kind,
            page.token, page.serial_no, page.from_account, page.to_account, page.price, page.previous_price,
            page.transaction_id, page.consensus_at, page.offer_id, page.received,
            COALESCE(page.consensus_at, page.seen_at) AS date
        FROM (SELECT {FEED.format(epoch=services().database.epoch)}) AS feed LEFT JOIN page ON TRUE
        ORDER BY page.id {"DESC" if place.newest_first else "ASC"}
    """
    rows = db.execute(sql, parameters).fetchall()
    return rows[0], rows if rows[0]["id"] is not None else []


def read_page(
    db: Connection, selection: EventFilter, cursor: Cursor | None, limit: int, *, newest_first: bool
) -> tuple[list[EventRow], Cursor | None]:
    """Read a page of events after a cursor, or before it if ``newest_first``. Without one: the newest events.

    Returns them and the cursor of the next page, or None if no older events are kept. Raises CursorGone.
    """
    place = Place(cursor.id if cursor else None, limit, newest_first)
    feed, rows = list_page(db, selection, place)
    if cursor:
        _require_kept(cursor, feed)
    if len(rows) == limit:
        following = rows[-1]["id"]
    elif newest_first:
        return rows, None
    else:  # all events that are kept were searched
        following = feed["newest"]
    return rows, Cursor(feed["epoch"], following)


def _require_kept(cursor: Cursor, feed: FeedRow) -> None:
    """Raise CursorGone if events that follow the cursor may be missing."""
    reason = None
    if cursor.epoch != feed["epoch"]:
        reason = "is of another database, or of this one before it went back in time"
    elif cursor.id > feed["newest"]:
        reason = "is beyond the newest event"
    elif cursor.id < feed["oldest"] - 1:
        reason = "is too old: events that follow it were deleted"
    if reason:
        raise CursorGone(str(cursor), reason, str(Cursor(feed["epoch"], feed["oldest"] - 1)))


def _select(
    columns: str, selection: EventFilter, after: int, limit: int, newest_first: bool
) -> tuple[str, dict[str, object]]:
    # Each part reads a range of one index: by kind, by the owner before, or by the owner after.
    kinds = {f"kind_{n}": kind for n, kind in enumerate(selection.kinds)}
    order, beyond = ("DESC", "<") if newest_first else ("ASC", ">")
    parts = [
        f"""
        SELECT {columns}
        FROM event
        WHERE {condition} AND is_hidden = 0 AND id {beyond} :after
        ORDER BY id {order}
        LIMIT :limit + 0
        """
        # Not a bare parameter: SQLite would compare it with the partial indexes, and prepare this each time.
        for condition in _conditions(selection, [f":{name} || ''" for name in kinds])
    ]
    parameters = selection._asdict() | kinds | {"after": after, "limit": limit}
    return merge(parts, f"id {order}"), parameters


def _conditions(selection: EventFilter, kinds: list[str]) -> list[str]:
    columns = [name for name in ("token", "serial_no") if getattr(selection, name) is not None]
    rest = [f"{name} = :{name}" for name in columns]
    rest += _select_dates(selection)
    if kinds:
        rest.append(f"kind IN ({', '.join(kinds)})")
    if selection.account_id is not None:
        received = "to_account = :account_id AND COALESCE(from_account, '') <> :account_id"
        return [" AND ".join([side, *rest]) for side in ("from_account = :account_id", received)]
    if kinds and selection.token is None:
        dated = rest[:-1]
        return [" AND ".join([f"kind = {kind}", *dated]) for kind in kinds]
    return [" AND ".join(rest or ["TRUE"])]


def _select_dates(selection: EventFilter) -> list[str]:
    # Ids are nearly in the order of dates. An index yields the lowest and the highest id between two dates;
    # only events between these ids are read.
    bounds = [f"{DATED} >= :since"] if selection.since else []
    bounds += [f"{DATED} < :until"] if selection.until else []
    if not bounds:
        return []
    within = f"FROM event WHERE {' AND '.join(bounds)}"
    return [*bounds, f"id BETWEEN (SELECT MIN(id) {within}) AND (SELECT MAX(id) {within})"]


def get_feed(db: Connection) -> FeedRow:
    row: FeedRow = only(db, f"SELECT {FEED.format(epoch=services().database.epoch)}")
    return row


def find_cursor(db: Connection) -> Cursor:
    """The cursor of the newest event. Rows read after this call include all events up to it."""
    feed = get_feed(db)
    return Cursor(feed["epoch"], feed["newest"])


def get_sales_since(db: Connection, token: str, since: str) -> SalesRow:
    sql = """
        SELECT
            COUNT(*) AS sales_24h, COALESCE(SUM(price), 0) AS volume_24h, MIN(sold_at) AS first_at
        FROM event
        WHERE token = :token AND sold_at >= :since
    """
    row: SalesRow = only(db, sql, {"token": token, "since": since})
    return row


def delete_events(db: Connection, before: str, limit: int) -> int:
    # Deletes at most ``limit`` events before the first one to keep, so that no gap arises even if the clock
    # was changed. The newest event stays, because the next id follows it.
    sql = """
        DELETE FROM event WHERE id < (
            SELECT MIN(id) FROM (
                SELECT id FROM event
                WHERE seen_at >= :before AND id < (SELECT MIN(id) FROM event) + :limit
                UNION ALL SELECT MAX(id) FROM event
                UNION ALL SELECT MIN(id) + :limit FROM event
            ) AS kept
        )
    """
    return db.execute(sql, {"before": before, "limit": limit}).rowcount


# What sales cost, and the exchange rates of their days


def list_sold_after(db: Connection, after: int, limit: int) -> list[SoldRow]:
    sql = """
        SELECT id, token, serial_no, from_account, to_account, price, transaction_id, consensus_at
        FROM event
        WHERE kind = 'SOLD' AND id > :after AND transaction_id IS NOT NULL AND consensus_at IS NOT NULL
        ORDER BY id
        LIMIT :limit + 0
    """
    return db.execute(sql, {"after": after, "limit": limit}).fetchall()


def insert_sale(db: Connection, sale: Mapping[str, object]) -> None:
    sql = """
        INSERT INTO sale (
            event_id, way, part_tinybars, royalties, network_tinybars, association_tinybars, rate_cents,
            rate_hbar
        )
        VALUES (
            :event_id, :way, :part_tinybars, :royalties, :network_tinybars, :association_tinybars,
            :rate_cents, :rate_hbar
        )
        ON CONFLICT (event_id) DO NOTHING
    """
    db.execute(sql, sale)


def insert_rate(db: Connection, read_at: str, cents: int, hbar: int) -> None:
    sql = """
        INSERT INTO exchange_rate (read_at, cents, hbar) VALUES (:read_at, :cents, :hbar)
        ON CONFLICT (read_at) DO NOTHING
    """
    db.execute(sql, {"read_at": read_at, "cents": cents, "hbar": hbar})


def get_rate(db: Connection, moment: str) -> RateRow | None:
    # The one that was read last before a moment.
    sql = """
        SELECT read_at, cents, hbar FROM exchange_rate
        WHERE read_at <= :moment
        ORDER BY read_at DESC
        LIMIT 1
    """
    return db.execute(sql, {"moment": moment}).fetchone()
