"""Checks, before an offer is made or accepted, that its sale would succeed; and whether bidders can pay."""

from collections import ChainMap, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from flask import current_app

from marketplace.errors import (
    AccountIsMarketplace,
    BidderBalanceTooLow,
    BuyerIsOwner,
    LedgerAnswerInvalid,
    LedgerUndecided,
    LedgerUnreachable,
    NftGone,
    PurchaseImpossible,
)
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS, find_credit, to_hbar
from marketplace.hedera.ids import NftId
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.objects import LedgerAccount, LedgerKey, LedgerToken
from marketplace.market import reconciler, sale_checks
from marketplace.market.buying.fees import ASSOCIATION_CENTS, max_fee
from marketplace.services import mirror_node, services, write
from marketplace.store import offers
from marketplace.store.nfts import NftRow, is_gone
from marketplace.store.offers import OfferRow


class Sides(NamedTuple):
    """The accounts of an offer that passed the checks, and what the owner would receive."""

    bidder: LedgerAccount
    owner: LedgerAccount
    received: int  # tinybars


def find_owned(nft_id: NftId, deadline: Deadline) -> NftRow:
    """Reconcile an NFT, whose owner is then certain. Raises LedgerUndecided and NftGone."""
    reconciled = reconciler.reconcile([nft_id], deadline)[nft_id]
    if not reconciled.is_decided or reconciled.nft is None:
        raise LedgerUndecided(*nft_id, reconciled.reason)
    if is_gone(reconciled.nft):
        raise NftGone(*nft_id)
    return reconciled.nft


def find_part(price: int) -> int:
    """The marketplace's part of a price in HBAR, in tinybars."""
    return price * TINYBARS - find_credit(price, current_app.config["SALE_FEE_BASIS_POINTS"])


def require_possible(nft: NftRow, bidder: str, price: int, part: int, deadline: Deadline) -> Sides:
    """Raise an error if the sale of an NFT for a price in HBAR would fail, or if nobody may offer it."""
    market, seller = current_app.config["ACCOUNT_ID"], nft["owner"]
    if bidder == market:
        raise AccountIsMarketplace(bidder)
    if seller == bidder:
        raise BuyerIsOwner(bidder, nft["token"], nft["serial_no"])
    sold: NftRow = {**nft, "listing_price": price}
    answers = sale_checks.ask(bidder, [sold], deadline)
    buyer, owner = answers.accounts[bidder], answers.accounts[seller]
    _require_keys([account for account in (buyer, owner) if account])
    sale_checks.require_able(sold, price, answers, seller_signs=True)
    token = answers.token(nft["token"])
    lot = sale_checks.Lot(nft["token"], seller, price * TINYBARS - part)
    sale_checks.require_unchangeable(lot.token, token)
    received = sale_checks.find_received(lot, token)
    sale_checks.require_few_changes(bidder, [lot], answers.token)
    assert buyer and owner  # noqa: S101 - require_able() has seen both
    _require_receivers(nft["token"], token, market if part and market != seller else None, deadline)
    need = find_need(price, bool(answers.unassociated), deadline)
    balance = sale_checks.find_balance(bidder, buyer)
    if balance < need:
        raise BidderBalanceTooLow(bidder, to_hbar(balance), to_hbar(need))
    return Sides(buyer, owner, received)


def find_key(account: LedgerAccount) -> LedgerKey | None:
    """An account's key. In the sandbox, an account that has not signed yet has the demo wallet's."""
    sandbox = services().sandbox
    if account.key is None and sandbox:
        return LedgerKey("ED25519", sandbox.find_key(account.id))
    return account.key


def _require_keys(accounts: Sequence[LedgerAccount]) -> None:
    """Raise PurchaseImpossible if an account is hollow: it cannot sign a schedule."""
    for account in accounts:
        if find_key(account) is None:
            reason = f"{account.id} is hollow: it has no key before it has paid for a transaction"
            raise PurchaseImpossible(reason, "UNRESOLVABLE_REQUIRED_SIGNERS")


