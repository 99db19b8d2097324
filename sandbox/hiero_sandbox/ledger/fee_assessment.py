"""The custom fees that a transfer owes, as the network charges them: HIP-18.

A fixed fee is an amount. The sender of NFTs pays it for each NFT, the sender of units once. A royalty is a
fraction of what the sender of NFTs gets in the same transaction, and is taken from that. If the sender gets
nothing, the receiver pays the fallback fee. Royalties are due once per account and token, however many NFTs
are moved. The treasury owes nothing. A collector does not owe its own fee. If a fee exempts all collectors of
the token, none of them owes it.

A fractional fee is a part of the units that are sent, with a least and a most amount. Those who get the units
pay it of what they get, each in proportion; net of transfers, the sender pays it besides.

Fees that are paid in another token owe the fees of that one, and so may these. Further levels are refused.
Source: CustomFeeAssessmentStep, CustomFeeAssessor and CustomFractionalFeeAssessor of
https://github.com/hiero-ledger/hiero-consensus-node.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hiero_sdk_python.hapi.services.custom_fees_pb2 import CustomFee, FixedFee, FractionalFee

from hiero_sandbox.ids import MAX_INT64
from hiero_sandbox.ledger import tokens
from hiero_sandbox.ledger.custom_fees import is_exempt, unit_of
from hiero_sandbox.ledger.envelopes import refuse_if, write_id
from hiero_sandbox.ledger.execution import FEE_UNPAID, AssessedFee, Changes, NftTransfer
from hiero_sandbox.ledger.tokens import Token
from hiero_sandbox.storage import Connection

MAX_DEPTH = 2  # of the fees that fees owe
TOO_DEEP = "CUSTOM_FEE_CHARGING_EXCEEDED_MAX_RECURSION_DEPTH"
Balances = Counter[tuple[str, str | None]]


@dataclass
class Assessment:
    """The fees of a transfer, and the balances that change with them."""

    # By the transfer itself, less what is taken of it. Fees in the units that it moves are within.
    changes: Balances
    payments: Balances = field(default_factory=Counter)  # of other fees
    fees: list[AssessedFee] = field(default_factory=list)

    def charge(
        self,
        fee: AssessedFee,
        source: Balances,
        target: Balances,
        shares: dict[str, int] | None = None,
    ) -> None:
        """Charge a fee, if it is not zero. With shares, several pay it together."""
        if fee.amount:
            for payer, share in (shares or {fee.payer: fee.amount}).items():
                source[payer, fee.token] -= share
            target[fee.collector, fee.token] += fee.amount
            self.fees.append(fee)

    def charge_amount(self, token: Token, payer: str, collector: str, fee: FixedFee) -> None:
        unit = unit_of(fee)
        balances = self.changes if unit == token.token else self.payments
        self.charge(AssessedFee(payer, collector, fee.amount, unit), balances, balances)


def assess(db: Connection, moved: Iterable[NftTransfer], given: Changes) -> list[Assessment]:
    """The fees of a transfer, and those that they owe themselves: an assessment for each level."""
    levels = [_assess_level(db, moved, given)]
    while any(unit for _, unit in levels[-1].payments):
        refuse_if(len(levels) > MAX_DEPTH, TOO_DEEP)
        levels.append(_assess_level(db, (), levels[-1].payments))
    return levels


def _assess_level(db: Connection, moved: Iterable[NftTransfer], given: Changes) -> Assessment:
    """The fees of the NFTs that a transfer moves, and of the units that it takes."""
    assessment = Assessment(Counter(given))
    settled: set[tuple[str, str]] = set()
    for (payer, unit), amount in given.items():
        if unit and amount < 0:
            token = tokens.find(db, unit)
            _charge_fixed(assessment, token, payer)
            _charge_fractional(assessment, token, payer, given)
    for nft in moved:
        token = tokens.find(db, nft.token)
        if nft.sender == token.treasury:
            continue
        _charge_fixed(assessment, token, nft.sender)
        credits = _credits(given, nft.sender)
        payer = nft.sender if credits else nft.receiver
        if not {(nft.sender, nft.token), (payer, nft.token)} & settled:
            settled.add((payer, nft.token))
            _charge_royalties(assessment, token, payer, credits)
    return assessment


def _owed(token: Token, payer: str, kind: str) -> Iterator[tuple[str, Any]]:
    """A token's fees of a kind that an account owes, each with its collector."""
    for fee in token.definition.custom_fees:
        if fee.HasField(kind) and not is_exempt(token, fee, payer):
            yield write_id(fee.fee_collector_account_id), getattr(fee, kind)


