"""Checks whether the ledger would refuse a sale: the marketplace pays for a purchase even then.

The network's rules for custom fees: the seller pays royalties as fractions of the credit. As the sender of
each NFT, the seller also pays the fixed fees. The treasury and a fee's own collector are exempt. If the fee
says so, all collectors of the token are exempt. Sources: HIP-18, HIP-573, and CustomFeeAssessor,
CustomFeeAssessmentStep and AssessmentResult of https://github.com/hiero-ledger/hiero-consensus-node.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

from flask import current_app

from marketplace.errors import (
    BuyerBalanceTooLow,
    BuyerNotAssociated,
    CollectionsMixed,
    FeesChangeable,
    FeesChanged,
    FeesInTokens,
    LedgerAnswerInvalid,
    NothingLeftForSeller,
    PurchaseImpossible,
)
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS, find_credit, to_hbar
from marketplace.hedera.ids import MAX_BALANCE_CHANGES, MAX_HBAR_TRANSFERS
from marketplace.ledger import Deadline
from marketplace.ledger.objects import (
    FixedFee,
    LedgerAccount,
    LedgerToken,
    Relationship,
    RoyaltyFee,
)
from marketplace.services import mirror_node, read, services
from marketplace.store.nft_collections import is_verified
from marketplace.store.nfts import NftRow

UNLIMITED = -1
COUNTED_ASSOCIATIONS = 500  # of one account, at most: five pages


@dataclass(frozen=True)
class Answers:
    """What the ledger has about a sale."""

    buyer_id: str
    tokens: Mapping[str, LedgerToken | None]
    accounts: Mapping[str, LedgerAccount | None]
    relationships: Mapping[tuple[str, str], Relationship | None]  # of accounts with tokens
    deadline: Deadline

    def token(self, token_id: str) -> LedgerToken:
        """Raises PurchaseImpossible if it was deleted."""
        token = self.tokens[token_id]
        if token is None or token.is_deleted:
            raise PurchaseImpossible(f"{token_id} was deleted", "TOKEN_WAS_DELETED")
        return token

    @cached_property
    def unassociated(self) -> list[str]:
        """The tokens with which the sale associates the buyer."""
        return sorted(id for id in self.tokens if self.relationships[self.buyer_id, id] is None)

    @cached_property
    def free_associations(self) -> float:
        """How many automatic associations the buyer has left; 0 if they are too many to count."""
        buyer = self.accounts[self.buyer_id]
        most = buyer.max_automatic_associations if buyer else 0
        if most == UNLIMITED:
            return math.inf
        if not most:
            return 0
        relationships = mirror_node().list_relationships(self.buyer_id, self.deadline)
        counted = [*islice(relationships, COUNTED_ASSOCIATIONS)]
        taken = sum(relationship.is_automatic for relationship in counted)
        return most - taken if len(counted) < COUNTED_ASSOCIATIONS else 0


def ask(
    buyer_id: str, nfts: Sequence[NftRow], deadline: Deadline, buyer: LedgerAccount | None = None
) -> Answers:
    """Ask the ledger about a sale's tokens, accounts and relationships, all at once.

    ``buyer``: the buyer's account, if the ledger has just shown it.
    """
    mirror, known = mirror_node(), {buyer_id: buyer} if buyer else {}
    tokens = sorted({nft["token"] for nft in nfts})
    accounts = sorted({buyer_id, *(nft["owner"] for nft in nfts)} - known.keys())
    holdings = {(nft["owner"], nft["token"]) for nft in nfts} | {(buyer_id, id) for id in tokens}
    questions: list[Callable[[], Any]] = [partial(mirror.find_token, id, deadline) for id in tokens]
    questions += [partial(mirror.find_account, id, deadline) for id in accounts]
    questions += [partial(mirror.find_relationship, *each, deadline) for each in holdings]
    found, rest = mirror.ask(*questions), len(tokens) + len(accounts)
    return Answers(
        buyer_id,
        tokens=dict(zip(tokens, found[: len(tokens)], strict=True)),
        accounts=known | dict(zip(accounts, found[len(tokens) : rest], strict=True)),
        relationships=dict(zip(holdings, found[rest:], strict=True)),
        deadline=deadline,
    )


def require_able(nft: NftRow, price: int, answers: Answers, *, seller_signs: bool = False) -> None:
    """Raise PurchaseImpossible, with the ledger's result code, if an NFT's sale would fail at consensus.

    BuyerBalanceTooLow and BuyerNotAssociated are subclasses. ``price``: the whole purchase's price in HBAR.
    ``seller_signs``: whether the seller signs the transaction, too. Also raises the ledger's errors.
    """
    token_id, seller_id, buyer_id = nft["token"], nft["owner"], answers.buyer_id
    selling = f"The seller {seller_id}"
    token, seller = answers.token(token_id), answers.accounts[seller_id]
    if token.is_paused:
        raise PurchaseImpossible(f"{token_id} is paused by its issuer", "TOKEN_IS_PAUSED")
    if seller is None or seller.is_deleted:
        raise PurchaseImpossible(f"{selling} was deleted", "ACCOUNT_DELETED")
    if seller.must_sign_to_receive and not seller_signs:
        reason = f"{selling} must sign for each payment to it"
        raise PurchaseImpossible(reason, "INVALID_SIGNATURE")
    buyer = find_buyer(buyer_id, answers.accounts[buyer_id])
    balance = find_balance(buyer_id, buyer)
    if balance < price * TINYBARS:
        raise BuyerBalanceTooLow(buyer_id, to_hbar(balance), price)
    relationship = answers.relationships[buyer_id, token_id]
    if relationship is None:
        _require_free_association(token_id, buyer.max_automatic_associations, answers)
        frozen, kyc = token.freezes_newcomers, token.asks_for_kyc
        relationship = Relationship(token_id, is_frozen=frozen, lacks_kyc=kyc)
    sides = (selling, answers.relationships[seller_id, token_id]), (buyer_id, relationship)
    for side, held in sides:
        if held and held.is_frozen:
            reason = f"{side} is frozen for {token_id} by its issuer"
            raise PurchaseImpossible(reason, "ACCOUNT_FROZEN_FOR_TOKEN")
        if held and held.lacks_kyc:
            reason = f"{side} lacks the issuer's KYC for {token_id}"
            raise PurchaseImpossible(reason, "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN")


def find_buyer(buyer_id: str, account: LedgerAccount | None) -> LedgerAccount:
    """The buyer's account, which can sign. Raises PurchaseImpossible if it cannot."""
    if account is None:
        raise PurchaseImpossible(f"{buyer_id} is not an account", "INVALID_ACCOUNT_ID")
    if account.is_deleted:
        raise PurchaseImpossible(f"{buyer_id} was deleted", "ACCOUNT_DELETED")
    if account.key is None and not services().sandbox:
        reason = f"{buyer_id} has no key until it signs a transaction that it pays for itself"
        raise PurchaseImpossible(reason, "INVALID_SIGNATURE")
    return account