def _require_receivers(
    token_id: str, token: LedgerToken, market: str | None, deadline: Deadline
) -> None:
    """Raise PurchaseImpossible if a collector of fees, or the marketplace, cannot receive its part.

    The marketplace does not sign a schedule, so it must not have to sign for payments.
    """
    collectors = {fee.collector for fee in token.royalties or ()}
    collectors |= {fee.collector for fee in token.fixed_fees or ()}
    ids = sorted(collectors | ({market} if market else set()))
    find = partial(mirror_node().find_account, deadline=deadline)
    for id, account in zip(ids, mirror_node().ask(*(partial(find, id) for id in ids)), strict=True):
        if account is None or account.is_deleted:
            reason = f"{id}, which receives a part of each price of {token_id}, was deleted"
            raise PurchaseImpossible(reason, "ACCOUNT_DELETED")
        if id == market and account.must_sign_to_receive:
            reason = f"The marketplace's account {id} must sign for each payment to it"
            raise PurchaseImpossible(reason, "INVALID_SIGNATURE")


# Cover: whether bidders can pay for their offers, as their accounts are now


def find_need(price: int, needs_association: bool, deadline: Deadline) -> int:
    """What the bidder's balance must cover, in tinybars: the price, the fee, and an association if needed.

    Raises the ledger's errors.
    """
    association = mirror_node().find_price(ASSOCIATION_CENTS, deadline) if needs_association else 0
    return price * TINYBARS + max_fee(1) + association


def covers(bidder: LedgerAccount | None, token: str, price: int, deadline: Deadline) -> bool:
    """Tell whether a bidder can pay, and can receive an NFT of the token."""
    if bidder is None or bidder.is_deleted or bidder.balance is None:
        return False
    if bidder.balance < find_need(price, needs_association=False, deadline=deadline):
        return False
    if mirror_node().find_relationship(bidder.id, token, deadline):
        return True
    if not bidder.max_automatic_associations:
        return False
    return bidder.balance >= find_need(price, needs_association=True, deadline=deadline)


def look_at_cover(offer: OfferRow, deadline: Deadline) -> None:
    """Store whether its bidder can pay for an offer. Raises the ledger's and the database's errors."""
    _mark_covered(_find_covered([offer], deadline))


def look_at_covers(rows: Iterable[OfferRow]) -> None:
    """Store whether bidders can pay for offers, with at most three requests for each offer.

    If the mirror node's answer about a bidder is invalid or missing, that bidder's offers stay unchanged
    until the next look. Raises the ledger's errors if the mirror node does not answer at all.
    """
    of_bidder = defaultdict[str, list[OfferRow]](list)
    for row in rows:
        of_bidder[row["bidder"]].append(row)
    if of_bidder:
        mirror_node().recall_present(Deadline(UNHURRIED_SECONDS))
        questions = [partial(_look_at_bidder, each) for each in of_bidder.values()]
        _mark_covered(dict(ChainMap(*mirror_node().ask(*questions))))


def _look_at_bidder(rows: Sequence[OfferRow]) -> dict[str, bool]:
    """Tell which of a bidder's offers are covered. If the ledger does not say, return the stored values."""
    try:
        return _find_covered(rows, Deadline(UNHURRIED_SECONDS))
    except (LedgerUnreachable, LedgerAnswerInvalid) as error:
        bidder = rows[0]["bidder"]
        current_app.logger.warning("It is not known whether %s can pay: %s", bidder, error)
        return {row["schedule_id"]: bool(row["is_covered"]) for row in rows}


def _find_covered(rows: Sequence[OfferRow], deadline: Deadline) -> dict[str, bool]:
    """Ask the ledger which of one bidder's offers are covered."""
    bidder = mirror_node().find_account(rows[0]["bidder"], deadline)
    return {
        row["schedule_id"]: covers(bidder, row["token"], row["price"], deadline) for row in rows
    }


def _mark_covered(covered: Mapping[str, bool]) -> None:
    now = times.to_iso(times.now())
    with write() as db:
        for schedule_id in sorted(covered):
            offers.mark_covered(db, schedule_id, covered[schedule_id], now)
