"""The custom fees that a transfer owes, as the network charges them: HIP-18.

A fixed fee is an amount. The sender of NFTs pays it for each NFT, the sender of units once. A royalty is a
fraction of what the sender of NFTs gets in the same transaction, and is taken from that. If the sender gets
nothing, the receiver pays the fallback fee. Royalties are due once per account and token, however many NFTs
are moved. The treasury owes nothing. A collector does not owe its own fee. If a fee exempts all collectors of
the token, none of them owes it.
Source: CustomFeeAssessor and CustomFeeExemptions of https://github.com/hiero-ledger/hiero-consensus-node.
"""

from collections.abc import Iterable, Iterator

from google.protobuf.message import Message

from hiero_sandbox.database import Connection
from hiero_sandbox.ledger import accounts, queries, tokens
from hiero_sandbox.ledger.envelopes import Refused, refuse_if, write_id
from hiero_sandbox.ledger.execution import AssessedFee, Changes, NftTransfer, entity
from hiero_sandbox.ledger.tokens import Token

MAX_FEES = 10


def require_valid(db: Connection, token: Token) -> None:
    """Refuse custom fees that the network refuses."""
    fees = token.definition.custom_fees
    refuse_if(len(fees) > MAX_FEES, "CUSTOM_FEES_LIST_TOO_LONG")
    for fee in fees:
        collector = entity(fee.fee_collector_account_id, "INVALID_CUSTOM_FEE_COLLECTOR")
        accounts.require_usable(db, collector, "INVALID_CUSTOM_FEE_COLLECTOR")
        if fee.HasField("royalty_fee"):
            _require_valid_royalty(db, fee.royalty_fee, token, collector)
        elif fee.HasField("fixed_fee"):
            _require_valid_amount(db, fee.fixed_fee, collector)
        else:
            is_fractional = fee.HasField("fractional_fee")
            raise Refused("NOT_SUPPORTED" if is_fractional else "CUSTOM_FEE_NOT_FULLY_SPECIFIED")


def _require_valid_amount(db: Connection, fee: Message, collector: str) -> None:
    """Refuse an amount that is not positive, and a unit that its collector can't have."""
    refuse_if(fee.amount <= 0, "CUSTOM_FEE_MUST_BE_POSITIVE")
    if fee.HasField("denominating_token_id"):
        # 0.0.0 stands for units of the token itself. The sandbox does not have such fees.
        unit = tokens.get(db, entity(fee.denominating_token_id, "NOT_SUPPORTED"))
        if unit is None or unit.is_paused or queries.is_deleted(db, unit.token):
            raise Refused("INVALID_TOKEN_ID_IN_CUSTOM_FEES")
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


def assess(db: Connection, moved: Iterable[NftTransfer], given: Changes) -> list[AssessedFee]:
    """The fees of a transfer: of the NFTs that it moves, and of the units that it takes."""
    assessed: list[AssessedFee] = []
    settled: set[tuple[str, str]] = set()
    for (payer, unit), amount in given.items():
        if unit and amount < 0:
            assessed += _assess_fixed(tokens.find(db, unit), payer)
    for nft in moved:
        token = tokens.find(db, nft.token)
        if nft.sender == token.treasury:
            continue
        assessed += _assess_fixed(token, nft.sender)
        credits = _credits(given, nft.sender)
        payer = nft.sender if credits else nft.receiver
        if not {(nft.sender, nft.token), (payer, nft.token)} & settled:
            settled.add((payer, nft.token))
            assessed += _assess_royalties(token, payer, credits)
    return [assessed_fee for assessed_fee in assessed if assessed_fee.amount]


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


def _assess_fixed(token: Token, payer: str) -> Iterator[AssessedFee]:
    for collector, fee in _owed(token, payer, "fixed_fee"):
        yield AssessedFee(payer, collector, fee.amount, unit_of(fee))


def unit_of(fee: Message) -> str | None:
    """The token that a fixed fee is paid in; None: HBAR."""
    is_of_units = fee.HasField("denominating_token_id")
    return write_id(fee.denominating_token_id) if is_of_units else None


def _credits(given: Changes, account_id: str) -> dict[str | None, int]:
    """The amounts that an account gets in a transfer, by token."""
    return {unit: amount for (to, unit), amount in given.items() if to == account_id and amount > 0}


def _assess_royalties(
    token: Token, payer: str, credits: dict[str | None, int]
) -> Iterator[AssessedFee]:
    for collector, royalty in _owed(token, payer, "royalty_fee"):
        part = royalty.exchange_value_fraction
        for unit, got in credits.items():
            amount = got * part.numerator // part.denominator
            yield AssessedFee(payer, collector, amount, unit, is_taken_of_credit=True)
        if not credits:
            fallback = royalty.fallback_fee
            yield AssessedFee(payer, collector, fallback.amount, unit_of(fallback))


def may_owe_fallback(db: Connection, nft: NftTransfer, given: Changes) -> bool:
    """Whether the receiver may have to pay a fallback fee, and so must sign."""
    token = tokens.find(db, nft.token)
    return (
        any(fee.royalty_fee.fallback_fee.amount for fee in token.definition.custom_fees)
        and not _credits(given, nft.sender)
        and token.treasury not in (nft.sender, nft.receiver)
    )
