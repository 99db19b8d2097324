"""Buying an NFT: the transaction that the marketplace signs, and pays for, before the buyer signs it."""

from functools import partial
from typing import Any, NamedTuple

from flask import current_app

from marketplace.counts import count
from marketplace.errors import (
    BalanceTooLow,
    BuyerIsMarketplace,
    BuyerIsOwner,
    BuyingOff,
    ClockBehind,
    FeesSpent,
    LedgerBehind,
    LedgerUndecided,
    MarketplaceError,
    NotListed,
    OperatorNeeded,
    PriceChanged,
    shown,
)
from marketplace.hedera import times
from marketplace.hedera.hbar import find_credit, to_hbar
from marketplace.hedera.ids import TransactionId
from marketplace.ledger import Deadline
from marketplace.market import (
    buyer_checks,
    custom_fees,
    fee_budget,
    purchase_fees,
    recheck_queue,
    reconciler,
)
from marketplace.market.add_nft import find_account_id, require_nft
from marketplace.market.memos import purchase_memo
from marketplace.market.nodes import next_node
from marketplace.market.prepare import START_BEFORE_NOW, Ask, PreparedTransaction, insert
from marketplace.market.purchase_fees import VALID_SECONDS
from marketplace.market.signer import Signer
from marketplace.market.throttled_log import warn_once_a_minute
from marketplace.services import mirror_node, services
from marketplace.store import following, nfts, prepared_transactions
from marketplace.store.database import read, write

HANDED_OUT_SECONDS = 15  # an open purchase that stays valid for so long is handed out again
# The largest difference between our clock and the end of the mirror node's last block.
MOST_APART = 15 * times.SECOND


class Cost(NamedTuple):
    """The highest cost of a purchase, and the balance of the marketplace's account, in tinybars."""

    fee: int
    balance: int
    associates: bool  # whether the purchase associates the buyer


def prepare(ask: Ask) -> PreparedTransaction:
    """Build, reserve and sign the transaction by which an account buys an NFT for its current price.

    If the same caller repeats a request, he gets the same transaction while it can still be signed in time.
    Another caller gets a separate one: anybody can use up a transaction by submitting it unsigned.

    Raises BuyingOff, AccountNotOnLedger; NftNotStored, NotListed, BuyerIsOwner, BuyerIsMarketplace,
    PriceChanged, PurchaseImpossible, AssociationNotPaid; LedgerBehind, LedgerUndecided and the ledger's
    errors; TooManyPurchases, FeesSpent, OperatorNeeded; SignerFailed. Then nothing is reserved.
    """
    try:
        prepared = _prepare(ask)
    except MarketplaceError as error:
        count("purchases", outcome=type(error).__name__)
        if isinstance(error, FeesSpent | OperatorNeeded):
            warn_once_a_minute(
                "Refused to sign a purchase for %s (access token %s, end user %s): %s",
                ask.account_id,
                *map(shown, ask.caller),
                error,
            )
        raise
    count("purchases", outcome="signed")
    return prepared


def _prepare(ask: Ask) -> PreparedTransaction:
    signer = _signer()
    deadline = Deadline(reconciler.LEDGER_SECONDS)
    ask = ask._replace(account_id=find_account_id(ask.account_id, deadline))
    require_nft(ask.token, ask.serial_no)
    if not _find_open(read(), ask):  # refuse before the ledger is asked
        fee_budget.require_room(read(), ask.caller, purchase_fees.max_fee())
    # Before the price is read: so the price was in force after the purchase became valid.
    present = _find_present(deadline)
    nft = _find_offer(ask, deadline)
    cost = _look_up(ask, nft, deadline)
    row = _reserve(ask, nft, cost, present)
    if not row["signed"]:
        row = _sign(signer, ask, row, cost.balance)
    return PreparedTransaction(ask.account_id, bytes(row["signed"]))


def _signer() -> Signer:
    signer = services().signer
    if signer is None or not current_app.config["SALE_FEE_BUDGET"]:
        raise BuyingOff(has_signer=signer is not None)
    return signer


def _find_open(db: Any, ask: Ask, price: int | None = None, seller: str | None = None) -> Any:
    """Find an open purchase of the same request that can still be signed in time; at any price if None."""
    until = times.to_iso(times.now() + HANDED_OUT_SECONDS * times.SECOND)
    row = prepared_transactions.get_open_purchase(db, ask.columns(), until)
    is_same = row and (price is None or (row["price"], row["seller"]) == (price, seller))
    return row if is_same else None


