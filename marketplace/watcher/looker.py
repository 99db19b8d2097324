"""Works off what is to be looked at: many looks at once, and none of them holds up another for long."""

import threading
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from flask import Flask

from marketplace import times
from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.store import following
from marketplace.store.database import read, write
from marketplace.store.database_errors import explained
from marketplace.watcher.directions import Look
from marketplace.watcher.look import Seen, is_enough, look_at
from marketplace.watcher.work import Done

# Looks at once, by what is looked at: lists are long, and keep no NFT waiting.
AT_ONCE = {"nft": 8, "account": 2, "token": 2}
LONGEST_PAUSE = 3600 * times.SECOND


class Looker:
    """Looks that are under way. Each has a thread, and no row of the table has two."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._pools = {kind: ThreadPoolExecutor(most, kind) for kind, most in AT_ONCE.items()}
        self._under_way: dict[tuple, Future[Done]] = {}
        self.ended = threading.Event()  # there is room for another look

    def begin_due(self, now: int | None = None) -> list[Future[Done]]:
        """Begin what is due and has room; returns what was begun. Raises the database's errors."""
        begun = []
        for kind, most in AT_ONCE.items():
            busy = sum(key[0] == kind for key in self._under_way)
            due = following.list_looks_due(read(), kind, times.to_iso(now or times.now()), most * 2)
            free = [row for row in due if _key(row) not in self._under_way]
            begun += [self._begin(dict(row), now) for row in free[: most - busy]]
        return begun

    def _begin(self, row: dict, now: int | None) -> Future[Done]:
        look = self._pools[row["kind"]].submit(self._look, row, now)
        look.add_done_callback(lambda _: self.ended.set())
        self._under_way[_key(row)] = look
        return look

    def collect(self) -> Counter[Done]:
        """Take away the looks that have ended; returns how often what was done. Raises what they raised."""
        ended = {key: look for key, look in self._under_way.items() if look.done()}
        for key in ended:
            del self._under_way[key]
        return Counter(look.result() for look in ended.values())

    def drain(self, now: int | None = None) -> Counter[Done]:
        """Look at all that is due at a moment, and wait for it. Returns how often what was done."""
        counts: Counter[Done] = Counter()
        with self._app.app_context(), explained():
            while begun := self.begin_due(now):
                wait(begun)
                counts += self.collect()
        return counts

    def _look(self, row: dict, now: int | None) -> Done:
        with self._app.app_context():
            try:
                with explained():
                    told_at = times.to_nanoseconds(row["told_at"])
                    seen = look_at(row["kind"], row["id"], row["serial_no"], told_at)
            except (LedgerUnreachable, LedgerAnswerInvalid) as error:
                self._app.logger.warning("%s was not checked: %s", _name(row), error)
                seen = Seen(Done.NOT_CHECKED, 0)
            with explained():
                _store(row, seen, now or times.now())
            return seen.done

    def close(self) -> None:
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)


def _store(row: dict, seen: Seen, now: int) -> None:
    """Note what became of a look, and what is to be looked at now, in one transaction."""
    with write() as db:
        for look in seen.following:
            note(db, look, now)
        if is_enough(row, seen, now):
            following.delete_look(db, row)
        else:
            following.mark_looked_at(db, row, times.to_iso(_next_look(row, seen, now)))


def note(db: Any, look: Look, now: int) -> None:
    """Have it looked at, now."""
    moment = times.to_iso(now)
    following.insert_look(db, look.row | {"look_at": moment, "again_at": moment})


def _next_look(row: dict, seen: Seen, now: int) -> int:
    """Ever later; where a list was read, once more when the last replica must show it."""
    if seen.done.is_final and row["kind"] != "nft":
        return max(now + times.SECOND, times.to_nanoseconds(row["enough_at"]))
    return now + min(2 ** min(row["attempts"], 20) * times.SECOND, LONGEST_PAUSE)


def _key(row: Any) -> tuple[str, str, int]:
    return row["kind"], row["id"], row["serial_no"]


def _name(row: dict) -> str:
    return f"{row['id']} #{row['serial_no']}" if row["kind"] == "nft" else row["id"]