def find_balance(account_id: str, account: LedgerAccount | None) -> int:
    """An account's balance, in tinybars. Raises LedgerAnswerInvalid if the mirror node shows none."""
    if account is None or account.balance is None:
        raise LedgerAnswerInvalid(f"/accounts/{account_id}: it has no balance")
    return account.balance


def _require_free_association(token_id: str, most: int, answers: Answers) -> None:
    reason = f"{answers.buyer_id} is not associated with {token_id}"
    if not most:
        reason = f"{reason}: associate it first"
        raise BuyerNotAssociated(reason, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
    if answers.free_associations < len(answers.unassociated):
        reason = f"{reason}, and may have no automatic association left: associate it first"
        raise BuyerNotAssociated(reason, "NO_REMAINING_AUTOMATIC_ASSOCIATIONS")


class Lot(NamedTuple):
    """What one seller sells in a purchase: NFTs of one token."""

    token: str
    seller: str
    credit: int  # tinybars, in all
    nfts: int = 1
    listed_at: str | None = None  # when the seller listed the first one, as in the database


def require_payable(lot: Lot, token: LedgerToken) -> None:
    """Raise an error if custom fees forbid its sale: FeesChangeable, FeesChanged, or that of find_received().

    The seller agreed to the fees at the time of the listing.
    """
    require_unchangeable(lot.token, token)
    find_received(lot, token)
    since, listed_at = token.fees_since, lot.listed_at
    is_known = since and listed_at and times.to_iso(since) <= listed_at
    if not is_known and (since or token.royalties or token.fixed_fees):
        raise FeesChanged(lot.token)


def require_unchangeable(token_id: str, token: LedgerToken) -> None:
    """Raise FeesChangeable if a token's issuer can change its custom fees, and the operator does not know it.

    Nothing binds the fees that a sale is charged to those that were in force when it was signed.
    """
    if token.can_change_fees and not is_verified(read(), token_id):
        raise FeesChangeable(token_id)


def find_received(lot: Lot, token: LedgerToken) -> int:
    """Return the tinybars that the custom fees leave the seller.

    Refuses fees in tokens: their transfer may associate the collector, and the marketplace would pay for that
    on top of the purchase's fee cap.
    """
    royalty_fees, fixed_fees = find_owed(lot, token)
    if any(fee.token for fee in fixed_fees):
        raise FeesInTokens(lot.token)
    royalties = sum(lot.credit * fee.numerator // fee.denominator for fee in royalty_fees)
    taken = royalties + lot.nfts * sum(fee.amount for fee in fixed_fees)
    if taken and taken >= lot.credit:
        raise NothingLeftForSeller(lot.token, to_hbar(taken), to_hbar(lot.credit))
    return lot.credit - taken


def find_owed(lot: Lot, token: LedgerToken) -> tuple[list[RoyaltyFee], list[FixedFee]]:
    """Return the royalties and the fixed fees that the seller owes.

    Raises LedgerAnswerInvalid if one of the token's fees is unreadable.
    """
    if token.royalties is None or token.fixed_fees is None:
        raise LedgerAnswerInvalid(f"/tokens/{lot.token}: its custom fees make no sense")
    if lot.seller == token.treasury:
        return [], []
    collectors = {fee.collector for fee in token.royalties}
    collectors |= {fee.collector for fee in token.fixed_fees}

    def is_owed(fee: RoyaltyFee | FixedFee) -> bool:
        exempt = collectors if fee.exempts_collectors else {fee.collector}
        return lot.seller not in exempt

    return [*filter(is_owed, token.royalties)], [*filter(is_owed, token.fixed_fees)]


def group_by_seller(nfts: Sequence[NftRow]) -> list[Lot]:
    """Group the NFTs of a purchase by seller. Raises CollectionsMixed, and PurchaseImpossible.

    For each seller and token, the network charges one royalty on the seller's whole credit. So if a seller
    sold NFTs of two tokens, both royalties would be charged on both prices.
    """
    lots = []
    basis_points, owner = current_app.config["SALE_FEE_BASIS_POINTS"], itemgetter("owner")
    for seller, group in groupby(sorted(nfts, key=owner), key=owner):
        sold = [*group]
        token = sold[0]["token"]
        if others := [nft for nft in sold if nft["token"] != token]:
            named = ", ".join(f"{nft['token']} #{nft['serial_no']}" for nft in others)
            raise CollectionsMixed(seller, named)
        dates = [nft["last_listed_at"] for nft in sold]
        lots.append(
            Lot(
                token,
                seller,
                credit=sum(find_credit(nft["listing_price"], basis_points) for nft in sold),
                nfts=len(sold),
                listed_at=None if None in dates else min(filter(None, dates)),
            )
        )
    rest = 1 + bool(basis_points)  # the buyer, and the marketplace
    if len(lots) + rest > MAX_HBAR_TRANSFERS:
        reason = (
            f"{len(lots) + rest} accounts would pay or receive HBAR, and a transfer can have"
            f" {MAX_HBAR_TRANSFERS}: buy from {MAX_HBAR_TRANSFERS - rest} sellers at most at once"
        )
        raise PurchaseImpossible(reason, "TRANSFER_LIST_SIZE_LIMIT_EXCEEDED")
    return lots


def require_few_changes(
    buyer: str, lots: Sequence[Lot], find_token: Callable[[str], LedgerToken]
) -> None:
    """Raise PurchaseImpossible if custom fees make a purchase change too much."""
    owed = [fee for lot in lots for fees in find_owed(lot, find_token(lot.token)) for fee in fees]
    accounts = {buyer, *(lot.seller for lot in lots), *(fee.collector for fee in owed)}
    if current_app.config["SALE_FEE_BASIS_POINTS"]:
        accounts.add(current_app.config["ACCOUNT_ID"])
    nfts = sum(lot.nfts for lot in lots)
    if owed and nfts + len(accounts) > MAX_BALANCE_CHANGES:
        reason = (
            f"{nfts} NFTs and the balances of {len(accounts)} accounts would change, with the collectors of"
            f" custom fees, and a transfer can change {MAX_BALANCE_CHANGES} in all: buy fewer at once"
        )
        raise PurchaseImpossible(reason, "CUSTOM_FEE_CHARGING_EXCEEDED_MAX_ACCOUNT_AMOUNTS")
