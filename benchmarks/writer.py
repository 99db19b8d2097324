"""Writes while others read: by the service's own queries, from a process that is not a server."""

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from benchmarks import records, service
from marketplace.hedera import times
from marketplace.services import read, write
from marketplace.store import nfts


class Writer:
    """Commits one write at a time. The number of listed NFTs stays the same."""

    def __init__(self, database: Path, count: int, url: str | None = None) -> None:
        """``url`` leads to PostgreSQL, in place of the file."""
        self.app = service.create(database, url)
        self.listed = records.listed_numbers(count)
        self._dice = random.Random(1)

    def relist(self) -> None:
        """List a listed NFT again, as the newest one, which changes the order book."""
        key, price = records.key(self._dice.choice(self.listed)), self._dice.randrange(1, 50_000)
        now = times.to_iso(times.now())
        news = {"listing_price": price, "last_listed_at": now, "ledger_at": now}
        with self.app.app_context():
            stored = nfts.get_nft(read(), *key)
            assert stored and stored["is_for_sale"], f"{key} is not listed"
            with write() as db:
                assert nfts.mark_reconciled(db, {**stored} | news, stored), "nothing was written"

    @contextmanager
    def writing(self, per_second: int) -> Iterator[None]:
        """A thread of this process commits N writes a second until the end of the block."""
        over = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            task = pool.submit(self._keep_writing, per_second, over)
            try:
                yield
            finally:
                over.set()
            committed, seconds = task.result()
        if committed < 0.8 * per_second * seconds:
            print(f"The writer was slow: {committed} writes in {seconds:.1f} s")

    def _keep_writing(self, per_second: int, over: threading.Event) -> tuple[int, float]:
        started, committed = time.monotonic(), 0
        while not over.wait(max(0, started + committed / per_second - time.monotonic())):
            self.relist()
            committed += 1
        return committed, time.monotonic() - started
