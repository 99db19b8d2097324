"""The custom fees of tokens: what the network accepts as one, who is exempt, and what it is paid in. HIP-18.

Source: CustomFeesValidator and CustomFeeExemptions of https://github.com/hiero-ledger/hiero-consensus-node.
"""

from hiero_sdk_python.hapi.services.custom_fees_pb2 import (
    CustomFee,
    FixedFee,
    FractionalFee,
    RoyaltyFee,
)

from hiero_sandbox.ledger import accounts, queries, tokens
from hiero_sandbox.ledger.envelopes import Refused, refuse_if, write_id
from hiero_sandbox.ledger.execution import entity
from hiero_sandbox.ledger.tokens import Token
from hiero_sandbox.storage import Connection

MAX_FEES = 10


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
            require_valid_amount(db, fee.fixed_fee, collector)
        else:
            raise Refused("CUSTOM_FEE_NOT_FULLY_SPECIFIED")


def collector_of(db: Connection, fee: CustomFee) -> str:
    collector = entity(fee.fee_collector_account_id, "INVALID_CUSTOM_FEE_COLLECTOR")
    accounts.require_usable(db, collector, "INVALID_CUSTOM_FEE_COLLECTOR")
    return collector


def is_in_own_units(fee: CustomFee) -> bool:
    """Whether a new token's fee is paid in its own units: a fraction of them, or an amount of 0.0.0."""
    fixed = fee.fixed_fee
    is_of_none = (
        fixed.HasField("denominating_token_id") and not fixed.denominating_token_id.tokenNum
    )
    return is_of_none or fee.HasField("fractional_fee")


def require_valid_amount(db: Connection, fee: FixedFee, collector: str) -> None:
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


def _require_valid_royalty(
    db: Connection, royalty: RoyaltyFee, token: Token, collector: str
) -> None:
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
        require_valid_amount(db, fallback, collector)


def _require_valid_fractional(
    db: Connection, fractional: FractionalFee, token: Token, collector: str
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


def is_exempt(token: Token, fee: CustomFee, account_id: str) -> bool:
    """Whether an account does not owe a fee of a token."""
    collectors = token.definition.custom_fees if fee.all_collectors_are_exempt else [fee]
    exempt = {write_id(each.fee_collector_account_id) for each in collectors}
    return account_id in exempt | {token.treasury}


def unit_of(fee: FixedFee) -> str | None:
    """The token that a fixed fee is paid in; None: HBAR."""
    is_of_units = fee.HasField("denominating_token_id")
    return write_id(fee.denominating_token_id) if is_of_units else None
