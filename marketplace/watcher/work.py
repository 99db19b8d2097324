"""How the watcher works on many things at once, and what it says it did."""

import enum
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from flask import current_app

from marketplace.cli.systemd import notify_alive
from marketplace.errors import (
    DatabaseBusy,
    DatabaseUnreachable,
    DatabaseUnusable,
    LedgerAnswerInvalid,
    LedgerUnreachable,
)
from marketplace.store.database_errors import explained

AT_ONCE = 8  # requests under way


class Done(enum.Enum):
    """What a round did, in its operator's words."""

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
        """Whether the next round need not look again."""
        return self not in (Done.UNDECIDED, Done.NOT_CHECKED)


def for_each(
    work: Callable,
    items: list,
    stop: threading.Event,
    seconds: float = float("inf"),
    left_out: Done = Done.NOT_CHECKED,
) -> Iterator[Any]:
    """Do the work for each item, several at once, while there is time. One that fails ends no round.

    Yields what it returned for each; Done.NOT_CHECKED where it failed, ``left_out`` where it was not begun.
    Raises what would be the same for all: DatabaseBusy, DatabaseUnusable, DatabaseUnreachable, OSError.
    """
    app = current_app._get_current_object()
    enough = time.monotonic() + seconds

    def work_on(item):
        if stop.is_set() or time.monotonic() > enough:
            return left_out
        with app.app_context():
            try:
                with explained():
                    return work(item)
            except (DatabaseBusy, DatabaseUnusable, DatabaseUnreachable, OSError):
                raise
            except (LedgerUnreachable, LedgerAnswerInvalid) as error:
                app.logger.warning("%s was not checked: %s", name_of(item), error)
            except Exception:
                app.logger.exception("%s was not checked", name_of(item))
            finally:
                notify_alive()
            return Done.NOT_CHECKED

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(work_on, items)


def shuffled(items: Iterable) -> list:
    items = list(items)
    return random.sample(items, len(items))


def name_of(item: Any) -> str:
    """What an item is called in the log: an account, or an NFT, of the ledger or as it is stored."""
    if isinstance(item, LedgerAnswerInvalid):
        return "An NFT"
    if isinstance(item, str):
        return item
    token, serial_no = item[:2] if isinstance(item, tuple) else (item["token"], item["serial_no"])
    return f"{token} #{serial_no}"


def summary(counts: Counter[Done]) -> str:
    """What was done, in a line."""
    return ", ".join(f"{done.value}: {counts[done]}" for done in Done if counts[done])
