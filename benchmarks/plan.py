"""How much is measured: the sizes, rounds and seconds of a usual, a quick and a full run."""

from typing import NamedTuple

from benchmarks.records import listed_of


class Plan(NamedTuple):
    """One kind of run. ``sizes`` are the rows of each table; the load is put on the one of ``nfts`` rows."""

    name: str
    nfts: int
    sizes: tuple[int, ...]
    rounds: int
    seconds: int  # of each run of wrk
    samples: int  # single requests for each point of a curve, at most
    patience: float  # seconds for each point of a curve, at most
    everyone: bool  # every comparison is made, or only those with a target

    @property
    def listed(self) -> int:
        return listed_of(self.nfts)

    @property
    def deep(self) -> int:
        """The offset that stands for deep in the order book: 250,000 of 300,000 listed."""
        return self.listed // 6 * 5

    @property
    def offsets(self) -> tuple[int, ...]:
        powers = (10**exponent for exponent in range(2, 9))
        return (0, *(offset for offset in powers if offset < self.deep), self.deep)


USUAL = Plan("usual", 1_000_000, (10_000, 100_000, 1_000_000), 12, 1, 200, 8.0, True)
QUICK = Plan("quick", 100_000, (10_000, 100_000), 2, 1, 40, 0.5, False)
FULL = USUAL._replace(name="full", sizes=(*USUAL.sizes, 10_000_000))
