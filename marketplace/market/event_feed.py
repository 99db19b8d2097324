"""The feed of events: its epoch, its cursors, and its pages."""

from marketplace.errors import CursorGone
from marketplace.events import Cursor
from marketplace.services import database
from marketplace.store import events
from marketplace.store.connection import Connection
from marketplace.store.events import EventFilter, EventRow, FeedRow, Place


def find_feed(db: Connection) -> FeedRow:
    return events.get_feed(db, database().epoch)


def find_cursor(db: Connection) -> Cursor:
    """The cursor of the newest event. Rows read after this call include all events up to it."""
    feed = find_feed(db)
    return Cursor(feed["epoch"], feed["newest"])


def read_page(
    db: Connection, selection: EventFilter, cursor: Cursor | None, limit: int, *, newest_first: bool
) -> tuple[list[EventRow], Cursor | None]:
    """Read a page of events after a cursor, or before it if ``newest_first``. Without one: the newest events.

    Returns them and the cursor of the next page, or None if no older events are kept. Raises CursorGone.
    """
    place = Place(cursor.id if cursor else None, limit, newest_first)
    feed, rows = events.list_page(db, database().epoch, selection, place)
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
