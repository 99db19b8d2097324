"""The custom fees that a transfer owes, as the network charges them: HIP-18.

A fixed fee is an amount. The sender of NFTs pays it for each NFT, the sender of units once. A royalty is a
fraction of what the sender of NFTs gets in the same transaction, and is taken from that. If the sender gets
nothing, the receiver pays the fallback fee. Royalties are due once per account and token, however many NFTs
are moved. The treasury owes nothing. A collector does not owe its own fee. If a fee exempts all collectors of
the token, none of them owes it.

A fractional fee is a part of the units that are sent, with a least and a most amount. Those who get the units
pay it of what they get, each in proportion; net of transfers, the sender pays it besides.
Source: CustomFeeAssessor, CustomFractionalFeeAssessor and CustomFeeExemptions of https://github.com/hiero-ledger/hiero-consensus-node.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from google.protobuf.message import Message

from hiero_sandbox.database import Connection
from hiero_sandbox.ledger import accounts, queries, tokens
from hiero_sandbox.ledger.envelopes import Refused, refuse_if, write_id
from hiero_sandbox.ledger.execution import FEE_UNPAID, AssessedFee, Changes, NftTransfer, entity
from hiero_sandbox.ledger.tokens import Token
from marketplace.hedera.ids import MAX_INT64

MAX_FEES = 10
Balances = Counter[tuple[str, str | None]]


def require_valid(db: Connection, token: Token) -> None:
    """Refuse custom fees that the network refuses."""
    fees = token.definition.custom_fees
    refuse_if(len(fees) > MAX_FEES, "CUSTOM_FEES_LIST_TOO_LONG")
    for fee in fees:
        collector = collector_of(db, fee)
        if fee.HasField("royalty_fee"):
            _require_valid_royalty(db, fee.royalty_fee, token, collector)
        elif fee.HasField("fractional_fee"):
            _require_valid_fractional(db, fee.fractional_fee, token, collector)
        elif fee.HasField("fixed_fee"):
            _require_valid_amount(db, fee.fixed_fee, collector)
        else:
            raise Refused("CUSTOM_FEE_NOT_FULLY_SPECIFIED")


def collector_of(db: Connection, fee: Message) -> str:
    collector = entity(fee.fee_collector_account_id, "INVALID_CUSTOM_FEE_COLLECTOR")
    accounts.require_usable(db, collector, "INVALID_CUSTOM_FEE_COLLECTOR")
    return collector


def is_in_own_units(fee: Message) -> bool:
    """Whether a new token's fee is paid in its own units: a fraction of them, or an amount of 0.0.0."""
    fixed = fee.fixed_fee
    is_of_none = (
        fixed.HasField("denominating_token_id") and not fixed.denominating_token_id.tokenNum
    )
    return is_of_none or fee.HasField("fractional_fee")


def _require_valid_amount(db: Connection, fee: Message, collector: str) -> None:
    """Refuse an amount that is not positive, and a unit that its collector can't have."""
    refuse_if(fee.amount <= 0, "CUSTOM_FEE_MUST_BE_POSITIVE")
    if fee.HasField("denominating_token_id"):
        code = "INVALID_TOKEN_ID_IN_CUSTOM_FEES"
        unit = tokens.get(db, entity(fee.denominating_token_id, code))
        if unit is None or unit.is_paused or queries.is_deleted(db, unit.token):
            raise Refused(code)
        refuse_if(not unit.is_fungible, "CUSTOM_FEE_DENOMINATION_MUST_BE_FUNGIBLE_COMMON")
        if not accounts.is_associated(db, collector, unit.token):
            raise Refused("TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR")


def _require_valid_royalty(db: Connection, royalty: Message, token: Token, collector: str) -> None:
    part, fallback = royalty.exchange_value_fraction, royalty.fallback_fee
    refuse_if(token.is_fungible, "CUSTOM_ROYALTY_FEE_ONLY_ALLOWED_FOR_NON_FUNGIBLE_UNIQUE")
    refuse_if(part.denominator == 0, "FRACTION_DIVIDES_BY_ZERO")
    refuse_if(min(part.numerator, part.denominator) <= 0, "CUSTOM_FEE_MUST_BE_POSITIVE")
    refuse_if(part.numerator > part.denominator, "ROYALTY_FRACTION_CANNOT_EXCEED_ONE")
    if royalty.HasField("fallback_fee"):
        is_own = (
            fallback.HasField("denominating_token_id")
            and not fallback.denominating_token_id.tokenNum
        )
        refuse_if(is_own, "CUSTOM_FEE_DENOMINATION_MUST_BE_FUNGIBLE_COMMON")
        _require_valid_amount(db, fallback, collector)


def _require_valid_fractional(
    db: Connection, fractional: Message, token: Token, collector: str
) -> None:
    part = fractional.fractional_amount
    least, most = fractional.minimum_amount, fractional.maximum_amount
    if not token.is_fungible:
        raise Refused("CUSTOM_FRACTIONAL_FEE_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON")
    if not accounts.is_associated(db, collector, token.token):
        raise Refused("TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR")
    refuse_if(part.denominator == 0, "FRACTION_DIVIDES_BY_ZERO")
    refuse_if(min(part.numerator, part.denominator) <= 0, "CUSTOM_FEE_MUST_BE_POSITIVE")
    refuse_if(min(least, most) < 0, "CUSTOM_FEE_MUST_BE_POSITIVE")
    refuse_if(0 < most < least, "FRACTIONAL_FEE_MAX_AMOUNT_LESS_THAN_MIN_AMOUNT")


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

    def charge_amount(self, token: Token, payer: str, collector: str, fee: Message) -> None:
        unit = unit_of(fee)
        balances = self.changes if unit == token.token else self.payments
        self.charge(AssessedFee(payer, collector, fee.amount, unit), balances, balances)


def assess(db: Connection, moved: Iterable[NftTransfer], given: Changes) -> Assessment:
    """The fees of a transfer: of the NFTs that it moves, and of the units that it takes."""
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


def _owed(token: Token, payer: str, kind: str) -> Iterator[tuple[str, Message]]:
    """A token's fees of a kind that an account owes, each with its collector."""
    for fee in token.definition.custom_fees:
        if fee.HasField(kind) and not is_exempt(token, fee, payer):
            yield write_id(fee.fee_collector_account_id), getattr(fee, kind)


def is_exempt(token: Token, fee: Message, account_id: str) -> bool:
    """Whether an account does not owe a fee of a token."""
    collectors = token.definition.custom_fees if fee.all_collectors_are_exempt else [fee]
    exempt = {write_id(each.fee_collector_account_id) for each in collectors}
    return account_id in exempt | {token.treasury}


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


def _credited(token: Token, fee: Message, changes: Changes) -> dict[str, int]:
    """What the accounts get of a token that owe a fee of it."""
    return {
        account_id: amount
        for (account_id, unit), amount in changes.items()
        if unit == token.token and amount > 0 and not is_exempt(token, fee, account_id)
    }


def _part(fractional: Message, amount: int) -> int:
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


def unit_of(fee: Message) -> str | None:
    """The token that a fixed fee is paid in; None: HBAR."""
    is_of_units = fee.HasField("denominating_token_id")
    return write_id(fee.denominating_token_id) if is_of_units else None


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
