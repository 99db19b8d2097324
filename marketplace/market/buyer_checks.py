"""Checks whether the ledger would refuse a purchase: the marketplace pays for refused ones, too."""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from marketplace.errors import BuyerBalanceTooLow, BuyerNotAssociated, PurchaseImpossible
from marketplace.hedera.hbar import TINYBARS, to_hbar
from marketplace.ledger import Deadline
from marketplace.ledger.mirror_schemas import Account, Relationship, Token
from marketplace.market.prepare import Ask
from marketplace.market.purchase_fees import require_balance
from marketplace.services import mirror_node

UNLIMITED = -1
COUNTED_ASSOCIATIONS = 500  # of one account, at most: five pages


def list_questions(ask: Ask, seller: str, deadline: Deadline) -> list[Callable[[], object]]:
    """List the questions for MirrorNode.ask(). require_able() takes their answers."""
    mirror, buyer, token = mirror_node(), ask.account_id, ask.token
    return [
        partial(mirror.find_token, token, deadline),
        partial(mirror.find_account, seller, deadline),
        partial(mirror.find_relationship, seller, token, deadline),
        partial(mirror.find_account, buyer, deadline),
        partial(mirror.find_relationship, buyer, token, deadline),
    ]


def require_able(ask: Ask, seller: str, price: int, answers: Any, deadline: Deadline) -> Token:
    """Raise PurchaseImpossible, with the ledger's result code, if the purchase would fail at consensus.

    BuyerBalanceTooLow and BuyerNotAssociated are two kinds of it. Returns the token. ``price``: in HBAR. Also
    raises the ledger's errors.
    """
    found: Token
    found, seller_account, of_seller, buyer_account, of_buyer = answers
    token, buyer, selling = ask.token, ask.account_id, f"The seller {seller}"
    _require(found and not found.is_deleted, f"{token} was deleted", "TOKEN_WAS_DELETED")
    _require(not found.is_paused, f"{token} is paused by its issuer", "TOKEN_IS_PAUSED")
    is_there = seller_account and not seller_account.is_deleted
    _require(is_there, f"{selling} was deleted", "ACCOUNT_DELETED")
    unsigned = f"{selling} must sign for each payment to it"
    _require(not seller_account.must_sign_to_receive, unsigned, "INVALID_SIGNATURE")
    _require(buyer_account, f"{buyer} is not an account", "INVALID_ACCOUNT_ID")
    _require(not buyer_account.is_deleted, f"{buyer} was deleted", "ACCOUNT_DELETED")
    balance = require_balance(buyer, buyer_account)
    if balance < price * TINYBARS:
        raise BuyerBalanceTooLow(buyer, to_hbar(balance), price)
    if of_buyer is None:
        _require_free_association(buyer, buyer_account, token, deadline)
        frozen, kyc = found.freezes_newcomers, found.asks_for_kyc
        of_buyer = Relationship(token, is_frozen=frozen, lacks_kyc=kyc)
    for account, of_account in ((selling, of_seller), (buyer, of_buyer)):
        frozen, kyc = of_account and of_account.is_frozen, of_account and of_account.lacks_kyc
        reason = f"{account} is frozen for {token} by its issuer"
        _require(not frozen, reason, "ACCOUNT_FROZEN_FOR_TOKEN")
        reason = f"{account} lacks the issuer's KYC for {token}"
        _require(not kyc, reason, "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN")
    return found


def associates(answers: Any) -> bool:
    """Whether the purchase associates the buyer with the token."""
    return answers[-1] is None


def _require(is_fine: object, reason: str, result: str) -> None:
    if not is_fine:
        raise PurchaseImpossible(reason, result)


def _require_free_association(
    account_id: str, buyer: Account, token: str, deadline: Deadline
) -> None:
    most = buyer.max_automatic_associations
    if most == UNLIMITED:
        return
    reason = f"{account_id} is not associated with {token}"
    if not most:
        reason = f"{reason}: associate it first"
        raise BuyerNotAssociated(reason, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
    relationships = mirror_node().list_relationships(account_id, deadline)
    counted = [*islice(relationships, COUNTED_ASSOCIATIONS)]
    taken = sum(relationship.is_automatic for relationship in counted)
    is_free = taken < most and len(counted) < COUNTED_ASSOCIATIONS
    if not is_free:
        reason = f"{reason}, and may have no automatic association left: associate it first"
        raise BuyerNotAssociated(reason, "NO_REMAINING_AUTOMATIC_ASSOCIATIONS")
