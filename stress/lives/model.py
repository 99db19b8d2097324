"""The model: what happened to an NFT on the ledger, and what the service must tell of it.

It knows the rule of a listing and docs/api.md, and nothing of the service.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from marketplace.hedera import times

MOST_LAG = 60 * times.SECOND  # of a replica of the mirror node
ALLOWED_LAG = 90 * times.SECOND  # docs/watcher.md
MARGIN = 5 * times.SECOND  # for what a story takes by itself
ROW_KEPT = 3 * times.HOUR  # how long the service keeps the row of a purchase


Nft = tuple[str, int]


class Done(NamedTuple):
    """A transaction that succeeded."""

    moment: int
    transaction_id: str


class Mismatch(AssertionError):
    """The service and the model disagree."""


class State(NamedTuple):
    """An NFT at one time. A listing is its price and its date."""

    owner: str
    listing: tuple[int, str] | None = None
    is_gone: bool = False


class Entry(NamedTuple):
    """A transaction that changed an NFT, and its state from then on."""

    moment: int
    kind: str  # approval, withdrawal, update, move, burn, deletion
    state: State
    transaction_id: str | None = None  # None for the mint
    price: int | None = None  # what the buyer of a sale through the marketplace paid
    price_without_row: int | None = None  # the same, if the service does not have its row any more
    sender: str | None = None
    is_of_token: bool = False
    offer_id: str | None = None  # of the offer that was accepted

    @property
    def date(self) -> str:
        return times.to_iso(self.moment)

    @property
    def is_decisive(self) -> bool:
        return self.kind != "update"


def find_ended_prices(ended: Mapping[Nft, State], paid: Mapping[Nft, int]) -> dict[Nft, int | None]:
    """The prices of NFTs by the listings that their purchase ended, if each seller was paid its sum."""
    prices = {nft: state.listing and state.listing[0] for nft, state in ended.items()}
    if None in prices.values():
        return dict.fromkeys(prices)
    owed = Counter[str]()
    for nft, state in ended.items():
        owed[state.owner] += prices[nft] - paid[nft]
    return dict.fromkeys(prices) if any(owed.values()) else prices


class Life:
    """The past of one NFT on the ledger."""

    def __init__(self, owner: str, moment: int) -> None:
        self.past = [Entry(moment, "mint", State(owner))]

    @property
    def state(self) -> State:
        return self.past[-1].state

    @property
    def owner(self) -> str:
        return self.state.owner

    @property
    def listing(self) -> tuple[int, str] | None:
        return self.state.listing

    @property
    def is_deleted(self) -> bool:
        return self.state.is_gone

    def approve(self, moment: int, transaction_id: str, price: int | None) -> None:
        """An approval, or without a price also the deletion of one."""
        listing = (price, times.to_iso(moment)) if price else None
        state = self.state._replace(listing=listing)
        self.past.append(Entry(moment, "approval", state, transaction_id))

    def update(self, moment: int, transaction_id: str) -> None:
        self.past.append(Entry(moment, "update", self.state, transaction_id))

    def move(self, moment: int, transaction_id: str, receiver: str, price=None, **more) -> None:
        sender = self.owner
        entry = Entry(moment, "move", State(receiver), transaction_id, price, sender=sender, **more)
        self.past.append(entry)

    def burn(self, moment: int, transaction_id: str) -> None:
        self.past.append(Entry(moment, "burn", State(self.owner, None, True), transaction_id))

    def delete(self, moment: int, transaction_id: str) -> None:
        state = State(self.owner, None, True)
        self.past.append(Entry(moment, "deletion", state, transaction_id, is_of_token=True))

    def since(self, moment: int) -> list[Entry]:
        """The entries whose states were in force at a moment, or later."""
        begun = [position for position, entry in enumerate(self.past) if entry.moment <= moment]
        return self.past[max(begun, default=0) :]

    def moves(self) -> Iterator[tuple[int, Entry]]:
        return ((at, entry) for at, entry in enumerate(self.past) if entry.kind == "move")

    def at(self, date: str | None, *kinds: str) -> int | None:
        """The position of the entry with a date, if it is of one of these kinds."""
        found = [at for at, entry in enumerate(self.past) if entry.date == date]
        return found[0] if found and self.past[found[0]].kind in kinds else None


class Reported:
    """What the events of one NFT have said, each compared with the NFT's past."""

    def __init__(self, life: Life, added: Any, skew: int) -> None:
        """``skew``: how far the service's clock is ahead of the ledger's."""
        self.life, self.skew = life, skew
        self.added_at = times.to_nanoseconds(added["seen_at"]) - skew
        # The facts that it was added by were those of a replica.
        self.seen_from = self.added_at - MOST_LAG - MARGIN
        self.moved: set[int] = set()  # positions of the moves that events have reported
        self.state = State(added["to_account"])
        self.reported_to = 0  # the position in the past of the last entry that was reported
        self.is_strict = True  # False after a wrong answer of the mirror node
        self.is_fair = False  # whether no request fails, and no replica lags
        self.sales: list[tuple[int, str]] = []
        owners = {entry.state.owner for entry in life.since(self.seen_from)}
        if self.state.owner not in owners:
            raise Mismatch(f"{dict(added)}: its owners were {owners}")

    def apply(self, event: Any) -> None:
        """Compare the next event with the past. Raises Mismatch."""
        kind = event["kind"]
        if kind == "METADATA_CHANGED":
            return
        price = self.state.listing and self.state.listing[0]
        if event["previous_price"] != price and kind != "ADDED":
            raise Mismatch(f"{dict(event)}: it was listed for {price}")
        {
            "LISTED": self._list,
            "PRICE_CHANGED": self._list,
            "WITHDRAWN": self._withdraw,
            "SOLD": self._move,
            "TRANSFERRED": self._move,
            "BURNED": self._burn,
        }[kind](event)

    def _list(self, event: Any) -> None:
        at = self.life.at(event["consensus_at"], "approval")
        listing = event["price"], event["consensus_at"]
        entry = self._named(event, at)
        if entry.state.listing != listing or entry.state.owner != event["from_account"]:
            raise Mismatch(f"{dict(event)}: the ledger has {entry}")
        is_changed = self.state.listing and self.state.listing[0] != event["price"]
        if is_changed != (event["kind"] == "PRICE_CHANGED") and self.state.listing:
            raise Mismatch(f"{dict(event)} of {self.state}")
        self.state = State(event["from_account"], listing)

    def _withdraw(self, event: Any) -> None:
        listed_at = self.life.at(self.state.listing[1], "approval")
        later = [entry for entry in self.life.past[listed_at + 1 :] if entry.is_decisive]
        # A listing may have replaced it, of which nothing was reported, and that one has ended, too.
        ends = later[:1] + [entry for entry in later if entry.state.listing is None]
        at = self.life.at(event["consensus_at"], "approval", "update", "move")
        if event["transaction_id"] is None and at and not self.is_fair:
            self._end_without_history(event, at)
            return
        if event["consensus_at"] is None and not self.is_strict:
            # A wrong row of the same date as the listing has ended it, until the NFT is looked at again.
            self.reported_to = min(self.reported_to, listed_at - 1)
            self.state = self.state._replace(listing=None)
            return
        entry = self._named(event, at)
        if self.is_strict and entry not in ends:
            raise Mismatch(f"{dict(event)}: it was ended by {ends}")
        if event["from_account"] != self.state.owner:
            raise Mismatch(f"{dict(event)} of {self.state}")
        if entry.state.listing and not self.is_strict:
            self.reported_to = at - 1  # a wrong answer hid that it is a listing: reported later
        self.state = self.state._replace(listing=None)

    def _end_without_history(self, event: Any, at: int) -> None:
        """A listing has ended by the NFT's row alone: its history was not there in time.

        What the history would have added is never reported, unless a wrong answer has hidden a listing.
        """
        entry = self.life.past[at]
        seen_at = times.to_nanoseconds(event["seen_at"]) - self.skew
        is_early = seen_at < entry.moment + ALLOWED_LAG
        if self.is_strict and (is_early or entry.state.owner != self.state.owner):
            raise Mismatch(f"{dict(event)}: the ledger has {self.life.past}")
        self.reported_to = at - 1 if entry.state.listing else at
        self.moved |= {place for place, _ in self.life.moves() if place <= at}
        self.state = self.state._replace(listing=None)

    def _move(self, event: Any) -> None:
        at = self.life.at(event["consensus_at"], "move")
        entry = self._named(event, at)
        parties = event["from_account"], event["to_account"]
        is_sale = event["kind"] == "SOLD"
        if parties != (entry.sender, entry.state.owner):
            raise Mismatch(f"{dict(event)}: it went from {entry.sender} to {entry.state.owner}")
        seen_at = times.to_nanoseconds(event["seen_at"]) - self.skew
        prices = {entry.price}
        if seen_at > entry.moment + ROW_KEPT:
            prices.add(entry.price_without_row)
        if event["price"] not in prices or is_sale != (event["price"] is not None):
            raise Mismatch(f"{dict(event)}: {prices} HBAR were paid")
        if event["offer_id"] != (entry.offer_id if is_sale else None):
            raise Mismatch(f"{dict(event)}: the offer was {entry.offer_id}")
        missing = [one for place, one in self.unreported() if place < at]
        if missing and self.is_strict:
            raise Mismatch(f"{dict(event)}: before it, {missing} were not reported")
        if is_sale:
            self.sales.append((event["price"], entry.date))
        self.state = State(entry.state.owner)
        self.moved.add(at)

    def _burn(self, event: Any) -> None:
        if not self.life.is_deleted:
            raise Mismatch(f"{dict(event)}: it was not burned")
        ends = [entry for entry in self.life.past if entry.kind in ("burn", "deletion")]
        reported = (event["from_account"], event["transaction_id"], event["consensus_at"])
        expected = [(end.state.owner, end.transaction_id, end.date) for end in ends]
        if self.is_strict and reported not in expected:
            raise Mismatch(f"{dict(event)}: it was ended by {ends}")
        self.require_all_reported()
        self.state = self.state._replace(listing=None, is_gone=True)

    def _named(self, event: Any, at: int | None) -> Entry:
        """The entry that an event names. Raises Mismatch if it never was, or was reported already."""
        if at is None or at <= self.reported_to:
            raise Mismatch(f"{dict(event)}: the ledger has {self.life.past}")
        entry = self.life.past[at]
        if event["transaction_id"] != entry.transaction_id:
            raise Mismatch(f"{dict(event)}: it was {entry.transaction_id}")
        if entry.moment < self.seen_from and not entry.state.listing:
            raise Mismatch(f"{dict(event)}: that was before it was added")
        self.reported_to = at
        return entry

    def unreported(self) -> list[tuple[int, Entry]]:
        """The moves that were not reported, though they came after the NFT was surely stored."""
        first = min(self.moved, default=len(self.life.past))
        return [
            (at, move)
            for at, move in self.life.moves()
            if at not in self.moved and (at > first or move.moment > self.added_at)
        ]

    def require_all_reported(self) -> None:
        if self.is_strict and (unreported := self.unreported()):
            raise Mismatch(f"these moves were not reported: {unreported}")
