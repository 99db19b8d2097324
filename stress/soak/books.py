"""The books of a run: requests, answers, what was acknowledged, faults, and findings."""

import itertools
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

# The first one has royalties.
TOKENS = ["0.0.5002", *(f"0.0.{number}" for number in range(7001, 7012))]
ACCOUNTS = [f"0.0.{number}" for number in range(1001, 1031)]
# The access tokens of buyers. One is not enough: at most ten purchases of a token may be open.
BUYERS = [f"buyer {number}" for number in range(1, 4)]
BIDDERS = [f"bidder {number}" for number in range(1, 4)]
MOST_BIDS = 4  # open ones for an NFT
LAGGING = {"mirror: lags", "mirror: mixed"}  # faults in which replicas are behind
AFTERWARDS_SECONDS = 5  # so long after its end, a fault still excuses what clients see


class Asked(NamedTuple):
    kind: str
    status: int  # 0 if there was no answer
    began: float
    seconds: float


@dataclass
class Bid:
    """What the clients know of an offer."""

    offer_id: str
    seller: str
    bidder: str
    price: int  # HBAR
    began: float
    end: str = ""  # as the ledger says


@dataclass
class Nft:
    """What the clients know of one NFT. Only one of them uses it at a time."""

    token: str
    serial_no: int
    owner: str
    offer: tuple[str, int] | None = None  # owner and price, as the ledger has it
    signed: set[tuple[str, int]] = field(default_factory=set)  # all offers that it ever had
    # Purchases that were prepared, and may be handed in later: the buyer of each, and its bytes.
    kept: list[tuple[str, bytes]] = field(default_factory=list)
    bids: dict[str, Bid] = field(default_factory=dict)  # by the offer's id

    @property
    def key(self) -> tuple[str, int]:
        return self.token, self.serial_no

    @property
    def open_bids(self) -> list[Bid]:
        return [bid for bid in self.bids.values() if not bid.end]

    @property
    def wire(self) -> dict:
        return {"tokenId": self.token, "serialNo": self.serial_no}


class Fault(NamedTuple):
    name: str
    began: float
    ended: float
    cuts: bool  # whether connections break


class Books:
    def __init__(self, seed: int) -> None:
        self.began = time.monotonic()
        self.asked: list[Asked] = []
        self.faults: list[Fault] = []
        self.current: Fault | None = None
        self.findings: list[str] = []
        self.counts = Counter()
        self.added: dict[tuple[str, int], Nft] = {}
        # The purchases that the service took: NFT and buyer of each transaction id.
        self.purchases: dict[str, tuple[tuple[str, int], str]] = {}
        # How often an offer was asked for: by NFT, bidder and price.
        self.bids_asked = Counter()
        self._dice = random.Random(f"nfts {seed}")
        self._free: list[Nft] = []
        self._serial_numbers = itertools.count(1)
        self._lock = threading.Lock()

    # NFTs

    def new_nft(self) -> Nft:
        with self._lock:
            serial_no = next(self._serial_numbers)
            return Nft(self._dice.choice(TOKENS), serial_no, self._dice.choice(ACCOUNTS))

    def acknowledge(self, nft: Nft) -> None:
        self.added[nft.key] = nft
        self.put_back(nft)

    def take(self, is_offered: bool | None = None, *, has_bids: bool = False) -> Nft | None:
        """Take an NFT that no client is using."""
        with self._lock:
            for _ in range(20):
                if not self._free:
                    return None
                number = self._dice.randrange(len(self._free))
                nft = self._free[number]
                is_chosen = is_offered is None or is_offered == bool(nft.offer)
                if is_chosen and (nft.open_bids or not has_bids):
                    self._free[number] = self._free[-1]
                    self._free.pop()
                    return nft
        return None

    def put_back(self, nft: Nft) -> None:
        with self._lock:
            self._free.append(nft)

    # Faults

    def begin(self, name: str, cuts: bool) -> None:
        self.current = Fault(name, time.monotonic(), float("inf"), cuts)

    def end(self) -> None:
        self.faults.append(self.current._replace(ended=time.monotonic()))
        self.current = None

    def during(self, began: float, ended: float, *, cuts: bool = False) -> list[str]:
        """The names of the faults during a time, or shortly before it."""
        faults = [*self.faults[-5:], *filter(None, [self.current])]
        return [
            fault.name
            for fault in faults
            if fault.began <= ended
            and began <= fault.ended + AFTERWARDS_SECONDS
            and (fault.cuts or not cuts)
        ]

    def is_behind(self, began: float) -> bool:
        """Whether the mirror node may have lagged since then."""
        names = self.during(began, time.monotonic())
        return any(name in LAGGING for name in names)

    # Findings

    @property
    def clock(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        return f"{minutes:3}:{seconds:02}"

    def say(self, sentence: str) -> None:
        print(f"{self.clock}  {sentence}", flush=True)

    def find(self, sentence: str) -> None:
        self.findings.append(f"{self.clock} {sentence}")
        if len(self.findings) <= 100:
            self.say(f"FINDING: {sentence}")
