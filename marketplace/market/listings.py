"""Listing an NFT, and withdrawing it: the transactions that its owner signs and pays for."""

from collections.abc import Callable
from functools import partial

from flask import current_app

from marketplace.errors import (
    LedgerAnswerInvalid,
    LedgerBehind,
    LedgerUndecided,
    LedgerUnreachable,
    NotListed,
    OwnerIsMarketplace,
)
from marketplace.hedera import times
from marketplace.hedera.ids import TransactionId
from marketplace.ledger import Deadline
from marketplace.market import prepare, reconciler
from marketplace.market.add_nft import find_account_id, require_nft, require_owned, require_owner
from marketplace.market.memos import listing_memo, withdrawal_memo
from marketplace.market.nodes import next_node
from marketplace.market.prepare import Ask, PreparedTransaction
from marketplace.market.reconciler import Reconciliation
from marketplace.services import mirror_node
from marketplace.store import prepared_transactions
from marketplace.store.database import write
from marketplace.store.rows import Kind

# Of each NFT and account, the newest listings of an end user are kept, and as many withdrawals; and so many
# of all end users of an access token, which may invent them.
KEPT_FOR_EACH_NFT = 5
KEPT_FOR_EACH_TOKEN = 50
VALID_SECONDS = 180  # the ledger's maximum
CLOCK_SECONDS = 2  # for the question how far the mirror node is
# Our clock is not trusted if it is further behind, and the mirror node if it seems to be further behind.
CLOCK_BEHIND = 15 * times.SECOND
LEDGER_BEHIND = 120 * times.SECOND


def prepare_listing(ask: Ask, listing_price: int, now: int | None = None) -> PreparedTransaction:
    """Build the transaction that lists an NFT for a price in HBAR, and store a record of it.

    If the ledger does not answer, the stored owner gets the transaction anyway. ``now``: the moment at which
    it is prepared, if not the present.
    Raises AccountNotOnLedger, NftNotStored, NftGone, NotTheOwner, OwnerIsMarketplace, LedgerBehind, and the
    ledger's errors if it must be asked.
    """
    from marketplace.hedera.transactions import build_listing

    deadline = Deadline(reconciler.LEDGER_SECONDS)
    ask = ask._replace(account_id=find_account_id(ask.account_id, deadline))
    require_owned(ask.account_id, ask.token, ask.serial_no, deadline)
    spender, name = current_app.config["ACCOUNT_ID"], current_app.config["NAME"]
    if ask.account_id == spender:
        raise OwnerIsMarketplace(ask.account_id)
    memo = listing_memo(ask.token, ask.serial_no, listing_price, name)
    build = partial(build_listing, spender=spender)
    return _prepare("listing", ask, build, memo, listing_price, now)


def prepare_withdrawal(ask: Ask) -> PreparedTransaction:
    """Build the transaction that withdraws a listing, and store a record of it.

    The NFT is reconciled first. If the ledger does not answer, the stored owner gets the transaction anyway:
    only the owner can sign it.
    Raises AccountNotOnLedger, NftNotStored, NftGone, NotTheOwner, NotListed, LedgerUndecided, LedgerBehind,
    and the ledger's errors.
    """
    from marketplace.hedera.transactions import build_withdrawal

    deadline = Deadline(reconciler.LEDGER_SECONDS)
    ask = ask._replace(account_id=find_account_id(ask.account_id, deadline))
    nft = require_nft(ask.token, ask.serial_no)
    try:
        line = reconciler.refresh(ask.token, ask.serial_no, deadline)
    except (LedgerUnreachable, LedgerAnswerInvalid):
        if nft["owner"] != ask.account_id:
            raise
    else:
        _require_listed(ask.account_id, line)
    memo = withdrawal_memo(ask.token, ask.serial_no, current_app.config["NAME"])
    return _prepare("withdrawal", ask, build_withdrawal, memo)


def _require_listed(account_id: str, line: Reconciliation) -> None:
    require_owner(line.nft, account_id)
    if line.nft["is_for_sale"]:
        return
    keys = line.nft["token"], line.nft["serial_no"]
    if not line.is_decided:
        raise LedgerUndecided(*keys, line.reason)
    raise NotListed(*keys)


def _find_start() -> int:
    """The start of a validity that begins now: not later than the mirror node's last block.

    If our clock is ahead, the network would refuse a start by it (INVALID_TRANSACTION_START). If the ledger
    does not answer, our clock must do. Raises LedgerBehind.
    """
    now = times.now()
    start = now - prepare.START_BEFORE_NOW
    ahead = mirror_node().recall_ahead(Deadline(CLOCK_SECONDS))
    if ahead is None:
        return start
    if ahead > LEDGER_BEHIND:
        raise LedgerBehind(ahead // times.SECOND)
    present = now - ahead
    return min(present, max(start, present - CLOCK_BEHIND))


def _prepare(
    kind: Kind,
    ask: Ask,
    build: Callable[..., bytes],
    memo: str,
    price: int | None = None,
    now: int | None = None,
) -> PreparedTransaction:
    """Store and build a transaction that an NFT's owner signs and pays for."""
    settings = current_app.config
    valid_start = now - prepare.START_BEFORE_NOW if now else _find_start()
    now = now or times.now()
    columns = {"memo": memo, "price": price, "prepared_at": times.to_iso(now)}
    with write() as db:
        row = prepare.insert(db, kind, ask, ask.account_id, valid_start, VALID_SECONDS, **columns)
        for kept, of_token in ((KEPT_FOR_EACH_NFT, False), (KEPT_FOR_EACH_TOKEN, True)):
            prepared_transactions.delete_prepared_transactions_beyond(
                db, row, kept, of_token=of_token
            )
    transaction = build(
        token=ask.token,
        serial_no=ask.serial_no,
        transaction_id=TransactionId.require(row["transaction_id"]),
        memo=memo,
        max_fee_tinybars=settings["MAX_TRANSACTION_FEE"],
        valid_seconds=VALID_SECONDS,
        node_account_id=next_node(),
    )
    return PreparedTransaction(ask.account_id, transaction)
