"""Buying an NFT: the transaction that the marketplace signs, and pays for, before the buyer signs it."""

from functools import partial
from typing import Any

from flask import current_app

from marketplace import times
from marketplace.counts import count
from marketplace.errors import (
    BudgetTooSmall,
    BuyerIsMarketplace,
    BuyerIsOwner,
    BuyingOff,
    FeesSpent,
    LedgerBehind,
    LedgerUndecided,
    MarketplaceError,
    NotListed,
    PriceChanged,
    shown,
)
from marketplace.ids import TransactionId
from marketplace.ledger import Deadline, mirror_node
from marketplace.market import buyers, fees, reconciler
from marketplace.market.memos import purchase_memo
from marketplace.market.nfts import require_nft
from marketplace.market.prepared import (
    START_BEFORE_NOW_SECONDS,
    Kind,
    PreparedTransaction,
    describe,
    free_ids,
)
from marketplace.market.signer import Signer
from marketplace.market.transactions import build_purchase, write_signed
from marketplace.store import preparations
from marketplace.store.database import read, write

VALID_SECONDS = 60
MOST_BEHIND = 15 * times.SECOND  # the mirror node: what it shows is what the price is taken from
SETTLED_AT_ONCE = 3  # purchases whose fee is asked for by the way


def prepare(
    account_id: str,
    token: str,
    serial_no: int,
    wallet: str,
    caller: str,
    expected_price: int | None = None,
) -> PreparedTransaction:
    """Build, reserve and sign the transaction by which an account buys an NFT for its price of now.

    ``caller``: the name of the access token that asks. Raises BuyingOff; NftNotStored, NotListed,
    BuyerIsOwner, BuyerIsMarketplace, PriceChanged, PurchaseImpossible; LedgerBehind, LedgerUndecided and the
    ledger's errors; TooManyPurchases, FeesSpent, BudgetTooSmall; SignerFailed. Then nothing is reserved.
    """
    try:
        prepared = _prepare(account_id, token, serial_no, wallet, caller, expected_price)
    except MarketplaceError as error:
        count("purchases", outcome=type(error).__name__)
        raise
    count("purchases", outcome="signed")
    return prepared


def _prepare(account_id, token, serial_no, wallet, caller, expected_price) -> PreparedTransaction:
    signer = _signer()
    require_nft(token, serial_no)
    fees.require_few_open(read(), token, serial_no, account_id, caller)
    deadline = Deadline(reconciler.LEDGER_SECONDS)
    # First of all: the price that is read afterwards was in force after the purchase became valid.
    present = _find_present(deadline)
    nft = _find_offer(account_id, token, serial_no, expected_price, deadline)
    price, seller = nft["listing_price"], nft["owner"]
    questions = buyers.look_up(account_id, seller, token, deadline)
    fee, *found = mirror_node().ask(partial(fees.find_most, deadline), *questions)
    buyers.require_able(account_id, seller, token, price, buyers.Standing(*found), deadline)
    fees.settle(fees.list_unsettled(SETTLED_AT_ONCE), present, deadline)
    settings = current_app.config
    columns = {
        "kind": Kind.PURCHASE,
        "token": token,
        "serial_no": serial_no,
        "price": price,
        "memo": purchase_memo(token, serial_no, price, settings["NAME"]),
        "wallet": wallet,
        "seller": seller,
        "caller": caller,
        "fee_tinybars": fee,
        "is_settled": 0,
    }
    row = _reserve(account_id, columns, present)
    transaction_id = TransactionId.parse(row["transaction_id"])
    try:
        transaction = _sign(signer, transaction_id, row)
    except BaseException:
        with write() as db:
            preparations.delete_purchase(db, row["transaction_id"])
        raise
    return PreparedTransaction(transaction_id, account_id, transaction)


def _signer() -> Signer:
    signer = current_app.extensions.get("signer")
    if signer is None or not current_app.config["SALE_FEE_BUDGET"]:
        raise BuyingOff(has_signer=signer is not None)
    return signer


def _find_present(deadline: Deadline) -> int:
    """How far the mirror node has come. Raises LedgerBehind where that is too long ago."""
    present = mirror_node().find_present(deadline)
    behind = times.now() - present
    if behind > MOST_BEHIND:
        raise LedgerBehind(behind // times.SECOND)
    return present


def _find_offer(account_id, token, serial_no, expected_price, deadline: Deadline) -> Any:
    """The NFT, as it is for sale to an account by all that the ledger shows of it now."""
    line = reconciler.refresh(token, serial_no, deadline, anew=True)
    if not line.is_decided:
        raise LedgerUndecided(token, serial_no, line.verdict.reason)
    nft = line.nft
    if not nft["is_for_sale"]:
        raise NotListed(token, serial_no)
    if nft["owner"] == account_id:
        raise BuyerIsOwner(account_id, token, serial_no)
    if account_id == current_app.config["ACCOUNT_ID"]:
        raise BuyerIsMarketplace(account_id)
    if expected_price not in (None, nft["listing_price"]):
        raise PriceChanged(token, serial_no, expected_price, nft["listing_price"])
    return nft


def _reserve(account_id: str, columns: dict, present: int) -> Any:
    """Reserve its fee under a free transaction id, if there is room, and return the row."""
    now, market = times.now(), current_app.config["ACCOUNT_ID"]
    # Valid since the mirror node's present at the latest, and for a node whose clock is a little behind.
    valid_start = min(present, now - START_BEFORE_NOW_SECONDS * times.SECOND)
    try:
        with write() as db:
            preparations.lock_purchases(db)
            keys = (columns[name] for name in ("token", "serial_no"))
            fees.require_few_open(db, *keys, account_id, columns["caller"])
            fees.require_room(db, columns["fee_tinybars"])
            for transaction_id in free_ids(market, valid_start):
                row = describe(transaction_id, account_id, VALID_SECONDS, now) | columns
                if inserted := preparations.insert_prepared_transaction(db, row):
                    break
    except (BudgetTooSmall, FeesSpent) as error:
        current_app.logger.warning(
            "No purchase of %s, asked for with the access token %s, is signed: %s",
            account_id,
            shown(columns["caller"]),
            error,
        )
        raise
    return inserted


def _sign(signer: Signer, transaction_id: TransactionId, row: Any) -> bytes:
    settings = current_app.config
    body = build_purchase(
        token=row["token"],
        serial_no=row["serial_no"],
        seller=row["seller"],
        buyer=row["account_id"],
        price=row["price"],
        fee_basis_points=settings["SALE_FEE_BASIS_POINTS"],
        # One node only: what is submitted to two would be charged twice, the second as a duplicate.
        node_account_id=settings["NODE_ACCOUNT_IDS"][0],
        transaction_id=transaction_id,
        memo=row["memo"],
        max_fee_tinybars=settings["SALE_MAX_FEE"],
        valid_seconds=VALID_SECONDS,
    )
    signed = write_signed(body, *signer.sign(body))
    current_app.logger.info(
        "Signed the purchase of %s #%s for %s HBAR by %s from %s: %s, at most %s tinybars of fees, asked for"
        " with the access token %s",
        *(row[name] for name in ("token", "serial_no", "price", "account_id", "seller")),
        transaction_id,
        row["fee_tinybars"],
        shown(row["caller"]),
    )
    return signed
