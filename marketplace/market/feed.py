"""The feed of events: its epoch, the cursors that can be followed, and the pages that they lead to."""

import hashlib
from typing import NamedTuple

from marketplace.errors import CursorGone
from marketplace.ids import MAX_INT64, Cursor
from marketplace.services import database
from marketplace.store import events
from marketplace.store.events import Selection
from marketplace.store.rows import Connection, EventRow


class Feed(NamedTuple):
    """The state of the feed: the events that are kept."""

    epoch: str
    oldest: int
    newest: int


class Page(NamedTuple):
    """Some events, and the cursor that leads on: None where nothing older is kept."""

    events: list[EventRow]
    following: Cursor | None


def find_feed(db: Connection) -> Feed:
    row = events.get_feed(db)
    epoch, home = row["epoch"].decode(), database().find_home(db)
    if home != row["home"].decode():  # a standby took over, or the tables were restored
        epoch = hashlib.sha256(f"{epoch}{home}".encode()).hexdigest()[:8]
    return Feed(epoch, row["oldest"], row["newest"])


def find_cursor(db: Connection) -> Cursor:
    """The cursor of the newest event. Rows that are read after it show all events up to there."""
    feed = find_feed(db)
    return Cursor(feed.epoch, feed.newest)


def read_page(
    db: Connection, selection: Selection, cursor: Cursor | None, limit: int, *, newest_first: bool
) -> Page:
    """Read the events after a cursor, or before it; the newest of all where there is none.

    Raises CursorGone.
    """
    feed = find_feed(db)
    rows = events.list_events(
        db,
        selection,
        feed.epoch,
        cursor.id if cursor else MAX_INT64,
        limit,
        newest_first=newest_first or cursor is None,
        columns=events.SENT,
    )
    if cursor:
        if not rows or abs(rows[0]["id"] - cursor.id) > 1:
            # Events that were deleted meanwhile are missing from the rows.
            feed = feed._replace(oldest=events.get_feed(db)["oldest"])
        require_kept(cursor, feed)
    elif not newest_first:
        rows.reverse()
    last = rows[-1]["id"] if rows else 0
    if len(rows) == limit:
        return Page(rows, Cursor(feed.epoch, last))
    # All events up to the newest were searched.
    return Page(rows, None if newest_first else Cursor(feed.epoch, max(feed.newest, last)))


def require_kept(cursor: Cursor, feed: Feed) -> None:
    """Raise CursorGone where events that follow the cursor may be missing."""
    reason = None
    if cursor.epoch != feed.epoch:
        reason = "is of another database, or of this one before it went back in time"
    elif cursor.id > feed.newest:
        reason = "is beyond the newest event"
    elif cursor.id < feed.oldest - 1:
        reason = "is too old: events that follow it were deleted"
    if reason:
        raise CursorGone(str(cursor), reason, str(Cursor(feed.epoch, feed.oldest - 1)))
