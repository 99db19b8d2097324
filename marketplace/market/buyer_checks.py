"""Checks whether the ledger would refuse a purchase: the marketplace pays for refused ones, too."""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import NamedTuple

from marketplace.errors import BuyerBalanceTooLow, BuyerNotAssociated, PurchaseImpossible
from marketplace.hedera.hbar import TINYBARS, to_hbar
from marketplace.ledger import Deadline
from marketplace.ledger.mirror_schemas import LedgerAccount, LedgerToken, Relationship
from marketplace.market.prepare import TransactionRequest
from marketplace.market.purchase_fees import require_balance
from marketplace.services import mirror_node

UNLIMITED = -1
COUNTED_ASSOCIATIONS = 500  # of one account, at most: five pages


class Answers(NamedTuple):
    """What the ledger has about a purchase, in the order of list_questions()."""

    token: LedgerToken | None
    seller: LedgerAccount | None
    of_seller: Relationship | None
    buyer: LedgerAccount | None
    of_buyer: Relationship | None  # None: the purchase associates the buyer with the token


def list_questions(
    request: TransactionRequest, seller: str, deadline: Deadline
) -> list[Callable[[], object]]:
    """List the questions for MirrorNode.ask(), whose results are Answers."""
    mirror, buyer, token = mirror_node(), request.account_id, request.token
    return [
        partial(mirror.find_token, token, deadline),
        partial(mirror.find_account, seller, deadline),
        partial(mirror.find_relationship, seller, token, deadline),
        partial(mirror.find_account, buyer, deadline),
        partial(mirror.find_relationship, buyer, token, deadline),
    ]


def require_able(
    request: TransactionRequest, seller: str, price: int, answers: Answers, deadline: Deadline
) -> LedgerToken:
    """Raise PurchaseImpossible, with the ledger's result code, if the purchase would fail at consensus.

    BuyerBalanceTooLow and BuyerNotAssociated are two kinds of it. Returns the token. ``price``: in HBAR. Also
    raises the ledger's errors.
    """
    id, buyer, selling = request.token, request.account_id, f"The seller {seller}"
    token = answers.token
    if token is None or token.is_deleted:
        raise PurchaseImpossible(f"{id} was deleted", "TOKEN_WAS_DELETED")
    if token.is_paused:
        raise PurchaseImpossible(f"{id} is paused by its issuer", "TOKEN_IS_PAUSED")
    if answers.seller is None or answers.seller.is_deleted:
        raise PurchaseImpossible(f"{selling} was deleted", "ACCOUNT_DELETED")
    if answers.seller.must_sign_to_receive:
        reason = f"{selling} must sign for each payment to it"
        raise PurchaseImpossible(reason, "INVALID_SIGNATURE")
    if answers.buyer is None:
        raise PurchaseImpossible(f"{buyer} is not an account", "INVALID_ACCOUNT_ID")
    if answers.buyer.is_deleted:
        raise PurchaseImpossible(f"{buyer} was deleted", "ACCOUNT_DELETED")
    balance = require_balance(buyer, answers.buyer)
    if balance < price * TINYBARS:
        raise BuyerBalanceTooLow(buyer, to_hbar(balance), price)
    of_buyer = answers.of_buyer
    if of_buyer is None:
        _require_free_association(buyer, answers.buyer, id, deadline)
        frozen, kyc = token.freezes_newcomers, token.asks_for_kyc
        of_buyer = Relationship(id, is_frozen=frozen, lacks_kyc=kyc)
    for account, relationship in ((selling, answers.of_seller), (buyer, of_buyer)):
        if relationship and relationship.is_frozen:
            reason = f"{account} is frozen for {id} by its issuer"
            raise PurchaseImpossible(reason, "ACCOUNT_FROZEN_FOR_TOKEN")
        if relationship and relationship.lacks_kyc:
            reason = f"{account} lacks the issuer's KYC for {id}"
            raise PurchaseImpossible(reason, "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN")
    return token


def _require_free_association(
    account_id: str, buyer: LedgerAccount, token: str, deadline: Deadline
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
