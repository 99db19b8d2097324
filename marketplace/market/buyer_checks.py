"""Checks whether the ledger would refuse a purchase. The marketplace pays even for refused purchases."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import Any

from marketplace.errors import BuyerBalanceTooLow, BuyerNotAssociated, PurchaseImpossible
from marketplace.hedera.hbar import TINYBARS, to_hbar
from marketplace.ledger import Deadline
from marketplace.ledger.objects import LedgerAccount, LedgerToken, Relationship
from marketplace.market.purchase_fees import require_balance
from marketplace.services import mirror_node, services
from marketplace.store.nfts import NftRow

UNLIMITED = -1
COUNTED_ASSOCIATIONS = 500  # of one account, at most: five pages


Question = tuple[str, ...]  # what it is about, and the ids


def list_questions(
    buyer: str, nfts: Sequence[NftRow], deadline: Deadline
) -> dict[Question, Callable[[], object]]:
    """List the questions for MirrorNode.ask(), whose results are Answers."""
    mirror = mirror_node()
    tokens = {nft["token"] for nft in nfts}
    accounts = {buyer, *(nft["owner"] for nft in nfts)}
    holdings = {(nft["owner"], nft["token"]) for nft in nfts} | {(buyer, token) for token in tokens}
    asked: dict[Question, Callable[[], object]] = {}
    for token in tokens:
        asked["token", token] = partial(mirror.find_token, token, deadline)
    for account in accounts:
        asked["account", account] = partial(mirror.find_account, account, deadline)
    for account, token in holdings:
        find = partial(mirror.find_relationship, account, token, deadline)
        asked["relationship", account, token] = find
    return asked


class Answers:
    """What the ledger has about a purchase."""

    def __init__(self, buyer: str, found: Mapping[Question, Any], deadline: Deadline) -> None:
        self.buyer = buyer
        self._found = found
        self._deadline = deadline

    def token(self, token: str) -> LedgerToken:
        """Raises PurchaseImpossible if it was deleted."""
        answer: LedgerToken | None = self._found["token", token]
        if answer is None or answer.is_deleted:
            raise PurchaseImpossible(f"{token} was deleted", "TOKEN_WAS_DELETED")
        return answer

    def account(self, account_id: str) -> LedgerAccount | None:
        answer: LedgerAccount | None = self._found["account", account_id]
        return answer

    def relationship(self, account_id: str, token: str) -> Relationship | None:
        answer: Relationship | None = self._found["relationship", account_id, token]
        return answer

    @cached_property
    def unassociated(self) -> list[str]:
        """The tokens with which the purchase associates the buyer."""
        tokens = [ids[0] for about, *ids in self._found if about == "token"]
        return sorted(token for token in tokens if self.relationship(self.buyer, token) is None)

    @cached_property
    def free_associations(self) -> float:
        """How many automatic associations the buyer has left; 0 if they are too many to count."""
        buyer = self.account(self.buyer)
        most = buyer.max_automatic_associations if buyer else 0
        if most == UNLIMITED:
            return math.inf
        if not most:
            return 0
        relationships = mirror_node().list_relationships(self.buyer, self._deadline)
        counted = [*islice(relationships, COUNTED_ASSOCIATIONS)]
        taken = sum(relationship.is_automatic for relationship in counted)
        return most - taken if len(counted) < COUNTED_ASSOCIATIONS else 0


def require_able(
    nft: NftRow, price: int, answers: Answers, *, seller_signs: bool = False
) -> LedgerAccount:
    """Return the buyer's account. Raises PurchaseImpossible, with the ledger's result code, if an NFT's sale
    would fail at consensus.

    BuyerBalanceTooLow and BuyerNotAssociated are subclasses. ``price``: the whole purchase's price in HBAR.
    ``seller_signs``: whether the seller signs the transaction, too. Also raises the ledger's errors.
    """
    id, seller, buyer = nft["token"], nft["owner"], answers.buyer
    selling = f"The seller {seller}"
    token, of_seller, of_buyer = answers.token(id), answers.account(seller), answers.account(buyer)
    if token.is_paused:
        raise PurchaseImpossible(f"{id} is paused by its issuer", "TOKEN_IS_PAUSED")
    if of_seller is None or of_seller.is_deleted:
        raise PurchaseImpossible(f"{selling} was deleted", "ACCOUNT_DELETED")
    if of_seller.must_sign_to_receive and not seller_signs:
        reason = f"{selling} must sign for each payment to it"
        raise PurchaseImpossible(reason, "INVALID_SIGNATURE")
    of_buyer = require_buyer(buyer, of_buyer)
    balance = require_balance(buyer, of_buyer)
    if balance < price * TINYBARS:
        raise BuyerBalanceTooLow(buyer, to_hbar(balance), price)
    relationship = answers.relationship(buyer, id)
    if relationship is None:
        _require_free_association(id, of_buyer.max_automatic_associations, answers)
        frozen, kyc = token.freezes_newcomers, token.asks_for_kyc
        relationship = Relationship(id, is_frozen=frozen, lacks_kyc=kyc)
    for account, held in ((selling, answers.relationship(seller, id)), (buyer, relationship)):
        if held and held.is_frozen:
            reason = f"{account} is frozen for {id} by its issuer"
            raise PurchaseImpossible(reason, "ACCOUNT_FROZEN_FOR_TOKEN")
        if held and held.lacks_kyc:
            reason = f"{account} lacks the issuer's KYC for {id}"
            raise PurchaseImpossible(reason, "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN")
    return of_buyer


def require_buyer(account_id: str, account: LedgerAccount | None) -> LedgerAccount:
    """Return the account if it can sign. Raises PurchaseImpossible."""
    if account is None:
        raise PurchaseImpossible(f"{account_id} is not an account", "INVALID_ACCOUNT_ID")
    if account.is_deleted:
        raise PurchaseImpossible(f"{account_id} was deleted", "ACCOUNT_DELETED")
    if account.key is None and not services().sandbox:
        reason = f"{account_id} has no key until it signs a transaction that it pays for itself"
        raise PurchaseImpossible(reason, "INVALID_SIGNATURE")
    return account


def _require_free_association(token: str, most: int, answers: Answers) -> None:
    reason = f"{answers.buyer} is not associated with {token}"
    if not most:
        reason = f"{reason}: associate it first"
        raise BuyerNotAssociated(reason, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
    if answers.free_associations < len(answers.unassociated):
        reason = f"{reason}, and may have no automatic association left: associate it first"
        raise BuyerNotAssociated(reason, "NO_REMAINING_AUTOMATIC_ASSOCIATIONS")
