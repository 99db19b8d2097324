"""Ranks collections whose traits or listings have changed, the slow ones less often."""

import time

from marketplace.market import rarity
from marketplace.store import traits
from marketplace.store.database import read

PAUSE_SECONDS = 1  # between two looks at what has changed
SHARE = 30  # a collection that takes a second is ranked at most every 30 seconds


class Ranker:
    """Remembers when each collection may be ranked again. Use one per process."""

    def __init__(self) -> None:
        self._free_at: dict[str, float] = {}

    def step(self) -> float:
        """Rank what has changed. Returns how many seconds to pause."""
        now = time.monotonic()
        self._free_at = {token: at for token, at in self._free_at.items() if at > now}
        for row in traits.list_to_rank(read()):
            token, began = row["token"], time.monotonic()
            if token not in self._free_at:
                rarity.store_ranking(token, row["traits_version"])
                self.delay(token, SHARE * (time.monotonic() - began))
        return PAUSE_SECONDS

    def delay(self, token: str, seconds: float) -> None:
        self._free_at[token] = time.monotonic() + seconds
