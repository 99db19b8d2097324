"""Buying an NFT: the transaction that the marketplace signs, and pays for, before the buyer signs it."""

from functools import partial
from typing import NamedTuple, cast

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
    SignerFailed,
    shown,
)
from marketplace.hedera import times
from marketplace.hedera.hbar import find_credit, to_hbar
from marketplace.hedera.ids import NftId, TransactionId
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
from marketplace.market.prepare import (
    START_BEFORE_NOW,
    PreparedTransaction,
    TransactionRequest,
    insert,
)
from marketplace.market.purchase_fees import VALID_SECONDS
from marketplace.market.signer import Signer
from marketplace.market.throttled_log import warn_once_a_minute
from marketplace.services import mirror_node, services
from marketplace.store import following, nfts, prepared_transactions
from marketplace.store.database import read, write
from marketplace.store.rows import Connection, NftRow, PurchaseRow

HANDED_OUT_SECONDS = 15  # an open purchase that stays valid for so long is handed out again
# The largest difference between our clock and the end of the mirror node's last block.
MOST_APART = 15 * times.SECOND


class Cost(NamedTuple):
    """The highest cost of a purchase, and the balance of the marketplace's account, in tinybars."""

    fee: int
    balance: int
    associates: bool  # whether the purchase associates the buyer


def prepare(request: TransactionRequest) -> PreparedTransaction:
    """Build, reserve and sign the transaction by which an account buys an NFT for its current price.

    If the same caller repeats a request, he gets the same transaction while it can still be signed in time.
    Another caller gets a separate one: anybody can use up a transaction by submitting it unsigned.

    Raises BuyingOff, AccountNotOnLedger; NftNotStored, NotListed, BuyerIsOwner, BuyerIsMarketplace,
    PriceChanged, PurchaseImpossible, AssociationNotPaid; LedgerBehind, LedgerUndecided and the ledger's
    errors; TooManyPurchases, FeesSpent, OperatorNeeded; SignerFailed. Then nothing is reserved.
    """
    try:
        prepared = _prepare(request)
    except MarketplaceError as error:
        count("purchases", outcome=type(error).__name__)
        if isinstance(error, FeesSpent | OperatorNeeded):
            warn_once_a_minute(
                "Refused to sign a purchase for %s (access token %s, end user %s): %s",
                request.account_id,
                *map(shown, request.caller),
                error,
            )
        raise
    count("purchases", outcome="signed")
    return prepared


def _prepare(request: TransactionRequest) -> PreparedTransaction:
    signer = _signer()
    deadline = Deadline(reconciler.LEDGER_SECONDS)
    request = request._replace(account_id=find_account_id(request.account_id, deadline))
    require_nft(request.token, request.serial_no)
    if not _find_open(read(), request):  # refuse before the ledger is asked
        fee_budget.require_room(read(), request.caller, purchase_fees.max_fee())
    # Before the price is read: so the price was in force after the purchase became valid.
    present = _find_present(deadline)
    nft = _find_offer(request, deadline)
    cost = _look_up(request, nft, deadline)
    row = _reserve(request, nft, cost, present)
    if not row["signed"]:
        row = _sign(signer, request, row, cost.balance)
    return PreparedTransaction(request.account_id, bytes(row["signed"] or b""))


def _signer() -> Signer:
    signer = services().signer
    if signer is None or not current_app.config["SALE_FEE_BUDGET"]:
        raise BuyingOff(has_signer=signer is not None)
    return signer


def _find_open(
    db: Connection, request: TransactionRequest, price: int | None = None, seller: str | None = None
) -> PurchaseRow | None:
    """Find an open purchase of the same request that can still be signed in time; at any price if None."""
    until = times.to_iso(times.now() + HANDED_OUT_SECONDS * times.SECOND)
    row = prepared_transactions.get_open_purchase(db, request.columns(), until)
    if row and price is not None and (row["price"], row["seller"]) != (price, seller):
        return None
    return row


