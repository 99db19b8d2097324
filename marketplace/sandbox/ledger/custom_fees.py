"""The custom fees that a transfer owes, as the network charges them: HIP-18.

A fixed fee is an amount that an NFT's sender pays for each NFT. A royalty is a fraction of the HBAR that the
sender gets in the same transaction, and pays out of it. If the sender gets none, the receiver pays the
fallback fee. Royalties are due once per account and token, however many NFTs. The treasury owes nothing. A
collector owes nothing to itself, and nothing at all where a fee exempts all collectors of the token.
Source: CustomFeeAssessor and CustomFeeExemptions of https://github.com/hiero-ledger/hiero-consensus-node.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from marketplace.sandbox import catalogue
from marketplace.sandbox.catalogue import Royalty
from marketplace.sandbox.ledger import accounts, queries
from marketplace.sandbox.ledger.accounts import Refused
from marketplace.sandbox.ledger.execution import AssessedFee, NftTransfer
from marketplace.store.rows import Connection

MAX_FEES = 10


class FixedFee(NamedTuple):
    """A fee of the sender of an NFT, in tinybars or units of a token."""

    collector: str
    amount: int
    token: str | None = None
    spares_collectors: bool = False


class Schedule(NamedTuple):
    """A token's custom fees, and when they were last changed, in nanoseconds."""

    royalties: tuple[Royalty, ...] = ()
    fixed: tuple[FixedFee, ...] = ()
    since: int = catalogue.GENESIS

    def owes(self, payer: str, fee: Royalty | FixedFee) -> bool:
        if fee.spares_collectors:
            collectors = {royalty.collector for royalty in self.royalties}
            spared = collectors | {fixed.collector for fixed in self.fixed}
        else:
            spared = {fee.collector}
        return payer not in spared | {queries.TREASURY}


def schedule_of(db: Connection, token: str) -> Schedule:
    row = queries.get_fee_schedule(db, token)
    if row is None:
        return Schedule(catalogue.collection_of(token).royalties)
    document = json.loads(row["document"])
    royalties = tuple(Royalty(*each) for each in document["royalties"])
    return Schedule(royalties, tuple(FixedFee(*each) for each in document["fixed"]), row["since"])


def change(db: Connection, token: str, schedule: Schedule) -> None:
    """Give a token other custom fees. Refuses those that the network refuses."""
    if len(schedule.royalties) + len(schedule.fixed) > MAX_FEES:
        raise Refused("CUSTOM_FEES_LIST_TOO_LONG")
    for royalty in schedule.royalties:
        if royalty.denominator == 0:
            raise Refused("FRACTION_DIVIDES_BY_ZERO")
        if royalty.numerator > royalty.denominator:
            raise Refused("ROYALTY_FRACTION_CANNOT_EXCEED_ONE")
    if any(fee.amount <= 0 for fee in schedule.fixed):
        raise Refused("CUSTOM_FEE_MUST_BE_POSITIVE")
    document = json.dumps({"royalties": schedule.royalties, "fixed": schedule.fixed})
    queries.put(db, "fee_schedule", token=token, document=document, since=schedule.since)


def assess(
    db: Connection, moved: Iterable[NftTransfer], paid: Mapping[str, int]
) -> list[AssessedFee]:
    """The fees of a transfer: ``paid`` is the tinybars that it gives to each account."""
    assessed: list[AssessedFee] = []
    settled: set[tuple[str, str]] = set()
    for nft in moved:
        if nft.sender == queries.TREASURY:
            continue
        schedule = schedule_of(db, nft.token)
        assessed += [
            AssessedFee(nft.sender, fee.collector, fee.amount, fee.token)
            for fee in schedule.fixed
            if schedule.owes(nft.sender, fee)
        ]
        got = max(0, paid.get(nft.sender, 0))
        payer = nft.sender if got else nft.receiver
        if not {(nft.sender, nft.token), (payer, nft.token)} & settled:
            settled.add((payer, nft.token))
            assessed += _assess_royalties(schedule, payer, got)
    for assessed_fee in assessed:
        accounts.require_usable(db, assessed_fee.collector)
    return [assessed_fee for assessed_fee in assessed if assessed_fee.amount]


def _assess_royalties(schedule: Schedule, payer: str, got: int) -> Iterator[AssessedFee]:
    for royalty in schedule.royalties:
        amount = got * royalty.numerator // royalty.denominator if got else royalty.fallback
        if amount is not None and schedule.owes(payer, royalty):
            yield AssessedFee(payer, royalty.collector, amount, is_taken_of_credit=got > 0)


def may_owe_fallback(db: Connection, nft: NftTransfer, paid: Mapping[str, int]) -> bool:
    """Whether the receiver may have to pay a fallback fee, and so must sign."""
    return (
        any(royalty.fallback for royalty in schedule_of(db, nft.token).royalties)
        and paid.get(nft.sender, 0) <= 0
        and queries.TREASURY not in (nft.sender, nft.receiver)
    )
