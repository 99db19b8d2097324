"""A token's custom fees: how much a sale's seller owes, and whether all can be paid.

The rules are the network's: royalties are parts of what the seller is credited, and fixed fees are paid by
the sender of the NFT, who is the seller. The treasury and a fee's own collector are exempt, and so are all
collectors of the token where the fee says so. Source: HIP-18, HIP-573, and CustomFeeAssessor of
https://github.com/hiero-ledger/hiero-consensus-node.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from marketplace import times
from marketplace.errors import (
    FeesChanged,
    LedgerAnswerInvalid,
    NothingLeftForSeller,
    PurchaseImpossible,
    TooManyFees,
)
from marketplace.hbar import to_hbar
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.mirror_schemas import Account, Relationship
from marketplace.ledger.tokens import FixedFee, Royalty, Token

MOST_QUESTIONS = 20  # about one token's fees: the mirror node's rate is everybody's


class Sale(NamedTuple):
    """A seller, what he is credited in tinybars, and when he listed the NFT (as in the database)."""

    token: str
    seller: str
    credit: int
    listed_at: str | None


class Owed(NamedTuple):
    """The custom fees of which a seller is not exempt."""

    royalties: list[Royalty]
    fixed: list[FixedFee]

    @property
    def collectors(self) -> set[str]:
        return {fee.collector for fee in self.royalties} | {fee.collector for fee in self.fixed}

    @property
    def in_tokens(self) -> Counter[str]:
        """Smallest units, by the token that the fees are paid in."""
        amounts: Counter[str] = Counter()
        for fee in self.fixed:
            if fee.token:
                amounts[fee.token] += fee.amount
        return amounts


def require_payable(sale: Sale, found: Token, deadline: Deadline) -> None:
    """Raise PurchaseImpossible where a custom fee would make a purchase fail at consensus.

    Raises NothingLeftForSeller, FeesChanged and TooManyFees where it might succeed, and should not. Raises
    the ledger's errors, too. Without fees that the seller owes, the ledger is not asked.
    """
    owed = find_owed(sale, found)
    if not any(owed):
        return
    _require_rest(sale, owed)
    _require_known_at_listing(sale, found, owed)
    questions = _list_questions(sale, owed)
    if len(questions) > MOST_QUESTIONS:
        raise TooManyFees(sale.token)
    answers = dict(zip(questions, mirror_node().ask(*_ask(questions, deadline)), strict=True))
    for collector in sorted(owed.collectors):
        _require_collector(collector, answers[Account, collector])
    for token, amount in owed.in_tokens.items():
        _require_plain(token, answers[Token, token])
        seller = answers[Relationship, sale.seller, token]
        _require_member(f"{sale.seller}, who sells it,", seller, token)
        _require_holding(sale, token, amount, seller)
    for fee in owed.fixed:
        if fee.token:
            member = answers[Relationship, fee.collector, fee.token]
            _require_member(f"{fee.collector}, who collects a fee,", member, fee.token)


def find_owed(sale: Sale, found: Token) -> Owed:
    """The fees that the seller owes. Raises LedgerAnswerInvalid where one of the token's makes no sense."""
    if found.royalties is None or found.fixed_fees is None:
        raise LedgerAnswerInvalid(f"/tokens/{sale.token}: its custom fees make no sense")
    if sale.seller == found.treasury:
        return Owed([], [])
    collectors = Owed([*found.royalties], [*found.fixed_fees]).collectors

    def is_owed(fee: Royalty | FixedFee) -> bool:
        spared = collectors if fee.spares_collectors else {fee.collector}
        return sale.seller not in spared

    return Owed([*filter(is_owed, found.royalties)], [*filter(is_owed, found.fixed_fees)])


def _royalties(sale: Sale, owed: Owed) -> int:
    """Tinybars: each royalty is rounded down."""
    return sum(sale.credit * fee.numerator // fee.denominator for fee in owed.royalties)


def _require_rest(sale: Sale, owed: Owed) -> None:
    """The seller must be left something of the price, in HBAR: then the fees in HBAR can be paid, too."""
    fixed = sum(fee.amount for fee in owed.fixed if not fee.token)
    taken = _royalties(sale, owed) + fixed
    if taken >= sale.credit:
        raise NothingLeftForSeller(sale.token, to_hbar(taken), to_hbar(sale.credit))


def _require_known_at_listing(sale: Sale, found: Token, owed: Owed) -> None:
    """An issuer may change the fees at any time. The seller agreed to those that were there when he listed.

    Of newer ones he pays no fixed fee, which may be any amount of any token that he has, and royalties of
    half the price at most.
    """
    if found.fees_since and sale.listed_at and times.to_iso(found.fees_since) <= sale.listed_at:
        return
    if owed.fixed or 2 * _royalties(sale, owed) > sale.credit:
        raise FeesChanged(sale.token)


def _list_questions(sale: Sale, owed: Owed) -> list[tuple[Any, ...]]:
    """The questions to the mirror node, each once."""
    payments = {(fee.collector, fee.token) for fee in owed.fixed if fee.token}
    payments |= {(sale.seller, token) for token in owed.in_tokens}
    return [
        *((Account, collector) for collector in sorted(owed.collectors)),
        *((Token, token) for token in owed.in_tokens),
        *((Relationship, *payment) for payment in sorted(payments)),
    ]


def _ask(questions: list[tuple[Any, ...]], deadline: Deadline) -> list[Callable[[], Any]]:
    mirror = mirror_node()
    find: dict[Any, Callable[..., Any]] = {
        Account: mirror.find_account,
        Token: mirror.find_token,
        Relationship: mirror.find_relationship,
    }
    return [partial(find[kind], *keys, deadline) for kind, *keys in questions]


def _require_collector(collector: str, found: Account | None) -> None:
    if found is None or found.is_deleted:
        raise PurchaseImpossible(
            f"{collector}, who collects a fee of the token, was deleted", "ACCOUNT_DELETED"
        )


def _require_plain(token: str, found: Token | None) -> None:
    """A token in which a fee is paid: its own fees would be charged as well, and are not looked up."""
    if found is None or found.is_deleted:
        raise PurchaseImpossible(
            f"{token}, in which a fee is paid, was deleted", "TOKEN_WAS_DELETED"
        )
    if found.is_paused:
        raise PurchaseImpossible(f"{token}, in which a fee is paid, is paused", "TOKEN_IS_PAUSED")
    if found.has_fees:
        raise TooManyFees(token)


def _require_member(who: str, found: Relationship | None, token: str) -> None:
    if found is None:
        raise PurchaseImpossible(
            f"{who} is not associated with {token}, in which a fee is paid",
            "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT",
        )
    if found.is_frozen:
        raise PurchaseImpossible(f"{who} is frozen for {token}", "ACCOUNT_FROZEN_FOR_TOKEN")
    if found.lacks_kyc:
        raise PurchaseImpossible(
            f"{who} lacks the KYC of {token}", "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"
        )


def _require_holding(sale: Sale, token: str, amount: int, found: Relationship) -> None:
    if found.balance < amount:
        raise PurchaseImpossible(
            f"{sale.seller}, who sells it, has {found.balance} of {token}, and its fees are {amount}",
            "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE",
        )