def _find_present(deadline: Deadline) -> int:
    """The end of the mirror node's last block. Raises LedgerBehind or ClockBehind if our clock is far off."""
    present = mirror_node().find_present(deadline)
    behind = times.now() - present
    if behind > MOST_APART:
        raise LedgerBehind(behind // times.SECOND)
    if -behind > MOST_APART:
        raise ClockBehind(-behind // times.SECOND)
    return present


def _find_offer(request: TransactionRequest, deadline: Deadline) -> NftRow:
    """Reconcile the NFT, and require that it is for sale to the account."""
    nft_id = NftId(request.token, request.serial_no)
    reconciled = reconciler.refresh(*nft_id, deadline, force=True)
    if not reconciled.is_decided:
        raise LedgerUndecided(*nft_id, reconciled.reason)
    nft = reconciled.nft
    if nft is None or not nft["is_for_sale"]:
        raise NotListed(*nft_id)
    if nft["owner"] == request.account_id:
        raise BuyerIsOwner(request.account_id, *nft_id)
    if request.account_id == current_app.config["ACCOUNT_ID"]:
        raise BuyerIsMarketplace(request.account_id)
    if request.expected_price not in (None, nft["listing_price"]):
        raise PriceChanged(*nft_id, request.expected_price, nft["listing_price"])
    return nft


def _look_up(request: TransactionRequest, nft: NftRow, deadline: Deadline) -> Cost:
    """Ask the ledger what the purchase can cost.

    Raises PurchaseImpossible, BalanceTooLow, and the ledger's errors.
    """
    seller, price = nft["owner"], nft["listing_price"]
    fee, balance, *others = mirror_node().ask(
        partial(purchase_fees.find_max_cost, deadline),
        partial(purchase_fees.find_balance, deadline),
        *buyer_checks.list_questions(request, seller, deadline),
    )
    answers = buyer_checks.Answers(*others)
    token = buyer_checks.require_able(request, seller, price, answers, deadline)
    credit = find_credit(price, current_app.config["SALE_FEE_BASIS_POINTS"])
    sale = custom_fees.Sale(request.token, seller, credit, nft["last_listed_at"])
    custom_fees.require_payable(sale, token)
    if balance < fee:
        purchase_fees.note_balance(balance)
        raise BalanceTooLow(to_hbar(balance))
    return Cost(fee, balance, associates=answers.of_buyer is None)


def _reserve(request: TransactionRequest, nft: NftRow, cost: Cost, present: int) -> PurchaseRow:
    """Return the open purchase of the same request, or insert one. The new row reserves the fee."""
    price, seller = nft["listing_price"], nft["owner"]
    now, settings = times.now(), current_app.config
    columns = {
        "price": price,
        "memo": purchase_memo(request.token, request.serial_no, price, settings["NAME"]),
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
        if known := _find_open(db, request, price, seller):
            return known
        held = fee_budget.require_room(db, request.caller, cost.fee, cost.balance)
        if cost.associates:
            fee_budget.require_association_paid(request, cost.fee, held)
        row = insert(db, "purchase", request, payer, valid_start, VALID_SECONDS, **columns)
        return cast(PurchaseRow, row)


def _require_newest(db: Connection, nft: NftRow, present: int) -> None:
    """Raise LedgerUndecided if the watcher has stored, or has queued, a newer change of the NFT meanwhile.

    It follows the ledger, while the replica of the mirror node that was asked here may lag.
    """
    nft_id = NftId(nft["token"], nft["serial_no"])
    queued = following.get_recheck(db, "nft", *nft_id)
    if queued and not recheck_queue.is_new_enough(queued, nft["ledger_at"], present):
        raise LedgerUndecided(*nft_id, "it does not show a later transaction yet")
    stored = nfts.get_nft(db, *nft_id)
    if stored is None or stored["ledger_at"] != nft["ledger_at"]:
        raise LedgerUndecided(*nft_id, "it has just changed")


def _sign(
    signer: Signer, request: TransactionRequest, row: PurchaseRow, balance: int
) -> PurchaseRow:
    """Return the signed row, or the row of an equal request that was faster. Raises SignerFailed."""
    try:
        signed = _build_and_sign(signer, row)
        with write() as db:
            prepared_transactions.lock_purchases(db, balance)
            if known := _find_open(db, request, row["price"], row["seller"]):
                prepared_transactions.delete_purchase(db, row["transaction_id"])
                return known
            marked = prepared_transactions.mark_signed(db, row["transaction_id"], signed)
        if marked is None:
            raise SignerFailed("the purchase expired before it was signed")
        return marked
    except BaseException:
        with write() as db:
            prepared_transactions.delete_purchase(db, row["transaction_id"])
        raise


def _build_and_sign(signer: Signer, row: PurchaseRow) -> bytes:
    from marketplace.hedera.transactions import build_purchase, write_signed

    body = build_purchase(
        token=row["token"],
        serial_no=row["serial_no"],
        seller=row["seller"],
        buyer=row["account_id"],
        price=row["price"],
        fee_basis_points=current_app.config["SALE_FEE_BASIS_POINTS"],
        node_account_id=next_node(),
        transaction_id=TransactionId.require(row["transaction_id"]),
        memo=row["memo"],
        max_fee_tinybars=purchase_fees.max_fee(),
        valid_seconds=VALID_SECONDS,
    )
    signed = write_signed(body, *signer.sign(body))
    current_app.logger.info(
        "Signed the purchase of %s #%s for %s HBAR by %s from %s: %s, fees of at most %s tinybars"
        " (access token %s, end user %s)",
        row["token"],
        row["serial_no"],
        row["price"],
        row["account_id"],
        row["seller"],
        row["transaction_id"],
        row["fee_tinybars"],
        shown(row["caller"]),
        shown(row["end_user"]),
    )
    return signed
