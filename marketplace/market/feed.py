"""The feed of events: its epoch, the cursors that can be followed, and the pages that they lead to."""

from marketplace.errors import CursorGone
from marketplace.ids import Cursor
from marketplace.services import database
from marketplace.store import events
from marketplace.store.events import Selection
from marketplace.store.rows import Connection, FeedRow, PageRow


def find_feed(db: Connection) -> FeedRow:
    return events.get_feed(db, database().epoch)


def find_cursor(db: Connection) -> Cursor:
    """The cursor of the newest event. Rows that are read after it show all events up to there."""
    feed = find_feed(db)
    return Cursor(feed["epoch"], feed["newest"])


def read_page(
    db: Connection, selection: Selection, cursor: Cursor | None, limit: int, *, newest_first: bool
) -> tuple[str, Cursor | None]:
    """Read the events after a cursor, or before it; the newest of all where there is none.

    Returns their JSON, and the cursor that leads on: None where nothing older is kept. Raises CursorGone.
    """
    after = cursor.id if cursor else None
    page = events.get_page(db, database().epoch, selection, after, limit, newest_first)
    if cursor:
        _require_kept(cursor, page)
    if page["count"] == limit:
        following = page["lowest"] if newest_first else page["highest"]
    else:  # all that is kept was searched
        following = None if newest_first else page["newest"]
    more = None if following is None else Cursor(page["epoch"], following)
    return write_events(page), more


def write_events(page: PageRow) -> str:
    """The JSON of a page of events."""
    start, lines = f'{{"id":"{page["epoch"]}-', page["lines"]
    return "[" + start + lines.replace("\n", f",{start}") + "]" if lines else "[]"


def _require_kept(cursor: Cursor, feed: FeedRow) -> None:
    """Raise CursorGone where events that follow the cursor may be missing."""
    reason = None
    if cursor.epoch != feed["epoch"]:
        reason = "is of another database, or of this one before it went back in time"
    elif cursor.id > feed["newest"]:
        reason = "is beyond the newest event"
    elif cursor.id < feed["oldest"] - 1:
        reason = "is too old: events that follow it were deleted"
    if reason:
        raise CursorGone(str(cursor), reason, str(Cursor(feed["epoch"], feed["oldest"] - 1)))
