"""The custom fees that a transfer owes, as the network charges them: HIP-18.

A fixed fee is an amount that an NFT's sender pays for each NFT; and once, who sends units of a token. A
royalty is a fraction of what the sender of NFTs gets in the same transaction, and pays out of it. If the
sender gets nothing, the receiver pays the fallback fee. Royalties are due once per account and token,
however many NFTs. The treasury owes nothing. A collector owes nothing to itself, and nothing at all where a
fee exempts all collectors of the token.
Source: CustomFeeAssessor and CustomFeeExemptions of https://github.com/hiero-ledger/hiero-consensus-node.
"""

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hiero_sdk_python.hapi.services.custom_fees_pb2 import CustomFee

from marketplace.sandbox import catalogue
from marketplace.sandbox.catalogue import Royalty
from marketplace.sandbox.ledger import queries, tokens
from marketplace.sandbox.ledger.envelopes import Refused, refuse_if
from marketplace.sandbox.ledger.execution import AssessedFee, Changes, NftTransfer, entity
from marketplace.sandbox.ledger.tokens import Token
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

    def owes(self, payer: str, fee: Royalty | FixedFee, treasury: str) -> bool:
        if fee.spares_collectors:
            collectors = {royalty.collector for royalty in self.royalties}
            spared = collectors | {fixed.collector for fixed in self.fixed}
        else:
            spared = {fee.collector}
        return payer not in spared | {treasury}


def schedule_of(db: Connection, token: str) -> Schedule:
    row = queries.get(db, "fee_schedule", token=token)
    if row is None:
        return Schedule(catalogue.collection_of(token).royalties)
    document = json.loads(row["document"])
    royalties = tuple(Royalty(*each) for each in document["royalties"])
    return Schedule(royalties, tuple(FixedFee(*each) for each in document["fixed"]), row["since"])


def read(fees: Iterable[CustomFee], now: int) -> Schedule:
    """Read the custom fees of a transaction."""
    royalties, fixed = [], []
    for fee in fees:
        collector = entity(fee.fee_collector_account_id, "INVALID_CUSTOM_FEE_COLLECTOR")
        exempt = fee.all_collectors_are_exempt
        if fee.HasField("royalty_fee"):
            royalty = fee.royalty_fee
            part, fallback = royalty.exchange_value_fraction, None
            if royalty.HasField("fallback_fee"):
                fallback = royalty.fallback_fee.amount
                refuse_if(fallback <= 0, "CUSTOM_FEE_MUST_BE_POSITIVE")
                refuse_if(royalty.fallback_fee.HasField("denominating_token_id"), "NOT_SUPPORTED")
            numbers = part.numerator, part.denominator
            royalties.append(Royalty(collector, *numbers, fallback, exempt))
        elif fee.HasField("fixed_fee"):
            token = None
            if fee.fixed_fee.HasField("denominating_token_id"):
                # A token's fees in units of itself have the id 0.0.0, which is not there.
                token = entity(fee.fixed_fee.denominating_token_id, "NOT_SUPPORTED")
            fixed.append(FixedFee(collector, fee.fixed_fee.amount, token, exempt))
        else:
            is_fractional = fee.HasField("fractional_fee")
            raise Refused("NOT_SUPPORTED" if is_fractional else "CUSTOM_FEE_NOT_FULLY_SPECIFIED")
    return Schedule(tuple(royalties), tuple(fixed), now)


def change(db: Connection, token: Token, schedule: Schedule) -> None:
    """Give a token other custom fees. Refuses those that the network refuses."""
    refuse_if(len(schedule.royalties) + len(schedule.fixed) > MAX_FEES, "CUSTOM_FEES_LIST_TOO_LONG")
    for royalty in schedule.royalties:
        refuse_if(token.is_fungible, "CUSTOM_ROYALTY_FEE_ONLY_ALLOWED_FOR_NON_FUNGIBLE_UNIQUE")
        refuse_if(min(royalty.numerator, royalty.denominator) < 0, "CUSTOM_FEE_MUST_BE_POSITIVE")
        refuse_if(royalty.denominator == 0, "FRACTION_DIVIDES_BY_ZERO")
        refuse_if(royalty.numerator > royalty.denominator, "ROYALTY_FRACTION_CANNOT_EXCEED_ONE")
    refuse_if(any(fee.amount <= 0 for fee in schedule.fixed), "CUSTOM_FEE_MUST_BE_POSITIVE")
    document = json.dumps({"royalties": schedule.royalties, "fixed": schedule.fixed})
    queries.put(db, "fee_schedule", token=token.token, document=document, since=schedule.since)


def assess(db: Connection, moved: Iterable[NftTransfer], given: Changes) -> list[AssessedFee]:
    """The fees of a transfer: of the NFTs that it moves, and of the units that it takes."""
    assessed: list[AssessedFee] = []
    settled: set[tuple[str, str]] = set()
    for (payer, unit), amount in given.items():
        if unit and amount < 0:
            assessed += _assess_fixed(db, payer, unit)
    for nft in moved:
        treasury = tokens.find(db, nft.token).treasury
        if nft.sender == treasury:
            continue
        assessed += _assess_fixed(db, nft.sender, nft.token)
        credits = _credits(given, nft.sender)
        payer = nft.sender if credits else nft.receiver
        if not {(nft.sender, nft.token), (payer, nft.token)} & settled:
            settled.add((payer, nft.token))
            assessed += _assess_royalties(schedule_of(db, nft.token), payer, credits, treasury)
    return [assessed_fee for assessed_fee in assessed if assessed_fee.amount]


def _assess_fixed(db: Connection, payer: str, token: str) -> Iterator[AssessedFee]:
    schedule, treasury = schedule_of(db, token), tokens.find(db, token).treasury
    for fee in schedule.fixed:
        if schedule.owes(payer, fee, treasury):
            yield AssessedFee(payer, fee.collector, fee.amount, fee.token)


def _credits(given: Changes, account_id: str) -> dict[str | None, int]:
    """What an account gets in a transfer, by token."""
    return {unit: amount for (to, unit), amount in given.items() if to == account_id and amount > 0}


def _assess_royalties(
    schedule: Schedule, payer: str, credits: dict[str | None, int], treasury: str
) -> Iterator[AssessedFee]:
    for royalty in schedule.royalties:
        if not schedule.owes(payer, royalty, treasury):
            continue
        for unit, got in credits.items():
            amount = got * royalty.numerator // royalty.denominator
            yield AssessedFee(payer, royalty.collector, amount, unit, is_taken_of_credit=True)
        if not credits and royalty.fallback is not None:
            yield AssessedFee(payer, royalty.collector, royalty.fallback)


def may_owe_fallback(db: Connection, nft: NftTransfer, given: Changes) -> bool:
    """Whether the receiver may have to pay a fallback fee, and so must sign."""
    return (
        any(royalty.fallback for royalty in schedule_of(db, nft.token).royalties)
        and not _credits(given, nft.sender)
        and tokens.find(db, nft.token).treasury not in (nft.sender, nft.receiver)
    )
