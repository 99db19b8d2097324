"""The model of an offer: what happened to its schedule on the ledger, and what the service must say of it."""

from typing import Any, NamedTuple

from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS
from stress.lives.model import Done, Mismatch, Nft

EXECUTION = 50_000_000  # tinybars that a bidder needs beside the price: docs/offers.md
UNNAMED = (None, None)  # an event without a transaction and a date


class Signature(NamedTuple):
    """A ScheduleSign that the bidder's account paid for, with the key that the account had then."""

    done: Done
    is_rotated: bool


class Offer:
    """One schedule of the marketplace's account."""

    def __init__(
        self, schedule_id: str, nft: Nft, seller: str, bidder: str, price: int, expires_at: int
    ) -> None:
        self.schedule_id, self.nft, self.price = schedule_id, nft, price
        self.seller, self.bidder, self.expires_at = seller, bidder, expires_at
        self.signatures: list[Signature] = []
        self.end: tuple[str, Done] | None = None  # executed, failed or withdrawn
        self.is_stranded = False  # whether the bidder's key was changed after a signature
        self.is_reported_open = False

    def __repr__(self) -> str:
        return f"{vars(self)}"

    def find_state(self, *, is_rotated: bool, now: int) -> str:
        if self.end:
            return self.end[0]
        if self.expires_at <= now:
            return "expired"
        is_signed = any(signature.is_rotated == is_rotated for signature in self.signatures)
        return "signed" if is_signed else "unsigned"

    def find_need(self) -> int:
        """The tinybars of which an account that is associated with the token can pay for it."""
        return self.price * TINYBARS + EXECUTION

    def apply(self, event: Any, ledger_now: int) -> None:
        """Compare the offer's next event with what happened. Raises Mismatch."""
        facts = event["from_account"], event["to_account"], event["price"], event["previous_price"]
        if facts != (self.seller, self.bidder, self.price, None):
            raise Mismatch(f"{dict(event)}: the offer is {self}")
        kind, by = event["kind"], (event["transaction_id"], event["consensus_at"])
        if by not in self._find_causes(kind, ledger_now) or (
            self.is_reported_open == (kind == "OFFERED") and kind != "OFFER_FAILED"
        ):
            raise Mismatch(f"{dict(event)}: the offer is {self}")
        self.is_reported_open = kind == "OFFERED"

    def _find_causes(self, kind: str, ledger_now: int) -> list[tuple[str | None, str | None]]:
        """The transaction and the date that an event of this kind may have."""
        end, done = self.end or (None, None)
        ended_by = [(done.transaction_id, times.to_iso(done.moment))] if done else []
        if kind == "OFFERED":
            signed = [signature.done for signature in self.signatures]
            return [(each.transaction_id, times.to_iso(each.moment)) for each in signed]
        if kind == "OFFER_FAILED":
            return ended_by if end == "failed" else []
        if kind == "OFFER_EXPIRED":
            is_over = end is None and self.expires_at <= ledger_now
            return [(None, times.to_iso(self.expires_at))] if is_over else []
        of_withdrawal = [*ended_by, UNNAMED] if end == "withdrawn" else []
        return [*of_withdrawal, UNNAMED] if self.is_stranded else of_withdrawal

    def require_stored(self, row: Any) -> None:
        """What is stored of it is what its events reported."""
        state = row["state"] if row else "unsigned"
        is_open = self.is_reported_open
        # A sale is reported as an event of its NFT.
        if (state == "signed") != is_open and not (state == "executed" and is_open):
            raise Mismatch(f"{self} is stored as {state}, by its events it is open: {is_open}")

    def require_one_sale(self, row: Any, nft: Any, *, is_reported: bool) -> None:
        """Offer and NFT are stored as sold in one write."""
        is_executed = row["state"] == "executed"
        is_early = is_executed and nft is not None and nft["ledger_at"] < row["state_at"]
        if is_early or (is_reported and not is_executed):
            raise Mismatch(f"{self} is stored as {dict(row)}, and its NFT as {nft and dict(nft)}")
