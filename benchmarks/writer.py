"""Writes while others read: through the service's own queries, as another process of the operator's.

    python -m benchmarks.writer DATABASE NFTS WRITES_PER_SECOND

ends, and tells how many writes it committed, when its standard input ends.
"""

import random
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

from benchmarks import records, service
from benchmarks.plan import listed_of
from benchmarks.server import stop
from marketplace import times
from marketplace.services import services
from marketplace.store import nfts
from marketplace.store.database import write


def state(number: int, now: str, price: int, listed_at: str | None) -> dict:
    token, serial_no = records.key(number)
    return {
        "token": token,
        "serial_no": serial_no,
        "is_for_sale": int(price > 0),
        "listing_price": price,
        "owner": records.owner(number),
        "last_listed_at": listed_at,
        "ledger_at": now,
        "seen_at": now,
    }


class Writer:
    """Commits one write at a time; each leaves as much listed as there was, or makes up for the last."""

    def __init__(self, database: Path, count: int) -> None:
        self._app = service.create(database)
        self._listed = records.listed_numbers(count, listed_of(count))
        self._dice = random.Random(1)
        self._ended = None

    def relist(self, number: int | None = None) -> None:
        """An NFT that is listed is listed again, as the newest: no order book is what it was."""
        self._list(self._dice.choice(self._listed) if number is None else number)

    def end_or_relist(self) -> None:
        """In turn: a listing ends; the same NFT is listed again."""
        if self._ended is not None:
            self._list(self._ended)
            self._ended = None
            return
        self._ended = self._dice.choice(self._listed)
        now = times.to_iso(times.now())
        with self._app.app_context(), write() as db:
            row = nfts.mark_reconciled(db, state(self._ended, now, price=0, listed_at=None))
        assert row, "nothing was written"

    def _list(self, number: int) -> None:
        now = times.to_iso(times.now())
        price = self._dice.randrange(1, 50_000)
        with self._app.app_context(), write() as db:
            row = nfts.mark_reconciled(db, state(number, now, price, listed_at=now))
        assert row, "nothing was written"

    @property
    def is_one_ended(self) -> bool:
        return self._ended is not None

    def close(self) -> None:
        services(self._app).database.close()


@contextmanager
def writing(database: Path, nfts: int, per_second: int) -> Iterator[None]:
    """Another process commits so many writes a second, until the end of the block."""
    words = [sys.executable, "-m", "benchmarks.writer", database, str(nfts), str(per_second)]
    environ = service.environ(database)
    with Popen(
        words,
        cwd=service.ROOT,
        env=environ,
        stdin=PIPE,
        stdout=PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout.readline() == "writing\n", "the writer did not start"
            yield
            said, _ = process.communicate(timeout=10)
            committed, seconds = map(float, said.split())
            if committed < 0.8 * per_second * seconds:
                print(f"The writer was slow: {committed:.0f} writes in {seconds:.1f} s")
        finally:
            stop(process)


def main(database: str, nfts: str, per_second: str) -> None:
    writer = Writer(Path(database), int(nfts))
    writer.end_or_relist()
    print("writing", flush=True)
    started, committed = time.monotonic(), 0
    while True:
        pause = max(0, started + committed / int(per_second) - time.monotonic())
        if select.select([sys.stdin], [], [], pause)[0]:
            break
        writer.end_or_relist()
        committed += 1
    if writer.is_one_ended:
        writer.end_or_relist()
    print(committed, time.monotonic() - started)
    writer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
