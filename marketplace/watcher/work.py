"""How the watcher works on many things at once, and what it says it did."""

import enum
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from marketplace.cli.systemd import notify_alive
from marketplace.errors import (
    DatabaseBusy,
    DatabaseUnreachable,
    DatabaseUnusable,
    LedgerAnswerInvalid,
    LedgerUnreachable,
)
from marketplace.services import application
from marketplace.store.database_errors import explained

AT_ONCE = 8  # requests in progress

T = TypeVar("T")


class Done(enum.Enum):
    """The result of one piece of work, in the operator's words."""

    SELLERS = "sellers checked"
    TOKENS = "tokens checked"
    LISTED = "NFTs listed"
    TAKEN_OFF = "NFTs taken off the order book"
    UNCHANGED = "NFTs found unchanged"
    UNDECIDED = "NFTs not decided yet"
    NOT_CHECKED = "not checked"
    COMPLETED = "NFTs completed"
    INCOMPLETE = "NFTs still incomplete"
    COLLECTIONS = "collections read"
    COLLECTIONS_LATE = "collections not read yet"

    @property
    def is_final(self) -> bool:
        """Whether it need not be checked again."""
        return self not in (Done.UNDECIDED, Done.NOT_CHECKED)


def for_each(
    work: Callable[[str], T], items: list[str], stop: threading.Event, seconds: float = float("inf")
) -> Iterator[T | None]:
    """Do the work for each item, several at once, while there is time. One that fails stops no other.

    Yields what it returned for each; None where it failed, or was not begun. Raises what would be the same
    for all: DatabaseBusy, DatabaseUnusable, DatabaseUnreachable, OSError.
    """
    app = application()
    until = time.monotonic() + seconds

    def work_on(item: str) -> T | None:
        if stop.is_set() or time.monotonic() > until:
            return None
        with app.app_context():
            try:
                with explained():
                    return work(item)
            except (DatabaseBusy, DatabaseUnusable, DatabaseUnreachable, OSError):
                raise
            except (LedgerUnreachable, LedgerAnswerInvalid) as error:
                app.logger.warning("%s was not checked: %s", item, error)
            except Exception:
                app.logger.exception("%s was not checked", item)
            finally:
                notify_alive()
            return None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(work_on, items)


def summary(counts: Counter[Done]) -> str:
    """A line that counts the results."""
    return ", ".join(f"{done.value}: {counts[done]}" for done in Done if counts[done])
