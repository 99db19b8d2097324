"""Checks whether the ledger would let an account buy an NFT, before the marketplace pays for a refusal."""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import NamedTuple

from marketplace.errors import LedgerAnswerInvalid, PurchaseImpossible
from marketplace.hbar import TINYBARS, to_hbar
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.mirror_schemas import Account, Relationship, Token

UNLIMITED = -1
COUNTED_ASSOCIATIONS = 500  # of one account: five pages of them


class Parties(NamedTuple):
    """The token, seller and buyer of a sale, as the ledger has them; None for a missing one."""

    token_id: str
    seller_id: str
    buyer_id: str
    token: Token | None
    seller: Account | None
    of_seller: Relationship | None
    buyer: Account | None
    of_buyer: Relationship | None


def list_questions(
    buyer: str, seller: str, token: str, deadline: Deadline
) -> list[Callable[[], object]]:
    """The questions about the Parties, in their order, for MirrorNode.ask()."""
    mirror = mirror_node()
    return [
        partial(mirror.find_token, token, deadline),
        partial(mirror.find_account, seller, deadline),
        partial(mirror.find_relationship, seller, token, deadline),
        partial(mirror.find_account, buyer, deadline),
        partial(mirror.find_relationship, buyer, token, deadline),
    ]


def require_able(parties: Parties, price: int, deadline: Deadline) -> Token:
    """Raise PurchaseImpossible, with the ledger's own result code, for what would fail at consensus.

    Returns the token. ``price``: in HBAR. Raises the ledger's errors, too.
    """
    token_id, seller_id, buyer_id, token, seller, of_seller, buyer, of_buyer = parties
    if token is None or token.is_deleted:
        raise PurchaseImpossible(f"{token_id} was deleted", "TOKEN_WAS_DELETED")
    if token.is_paused:
        raise PurchaseImpossible(f"{token_id} is paused by its issuer", "TOKEN_IS_PAUSED")
    selling = f"{seller_id}, who sells it,"
    if seller is None or seller.is_deleted:
        raise PurchaseImpossible(f"{selling} was deleted", "ACCOUNT_DELETED")
    if seller.must_sign_to_receive:
        reason = f"{selling} takes no payment without signing for it"
        raise PurchaseImpossible(reason, "INVALID_SIGNATURE")
    if buyer is None:
        raise PurchaseImpossible(f"{buyer_id} is not an account", "INVALID_ACCOUNT_ID")
    if buyer.is_deleted:
        raise PurchaseImpossible(f"{buyer_id} was deleted", "ACCOUNT_DELETED")
    _require_balance(buyer_id, buyer, price)
    if of_buyer is None:
        _require_free_association(buyer_id, buyer, token_id, deadline)
        frozen, kyc = token.freezes_newcomers, token.asks_for_kyc
        of_buyer = Relationship(token_id, is_frozen=frozen, lacks_kyc=kyc)
    for account, relationship in ((selling, of_seller), (buyer_id, of_buyer)):
        if relationship and relationship.is_frozen:
            reason = f"{account} is frozen for {token_id} by its issuer"
            raise PurchaseImpossible(reason, "ACCOUNT_FROZEN_FOR_TOKEN")
        if relationship and relationship.lacks_kyc:
            reason = f"{account} lacks the issuer's KYC for {token_id}"
            raise PurchaseImpossible(reason, "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN")
    return token


def _require_balance(account_id: str, buyer: Account, price: int) -> None:
    if buyer.balance is None:
        raise LedgerAnswerInvalid(f"/accounts/{account_id}: it tells no balance")
    if buyer.balance < price * TINYBARS:
        has = to_hbar(buyer.balance)
        reason = f"{account_id} has {has:,f} HBAR, and the price is {price:,} HBAR"
        raise PurchaseImpossible(reason, "INSUFFICIENT_ACCOUNT_BALANCE")


def _require_free_association(
    account_id: str, buyer: Account, token: str, deadline: Deadline
) -> None:
    most = buyer.max_automatic_associations
    if most == UNLIMITED:
        return
    reason = f"{account_id} is not associated with {token}"
    if most == 0:
        reason = f"{reason}: associate it first"
        raise PurchaseImpossible(reason, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
    relationships = mirror_node().list_relationships(account_id, deadline)
    counted = [*islice(relationships, COUNTED_ASSOCIATIONS)]
    taken = sum(relationship.is_automatic for relationship in counted)
    if taken >= most or len(counted) == COUNTED_ASSOCIATIONS:
        reason = f"{reason}, and may have no automatic association left: associate it first"
        raise PurchaseImpossible(reason, "NO_REMAINING_AUTOMATIC_ASSOCIATIONS")
