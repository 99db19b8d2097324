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


class Writer:
    """Commits one write at a time; each leaves as much listed as there was."""

    def __init__(self, database: Path, count: int) -> None:
        self._app = service.create(database)
        self._listed = records.listed_numbers(count, listed_of(count))
        self._dice = random.Random(1)

    def relist(self) -> None:
        """An NFT that is listed is listed again, as the newest: no order book is what it was."""
        token, serial_no = records.key(number := self._dice.choice(self._listed))
        now = times.to_iso(times.now())
        state = {
            "token": token,
            "serial_no": serial_no,
            "is_for_sale": 1,
            "listing_price": self._dice.randrange(1, 50_000),
            "owner": records.owner(number),
            "last_listed_at": now,
            "ledger_at": now,
            "seen_at": now,
        }
        with self._app.app_context(), write() as db:
            stored = nfts.get_nft(db, token, serial_no)
            assert stored and nfts.mark_reconciled(db, state, stored), "nothing was written"

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
    writer.relist()
    print("writing", flush=True)
    started, committed = time.monotonic(), 0
    while True:
        pause = max(0, started + committed / int(per_second) - time.monotonic())
        if select.select([sys.stdin], [], [], pause)[0]:
            break
        writer.relist()
        committed += 1
    print(committed, time.monotonic() - started)
    writer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
