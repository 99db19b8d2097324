"""Listing an NFT, and withdrawing it: the transactions that its owner signs and pays for."""

from collections.abc import Callable
from functools import partial
from typing import Any

from flask import current_app

from marketplace import times
from marketplace.errors import (
    LedgerAnswerInvalid,
    LedgerUndecided,
    LedgerUnreachable,
    NftGone,
    NotListed,
    NotTheOwner,
    OwnerIsMarketplace,
)
from marketplace.ledger import Deadline
from marketplace.market import reconciler
from marketplace.market.accounts import find_account_id
from marketplace.market.add_nft import require_nft, require_owned
from marketplace.market.memos import listing_memo, withdrawal_memo
from marketplace.market.nodes import next_node
from marketplace.market.prepare import (
    OPERATOR,
    START_BEFORE_NOW_SECONDS,
    Caller,
    Kind,
    PreparedTransaction,
    describe,
    free_ids,
)
from marketplace.market.reconciler import Reconciliation
from marketplace.store import prepared_transactions
from marketplace.store.database import write

# The newest listings that one caller prepares for an account, and the newest withdrawals.
KEPT_FOR_EACH_NFT = 5
VALID_SECONDS = 180  # the ledger's most


def prepare_listing(
    account_id: str,
    token: str,
    serial_no: int,
    listing_price: int,
    wallet: str,
    caller: Caller = OPERATOR,
    now: int | None = None,
) -> PreparedTransaction:
    """Build the transaction that lists an NFT for a price in HBAR, and remember it.

    Raises AccountNotOnLedger, NftNotStored, NftGone, NotTheOwner, OwnerIsMarketplace, and the ledger's errors
    where it must be asked.
    """
    from marketplace.market.transactions import build_listing

    deadline = Deadline(reconciler.LEDGER_SECONDS)
    account_id = find_account_id(account_id, deadline)
    require_owned(account_id, token, serial_no, deadline)
    spender, name = current_app.config["ACCOUNT_ID"], current_app.config["NAME"]
    if account_id == spender:
        raise OwnerIsMarketplace(account_id)
    columns = {
        "kind": Kind.LISTING,
        "token": token,
        "serial_no": serial_no,
        "price": listing_price,
        "memo": listing_memo(token, serial_no, listing_price, name),
        "wallet": wallet,
    }

    build = partial(build_listing, token=token, serial_no=serial_no, spender=spender)
    return _prepare(account_id, build, columns, caller, now or times.now())


def prepare_withdrawal(
    account_id: str, token: str, serial_no: int, wallet: str, caller: Caller
) -> PreparedTransaction:
    """Build the transaction that takes a listing back, and remember it.

    The NFT is reconciled first. While the ledger does not answer, its stored owner gets the transaction all
    the same: only the owner can sign it.
    Raises AccountNotOnLedger, NftNotStored, NftGone, NotTheOwner, NotListed, LedgerUndecided, and the
    ledger's errors.
    """
    from marketplace.market.transactions import build_withdrawal

    deadline = Deadline(reconciler.LEDGER_SECONDS)
    account_id = find_account_id(account_id, deadline)
    nft = require_nft(token, serial_no)
    try:
        line = reconciler.refresh(token, serial_no, deadline)
    except (LedgerUnreachable, LedgerAnswerInvalid):
        if nft["owner"] != account_id:
            raise
    else:
        _require_listed(account_id, line)
    columns = {
        "kind": Kind.WITHDRAWAL,
        "token": token,
        "serial_no": serial_no,
        "price": None,
        "memo": withdrawal_memo(token, serial_no, current_app.config["NAME"]),
        "wallet": wallet,
    }

    build = partial(build_withdrawal, token=token, serial_no=serial_no)
    return _prepare(account_id, build, columns, caller, times.now())


def _require_listed(account_id: str, line: Reconciliation) -> None:
    nft, keys = line.nft, (line.nft["token"], line.nft["serial_no"])
    if nft["ledger_at"] == reconciler.GONE:
        raise NftGone(*keys)
    if nft["owner"] != account_id:
        raise NotTheOwner(account_id, *keys, nft["owner"])
    if nft["is_for_sale"]:
        return
    if not line.is_decided:
        raise LedgerUndecided(*keys, line.reason)
    raise NotListed(*keys)


def _prepare(
    account_id: str,
    build: Callable[..., bytes],
    columns: dict[str, Any],
    caller: Caller,
    now: int,
) -> PreparedTransaction:
    """Build a transaction that an NFT's owner signs and pays for, and remember it."""
    settings, valid_start = current_app.config, now - START_BEFORE_NOW_SECONDS * times.SECOND
    for transaction_id in free_ids(account_id, valid_start):
        transaction = build(
            transaction_id=transaction_id,
            memo=columns["memo"],
            max_fee_tinybars=settings["MAX_TRANSACTION_FEE"],
            valid_seconds=VALID_SECONDS,
            node_account_id=next_node(),
        )
        row = describe(transaction_id, account_id, caller, VALID_SECONDS, now) | columns
        with write() as db:
            inserted = prepared_transactions.insert_prepared_transaction(db, row)
            prepared_transactions.delete_prepared_transactions_beyond(db, row, KEPT_FOR_EACH_NFT)
        if inserted:
            return PreparedTransaction(transaction_id, account_id, transaction)
    raise AssertionError("there is always another id")