def _find_present(deadline: Deadline) -> int:
    """The end of the mirror node's last block. Raises LedgerBehind or ClockBehind if our clock is far off."""
    present = mirror_node().find_present(deadline)
    behind = times.now() - present
    if behind > MOST_APART:
        raise LedgerBehind(behind // times.SECOND)
    if -behind > MOST_APART:
        raise ClockBehind(-behind // times.SECOND)
    return present


def _find_offer(ask: Ask, deadline: Deadline) -> Any:
    """Reconcile the NFT, and require that it is for sale to the account."""
    keys = ask.token, ask.serial_no
    line = reconciler.refresh(*keys, deadline, force=True)
    if not line.is_decided:
        raise LedgerUndecided(*keys, line.reason)
    nft = line.nft
    if not nft["is_for_sale"]:
        raise NotListed(*keys)
    if nft["owner"] == ask.account_id:
        raise BuyerIsOwner(ask.account_id, *keys)
    if ask.account_id == current_app.config["ACCOUNT_ID"]:
        raise BuyerIsMarketplace(ask.account_id)
    if ask.expected_price not in (None, nft["listing_price"]):
        raise PriceChanged(*keys, ask.expected_price, nft["listing_price"])
    return nft


def _look_up(ask: Ask, nft: Any, deadline: Deadline) -> Cost:
    """Ask the ledger what the purchase can cost.

    Raises PurchaseImpossible, BalanceTooLow, and the ledger's errors.
    """
    seller, price = nft["owner"], nft["listing_price"]
    fee, balance, *found = mirror_node().ask(
        partial(purchase_fees.find_max_cost, deadline),
        partial(purchase_fees.find_balance, deadline),
        *buyer_checks.list_questions(ask, seller, deadline),
    )
    token = buyer_checks.require_able(ask, seller, price, found, deadline)
    credit = find_credit(price, current_app.config["SALE_FEE_BASIS_POINTS"])
    sale = custom_fees.Sale(ask.token, seller, credit, nft["last_listed_at"])
    custom_fees.require_payable(sale, token)
    if balance < fee:
        purchase_fees.note_balance(balance)
        raise BalanceTooLow(to_hbar(balance))
    return Cost(fee, balance, associates=buyer_checks.associates(found))


def _reserve(ask: Ask, nft: Any, cost: Cost, present: int) -> Any:
    """Return the open purchase of the same request, or insert one. The new row reserves the fee."""
    price, seller = nft["listing_price"], nft["owner"]
    now, settings = times.now(), current_app.config
    columns = {
        "price": price,
        "memo": purchase_memo(ask.token, ask.serial_no, price, settings["NAME"]),
        "seller": seller,
        "fee_tinybars": cost.fee,
        "is_settled": 0,
        "prepared_at": times.to_iso(now),
    }
    payer = settings["ACCOUNT_ID"]
    # Not later than the mirror node's last block, and early enough for a node whose clock is a little behind.
    valid_start = min(present, now - START_BEFORE_NOW)
    with write() as db:
        prepared_transactions.lock_purchases(db, cost.balance)
        _require_newest(db, nft, present)
        if known := _find_open(db, ask, price, seller):
            return known
        held = fee_budget.require_room(db, ask.caller, cost.fee, cost.balance)
        if cost.associates:
            fee_budget.require_association_paid(ask, cost.fee, held)
        return insert(db, "purchase", ask, payer, valid_start, VALID_SECONDS, **columns)


def _require_newest(db: Any, nft: Any, present: int) -> None:
    """Raise LedgerUndecided if the watcher has stored, or has queued, a newer change of the NFT meanwhile.

    It follows the ledger, while the replica of the mirror node that was asked here may lag.
    """
    keys = nft["token"], nft["serial_no"]
    queued = following.get_recheck(db, "nft", *keys)
    if queued and not recheck_queue.is_new_enough(queued, nft["ledger_at"], present):
        raise LedgerUndecided(*keys, "it does not show a later transaction yet")
    stored = nfts.get_nft(db, *keys)
    if stored is None or stored["ledger_at"] != nft["ledger_at"]:
        raise LedgerUndecided(*keys, "it has just changed")


def _sign(signer: Signer, ask: Ask, row: Any, balance: int) -> Any:
    """Return the signed row, or the row of an equal request that was faster. Raises SignerFailed."""
    try:
        signed = _build_and_sign(signer, row)
        with write() as db:
            prepared_transactions.lock_purchases(db, balance)
            if known := _find_open(db, ask, row["price"], row["seller"]):
                prepared_transactions.delete_purchase(db, row["transaction_id"])
                return known
            return prepared_transactions.mark_signed(db, row["transaction_id"], signed)
    except BaseException:
        with write() as db:
            prepared_transactions.delete_purchase(db, row["transaction_id"])
        raise


def _build_and_sign(signer: Signer, row: Any) -> bytes:
    from marketplace.hedera.transactions import build_purchase, write_signed

    body = build_purchase(
        token=row["token"],
        serial_no=row["serial_no"],
        seller=row["seller"],
        buyer=row["account_id"],
        price=row["price"],
        fee_basis_points=current_app.config["SALE_FEE_BASIS_POINTS"],
        node_account_id=next_node(),
        transaction_id=TransactionId.parse(row["transaction_id"]),
        memo=row["memo"],
        max_fee_tinybars=purchase_fees.max_fee(),
        valid_seconds=VALID_SECONDS,
    )
    signed = write_signed(body, *signer.sign(body))
    current_app.logger.info(
        "Signed the purchase of %s #%s for %s HBAR by %s from %s: %s, fees of at most %s tinybars"
        " (access token %s, end user %s)",
        *(row[name] for name in ("token", "serial_no", "price", "account_id", "seller")),
        row["transaction_id"],
        row["fee_tinybars"],
        shown(row["caller"]),
        shown(row["end_user"]),
    )
    return signed
