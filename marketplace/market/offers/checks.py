"""Checks, before an offer is made or accepted, that its sale would succeed on the ledger."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from flask import current_app

from marketplace.errors import (
    BidderBalanceTooLow,
    BuyerIsMarketplace,
    BuyerIsOwner,
    KeyShared,
    LedgerUndecided,
    NftGone,
    OffersOff,
    OfferUnknown,
    OwnerIsMarketplace,
    PurchaseImpossible,
)
from marketplace.hedera import times
from marketplace.hedera.hbar import find_credit, to_hbar
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.ledger.mirror_schemas import LedgerAccount, LedgerKey
from marketplace.market import (
    account_key,
    buyer_checks,
    custom_fees,
    purchase_fees,
    reconciler,
    transfer_limits,
)
from marketplace.market.offers.cover import find_need
from marketplace.market.offers.reconciler import reconcile_offers
from marketplace.market.purchase_fees import Payer, require_balance
from marketplace.market.signer import Signer
from marketplace.market.stored_state import is_gone
from marketplace.services import mirror_node, services
from marketplace.store.rows import NftRow, OfferRow


class Sides(NamedTuple):
    """The accounts of an offer that passed the checks, and the marketplace's own."""

    nft: NftRow
    bidder: LedgerAccount
    payer: Payer


def require_on() -> None:
    """Raise OffersOff unless the operator has turned offers on."""
    if not current_app.config["OFFERS"]:
        raise OffersOff("its operator has not turned them on (MARKETPLACE_OFFERS=on)")


def require_signer() -> Signer:
    """The signer, which new offers need. Raises OffersOff if there is none."""
    require_on()
    signer = services().signer
    if signer is None:
        raise OffersOff("it has no signer (MARKETPLACE_ACCOUNT_KEY_FILE)")
    if not current_app.config["SALE_FEE_BUDGET"]:
        raise OffersOff("MARKETPLACE_SALE_FEE_BUDGET is 0")
    return signer


def find_offer(offer_id: str, deadline: Deadline) -> OfferRow:
    """Compare an offer with the ledger, and return the updated row. Raises OfferUnknown."""
    offer = reconcile_offers([offer_id], deadline)[offer_id]
    if offer is None:
        raise OfferUnknown(offer_id)
    return offer


def find_owned(nft_id: NftId, deadline: Deadline) -> NftRow:
    """Reconcile an NFT, whose owner is then certain. Raises LedgerUndecided and NftGone."""
    reconciled = reconciler.reconcile([nft_id], deadline)[nft_id]
    if not reconciled.is_decided or reconciled.nft is None:
        raise LedgerUndecided(*nft_id, reconciled.reason)
    if is_gone(reconciled.nft):
        raise NftGone(*nft_id)
    return reconciled.nft


def require_possible(nft: NftRow, bidder: str, price: int, deadline: Deadline) -> Sides:
    """Raise an error if the sale of an NFT for a price in HBAR would fail, or if nobody may offer it.

    Raises BuyerIsOwner, BuyerIsMarketplace, OwnerIsMarketplace, KeyShared; PurchaseImpossible and its kinds,
    FeesInTokens, NothingLeftForSeller; and the ledger's errors.
    """
    market, seller = current_app.config["ACCOUNT_ID"], nft["owner"]
    if bidder == market:
        raise BuyerIsMarketplace(bidder)
    if seller == market:
        raise OwnerIsMarketplace(seller)
    if seller == bidder:
        raise BuyerIsOwner(bidder, nft["token"], nft["serial_no"])
    # The owner agrees to the fees of today by signing.
    agreed_at = times.to_iso(times.now())
    sold: NftRow = {**nft, "listing_price": price, "last_listed_at": agreed_at}
    questions = buyer_checks.list_questions(bidder, [sold], deadline)
    payer, *found = mirror_node().ask(
        partial(purchase_fees.find_payer, deadline), *questions.values()
    )
    answers = buyer_checks.Answers(bidder, dict(zip(questions, found, strict=True)), deadline)
    buyer_checks.require_able(sold, price, answers, seller_signs=True)
    credit = find_credit(price, current_app.config["SALE_FEE_BASIS_POINTS"])
    sale = custom_fees.Sale(nft["token"], seller, credit, agreed_at)
    custom_fees.require_payable(sale, answers.token(nft["token"]))
    transfer_limits.require_few_changes(bidder, [sale], answers.token)
    buyer, owner = answers.account(bidder), answers.account(seller)
    assert buyer and owner  # noqa: S101 - require_able() has seen both
    _require_keys([buyer, owner])
    _require_other_keys([buyer, owner], list_market_keys(payer))
    need = find_need(price, bool(answers.unassociated), deadline)
    balance = require_balance(bidder, buyer)
    if balance < need:
        raise BidderBalanceTooLow(bidder, to_hbar(balance), to_hbar(need))
    return Sides(nft, buyer, payer)


def list_market_keys(payer: Payer) -> Sequence[bytes]:
    """The public keys that can sign for the marketplace's account, as far as they are known."""
    signer = services().signer
    own = getattr(signer.load(), "public_key", None) if signer else None
    return account_key.find_keys(payer.account) or ([own] if own else [])


def _require_keys(accounts: Sequence[LedgerAccount]) -> None:
    """Raise PurchaseImpossible if an account is hollow: it cannot sign a schedule.

    Accepts the sandbox's demo wallet, whose accounts have no key before they sign.
    """
    for account in accounts:
        if account.key is None and not services().sandbox:
            reason = f"{account.id} is hollow: it has no key before it has paid for a transaction"
            raise PurchaseImpossible(reason, "UNRESOLVABLE_REQUIRED_SIGNERS")


def _require_other_keys(accounts: Sequence[LedgerAccount], keys: Sequence[bytes]) -> None:
    """Raise KeyShared if an account's key contains one of these keys.

    The marketplace signs each offer's schedule. With a shared key, it would sign for the account, too.
    """
    for account in accounts:
        if any(has_key(account.key, key) for key in keys):
            raise KeyShared(account.id)


def has_key(key: LedgerKey | None, public_key: bytes) -> bool:
    """Whether a key is this public key, or a list that contains it."""
    return key is not None and public_key in key.content
