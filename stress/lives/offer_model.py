"""The model of an offer: what happened to its schedule on the ledger, and what the service must say of it."""

from typing import Any

from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS
from stress.lives.model import Done, Mismatch, Nft

EXECUTION = 50_000_000  # tinybars that a bidder needs beside the price: docs/offers.md
UNNAMED = (None, None)  # an event without a transaction and a date
ENDED = ("executed", "failed", "withdrawn", "expired")


class Offer:
    """One schedule of its bidder's account."""

    def __init__(
        self,
        schedule_id: str,
        nft: Nft,
        sides: tuple[str, str],
        price: int,
        expires_at: int,
        made: Done,
        *,
        is_rotated: bool,
    ) -> None:
        """``is_rotated``: whether the bidder's account has its second key now, with which it signed."""
        self.schedule_id, self.nft, self.price = schedule_id, nft, price
        self.seller, self.bidder = sides
        self.expires_at, self.made, self.is_rotated = expires_at, made, is_rotated
        self.rotations: list[Done] = []  # of the bidder's key, since it was made
        self.acceptances: list[Done] = []  # the owner's signatures that did not execute it
        self.end: tuple[str, Done] | None = None  # executed, failed or withdrawn
        self.is_reported_open = False

    def __repr__(self) -> str:
        return f"{vars(self)}"

    def find_state(self, *, is_rotated: bool, now: int) -> str:
        if self.end:
            return self.end[0]
        if self.expires_at <= now:
            return "expired"
        return "open" if self.is_rotated == is_rotated else "closed"

    def find_need(self) -> int:
        """The tinybars of which an account that is associated with the token can pay for it."""
        return self.price * TINYBARS + EXECUTION

    def apply(self, event: Any, ledger_now: int) -> None:
        """Compare the offer's next event with what happened. Raises Mismatch."""
        facts = event["from_account"], event["to_account"], event["price"], event["previous_price"]
        if facts != (self.seller, self.bidder, self.price, None):
            raise Mismatch(f"{dict(event)}: the offer is {self}")
        kind, by = event["kind"], (event["transaction_id"], event["consensus_at"])
        if by not in self._find_causes(kind, ledger_now):
            raise Mismatch(f"{dict(event)}: the offer is {self}")
        if kind in ("OFFER_FAILED", "OFFER_NOT_EXECUTED"):
            self.is_reported_open &= kind != "OFFER_FAILED"
            return
        if self.is_reported_open == (kind == "OFFERED"):
            raise Mismatch(f"{dict(event)}: the offer is {self}")
        self.is_reported_open = kind == "OFFERED"

    def _find_causes(self, kind: str, ledger_now: int) -> list[tuple[str | None, str | None]]:
        """The transaction and the date that an event of this kind may have."""
        end, done = self.end or (None, None)
        ended_by = [_name(done)] if done else []
        rotated_by = [*map(_name, self.rotations), UNNAMED] if self.rotations else []
        if kind == "OFFERED":
            return [_name(self.made), *rotated_by]
        if kind == "OFFER_NOT_EXECUTED":
            return [*map(_name, self.acceptances)]
        if kind == "OFFER_FAILED":
            return ended_by if end == "failed" else []
        if kind == "OFFER_EXPIRED":
            is_over = end is None and self.expires_at <= ledger_now
            return [(None, times.to_iso(self.expires_at))] if is_over else []
        return [*(ended_by if end == "withdrawn" else []), UNNAMED, *rotated_by]

    def require_stored(self, row: Any) -> None:
        """What is stored of it is what its events reported."""
        state = row["state"] if row else None
        is_open = self.is_reported_open
        # A sale is reported as an event of its NFT.
        if (state == "open") != is_open and not (state == "executed" and is_open):
            raise Mismatch(f"{self} is stored as {state}, by its events it is open: {is_open}")

    def require_one_sale(self, row: Any, nft: Any, *, is_reported: bool) -> None:
        """Offer and NFT are stored as sold in one write."""
        is_executed = row["state"] == "executed"
        is_early = is_executed and nft is not None and nft["ledger_at"] < row["state_at"]
        if is_early or (is_reported and not is_executed):
            raise Mismatch(f"{self} is stored as {dict(row)}, and its NFT as {nft and dict(nft)}")


def _name(done: Done) -> tuple[str | None, str | None]:
    return done.transaction_id, times.to_iso(done.moment)
