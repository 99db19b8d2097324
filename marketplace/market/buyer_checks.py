"""Whether the ledger would let an account buy an NFT: looked up before the marketplace pays for a refusal."""

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


class Standing(NamedTuple):
    """The accounts and relationships of a sale, as the ledger has them; None for a missing one."""

    token: Token | None
    seller: Account | None
    of_seller: Relationship | None
    buyer: Account | None
    of_buyer: Relationship | None


def look_up(
    account_id: str, seller: str, token: str, deadline: Deadline
) -> list[Callable[[], object]]:
    """The questions of a Standing, for MirrorNode.ask()."""
    mirror = mirror_node()
    return [
        partial(mirror.find_token, token, deadline),
        partial(mirror.find_account, seller, deadline),
        partial(mirror.find_relationship, seller, token, deadline),
        partial(mirror.find_account, account_id, deadline),
        partial(mirror.find_relationship, account_id, token, deadline),
    ]


def require_able(
    account_id: str, seller: str, token: str, price: int, standing: Standing, deadline: Deadline
) -> Token:
    """Raise PurchaseImpossible, with the ledger's own result code, for what would fail at consensus.

    Returns the token. ``price``: in HBAR. Raises the ledger's errors, too.
    """
    traded = _require_tradable(token, standing.token)
    _require_payable(seller, standing.seller)
    if standing.of_seller:
        _require_good_standing(f"{seller}, who sells it,", standing.of_seller, token)
    buyer, relationship = standing.buyer, standing.of_buyer
    if buyer is None:
        raise PurchaseImpossible(f"{account_id} is not an account", "INVALID_ACCOUNT_ID")
    if buyer.is_deleted:
        raise PurchaseImpossible(f"{account_id} was deleted", "ACCOUNT_DELETED")
    _require_balance(account_id, buyer, price)
    if relationship is None:
        _require_free_association(account_id, buyer, token, deadline)
        relationship = Relationship(
            token,
            is_automatic=True,
            is_frozen=traded.freezes_newcomers,
            lacks_kyc=traded.asks_for_kyc,
        )
    _require_good_standing(account_id, relationship, token)
    return traded


def _require_tradable(token: str, found: Token | None) -> Token:
    if found is None or found.is_deleted:
        raise PurchaseImpossible(f"{token} was deleted", "TOKEN_WAS_DELETED")
    if found.is_paused:
        raise PurchaseImpossible(f"{token} is paused by its issuer", "TOKEN_IS_PAUSED")
    return found


def _require_payable(seller: str, found: Account | None) -> None:
    if found is None or found.is_deleted:
        raise PurchaseImpossible(f"{seller}, who sells it, was deleted", "ACCOUNT_DELETED")
    if found.must_sign_to_receive:
        raise PurchaseImpossible(
            f"{seller}, who sells it, takes no payment without signing for it", "INVALID_SIGNATURE"
        )


def _require_balance(account_id: str, buyer: Account, price: int) -> None:
    if buyer.balance is None:
        raise LedgerAnswerInvalid(f"/accounts/{account_id}: it tells no balance")
    if buyer.balance < price * TINYBARS:
        has = to_hbar(buyer.balance)
        raise PurchaseImpossible(
            f"{account_id} has {has:,f} HBAR, and the price is {price:,} HBAR",
            "INSUFFICIENT_ACCOUNT_BALANCE",
        )


def _require_free_association(
    account_id: str, buyer: Account, token: str, deadline: Deadline
) -> None:
    most = buyer.max_automatic_associations
    if most == UNLIMITED:
        return
    if most == 0:
        raise PurchaseImpossible(
            f"{account_id} is not associated with {token}: associate it first",
            "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT",
        )
    relationships = mirror_node().list_relationships(account_id, deadline)
    counted = [*islice(relationships, COUNTED_ASSOCIATIONS)]
    taken = sum(relationship.is_automatic for relationship in counted)
    if taken >= most or len(counted) == COUNTED_ASSOCIATIONS:
        raise PurchaseImpossible(
            f"{account_id} is not associated with {token}, and may have no automatic association left:"
            " associate it first",
            "NO_REMAINING_AUTOMATIC_ASSOCIATIONS",
        )


def _require_good_standing(who: str, relationship: Relationship, token: str) -> None:
    if relationship.is_frozen:
        raise PurchaseImpossible(
            f"{who} is frozen for {token} by its issuer", "ACCOUNT_FROZEN_FOR_TOKEN"
        )
    if relationship.lacks_kyc:
        raise PurchaseImpossible(
            f"{who} lacks the issuer's KYC for {token}", "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"
        )
