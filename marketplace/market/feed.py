"""The feed of events: its epoch, the cursors that can be followed, and the pages that they lead to."""

import hashlib
from typing import NamedTuple

from marketplace.errors import CursorGone
from marketplace.ids import Cursor
from marketplace.services import database
from marketplace.store import events
from marketplace.store.events import Selection
from marketplace.store.rows import Connection, FeedRow


class Feed(NamedTuple):
    """The state of the feed: the events that are kept."""

    epoch: str
    oldest: int
    newest: int


class Page(NamedTuple):
    """Some events, and the cursor that leads on: None where nothing older is kept."""

    epoch: str
    lines: str | None  # as PageRow has them
    following: Cursor | None


def find_feed(db: Connection) -> Feed:
    return _read_feed(events.get_feed(db, database().home))


def _read_feed(row: FeedRow) -> Feed:
    epoch, home = row["epoch"].decode(), row["home_now"]
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
    after = cursor.id if cursor else None
    page = events.get_page(db, database().home, selection, after, limit, newest_first)
    feed = _read_feed(page)
    if cursor:
        require_kept(cursor, feed)
    if page["count"] == limit:
        following = page["lowest"] if newest_first else page["highest"]
    else:  # all that is kept was searched
        following = None if newest_first else feed.newest
    cursor = None if following is None else Cursor(feed.epoch, following)
    return Page(feed.epoch, page["events"], cursor)


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