def _charge_fixed(assessment: Assessment, token: Token, payer: str) -> None:
    for collector, fee in _owed(token, payer, "fixed_fee"):
        assessment.charge_amount(token, payer, collector, fee)


def _charge_fractional(assessment: Assessment, token: Token, sender: str, given: Changes) -> None:
    """Charge the fractional fees of what one account sends, as its part of all that is sent."""
    unit, changes = token.token, assessment.changes
    kept = sent = -given[sender, unit]
    for fee in token.definition.custom_fees:
        if not fee.HasField("fractional_fee") or is_exempt(token, fee, sender):
            continue
        payers = _credited(token, fee, given)
        if not payers:
            continue
        fractional, collector = fee.fractional_fee, write_id(fee.fee_collector_account_id)
        if fractional.net_of_transfers:
            assessed = AssessedFee(sender, collector, _part(fractional, sent), unit)
            assessment.charge(assessed, changes, changes)
            continue
        sent_by_all = -sum(
            amount
            for (account_id, of), amount in given.items()
            if of == unit and amount < 0 and not is_exempt(token, fee, account_id)
        )
        of_all = _part(fractional, sum(payers.values()))
        owed, is_least = sent * of_all // sent_by_all, of_all == fractional.minimum_amount
        shares = _shares(owed, _credited(token, fee, changes))
        taken = sum(shares.values())
        kept -= taken
        refuse_if(kept < 0 or (is_least and taken < owed), FEE_UNPAID)
        first, *further = payers
        assessed = AssessedFee(first, collector, taken, unit, tuple(further))
        assessment.charge(assessed, changes, changes, shares)


def _credited(token: Token, fee: CustomFee, changes: Changes) -> dict[str, int]:
    """What the accounts get of a token that owe a fee of it."""
    return {
        account_id: amount
        for (account_id, unit), amount in changes.items()
        if unit == token.token and amount > 0 and not is_exempt(token, fee, account_id)
    }


def _part(fractional: FractionalFee, amount: int) -> int:
    """The fractional fee of an amount, within its least and most."""
    part = fractional.fractional_amount
    owed = amount * part.numerator // part.denominator
    refuse_if(owed > MAX_INT64, "CUSTOM_FEE_OUTSIDE_NUMERIC_RANGE")
    return int(min(max(owed, fractional.minimum_amount), fractional.maximum_amount or MAX_INT64))


def _shares(amount: int, credits: dict[str, int]) -> dict[str, int]:
    """An amount by account, in proportion to what they get; the first ones pay what rounding leaves."""
    available = sum(credits.values())
    amount = min(amount, available)
    shares = {payer: amount * credit // available for payer, credit in credits.items()}
    left = amount - sum(shares.values())
    for payer, credit in credits.items():
        more = min(left, credit - shares[payer])
        shares[payer] += more
        left -= more
    return shares


def _credits(given: Changes, account_id: str) -> dict[str | None, int]:
    """The amounts that an account gets in a transfer, by token."""
    return {unit: amount for (to, unit), amount in given.items() if to == account_id and amount > 0}


def _charge_royalties(
    assessment: Assessment, token: Token, payer: str, credits: dict[str | None, int]
) -> None:
    for collector, royalty in _owed(token, payer, "royalty_fee"):
        part = royalty.exchange_value_fraction
        for unit, got in credits.items():
            fee = AssessedFee(payer, collector, got * part.numerator // part.denominator, unit)
            assessment.charge(fee, assessment.changes, assessment.payments)
        if not credits:
            assessment.charge_amount(token, payer, collector, royalty.fallback_fee)


def may_owe_fallback(db: Connection, nft: NftTransfer, given: Changes) -> bool:
    """Whether the receiver may have to pay a fallback fee, and so must sign."""
    token = tokens.find(db, nft.token)
    return (
        any(fee.royalty_fee.fallback_fee.amount for fee in token.definition.custom_fees)
        and not _credits(given, nft.sender)
        and token.treasury not in (nft.sender, nft.receiver)
    )
