"""Checks whether the ledger would let an account buy an NFT, before the marketplace pays for a refusal."""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from marketplace.errors import PurchaseImpossible
from marketplace.hbar import TINYBARS, to_hbar
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.mirror_schemas import Account, Relationship, Token
from marketplace.market.prepare import Ask
from marketplace.market.purchase_fees import require_balance

UNLIMITED = -1
COUNTED_ASSOCIATIONS = 500  # of one account: five pages of them


def list_questions(ask: Ask, seller: str, deadline: Deadline) -> list[Callable[[], object]]:
    """The questions that require_able() takes the answers of, for MirrorNode.ask()."""
    mirror, buyer, token = mirror_node(), ask.account_id, ask.token
    return [
        partial(mirror.find_token, token, deadline),
        partial(mirror.find_account, seller, deadline),
        partial(mirror.find_relationship, seller, token, deadline),
        partial(mirror.find_account, buyer, deadline),
        partial(mirror.find_relationship, buyer, token, deadline),
    ]


def require_able(ask: Ask, seller: str, price: int, answers: Any, deadline: Deadline) -> Token:
    """Raise PurchaseImpossible, with the ledger's own result code, for what would fail at consensus.

    Returns the token. ``price``: in HBAR. Raises the ledger's errors, too.
    """
    found: Token
    found, giver, of_giver, taker, of_taker = answers
    token, buyer, selling = ask.token, ask.account_id, f"{seller}, who sells it,"
    _require(found and not found.is_deleted, f"{token} was deleted", "TOKEN_WAS_DELETED")
    _require(not found.is_paused, f"{token} is paused by its issuer", "TOKEN_IS_PAUSED")
    _require(giver and not giver.is_deleted, f"{selling} was deleted", "ACCOUNT_DELETED")
    unsigned = f"{selling} takes no payment without signing for it"
    _require(not giver.must_sign_to_receive, unsigned, "INVALID_SIGNATURE")
    _require(taker, f"{buyer} is not an account", "INVALID_ACCOUNT_ID")
    _require(not taker.is_deleted, f"{buyer} was deleted", "ACCOUNT_DELETED")
    balance = require_balance(buyer, taker)
    has = f"{buyer} has {to_hbar(balance):,f} HBAR, and the price is {price:,} HBAR"
    _require(balance >= price * TINYBARS, has, "INSUFFICIENT_ACCOUNT_BALANCE")
    if of_taker is None:
        _require_free_association(buyer, taker, token, deadline)
        frozen, kyc = found.freezes_newcomers, found.asks_for_kyc
        of_taker = Relationship(token, is_frozen=frozen, lacks_kyc=kyc)
    for account, its in ((selling, of_giver), (buyer, of_taker)):
        frozen, kyc = its and its.is_frozen, its and its.lacks_kyc
        reason = f"{account} is frozen for {token} by its issuer"
        _require(not frozen, reason, "ACCOUNT_FROZEN_FOR_TOKEN")
        reason = f"{account} lacks the issuer's KYC for {token}"
        _require(not kyc, reason, "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN")
    return found


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
    _require(most, f"{reason}: associate it first", "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
    relationships = mirror_node().list_relationships(account_id, deadline)
    counted = [*islice(relationships, COUNTED_ASSOCIATIONS)]
    taken = sum(relationship.is_automatic for relationship in counted)
    is_free = taken < most and len(counted) < COUNTED_ASSOCIATIONS
    reason = f"{reason}, and may have no automatic association left: associate it first"
    _require(is_free, reason, "NO_REMAINING_AUTOMATIC_ASSOCIATIONS")
