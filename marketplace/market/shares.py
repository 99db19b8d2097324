"""How several watchers share out what they look after, and when all of it was last in line."""

import re
from typing import NamedTuple
from zlib import crc32

from marketplace.store import queries
from marketplace.store.database import read

MANY = 100  # watchers, at most


class Share(NamedTuple):
    """The part of one watcher among several: the second of three, say. By default all of it."""

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> "Share":
        """Read 2/3. Raises ValueError."""
        match = re.fullmatch("([0-9]{1,3})/([0-9]{1,3})", text)
        share = match and cls(*map(int, match.groups()))
        if not share or not 1 <= share.number <= share.of <= MANY:
            raise ValueError(f"{text!r} is not a share (2/3: the second of three; {MANY} at most)")
        return share

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, *key) -> bool:
        """Tell whether an account, or an NFT, falls to it. Each falls to one, wherever that is asked."""
        return crc32(repr(key).encode()) % self.of == self.number - 1

    def name(self, what: str) -> str:
        """Name a lock or a job that is this share's own: watch-2-of-3, or plainly watch where it is all."""
        return what if self.of == 1 else f"{what}-{self.number}-of-{self.of}"


ALL = Share()


def find_last_sync() -> str | None:
    """When everything was last compared with the ledger; None when never.

    In parts, that is when the part was whose turn is longest ago. Watchers may have been more or fewer
    before, or one of them alone: what counts is who came round last.
    """
    finished = {row["name"]: row["finished_at"] for row in queries.list_jobs(read())}
    numbers = {1} | {int(name.rpartition("-")[2]) for name in finished if "-of-" in name}
    rounds = [
        min(finished.get(Share(number, of).name("sync"), "") for number in range(1, of + 1))
        for of in numbers
    ]
    return max(rounds) or None
