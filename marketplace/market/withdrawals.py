"""Withdrawing an NFT: the transaction by which its owner lets the marketplace sell it no more."""

from functools import partial

from flask import current_app

from marketplace.errors import (
    LedgerAnswerInvalid,
    LedgerUndecided,
    LedgerUnreachable,
    NftGone,
    NotListed,
    NotTheOwner,
)
from marketplace.market import reconciler
from marketplace.market.add_nft import require_nft
from marketplace.market.memos import withdrawal_memo
from marketplace.market.prepare import (
    OPERATOR,
    Caller,
    Kind,
    PreparedTransaction,
    prepare_as_owner,
)
from marketplace.market.reconciler import Reconciliation


def prepare(
    account_id: str,
    token: str,
    serial_no: int,
    wallet: str,
    caller: Caller = OPERATOR,
    now: int | None = None,
) -> PreparedTransaction:
    """Build the transaction that takes a listing back, and remember it.

    The NFT is brought in line with the ledger first. While the ledger can not be asked, its stored owner gets
    the transaction all the same: it needs nothing that the ledger would say, and only the owner can sign it.
    Raises NftNotStored, NftGone, NotTheOwner, NotListed, LedgerUndecided, and the ledger's errors.
    """
    from marketplace.market.transactions import build_withdrawal

    nft = require_nft(token, serial_no)
    try:
        line = reconciler.refresh(token, serial_no)
    except (LedgerUnreachable, LedgerAnswerInvalid):
        if nft["owner"] != account_id:
            raise
    else:
        _require_listed(account_id, line)
    return prepare_as_owner(
        account_id,
        partial(build_withdrawal, token=token, serial_no=serial_no),
        caller=caller,
        now=now,
        kind=Kind.WITHDRAWAL,
        token=token,
        serial_no=serial_no,
        price=None,
        memo=withdrawal_memo(token, serial_no, current_app.config["NAME"]),
        wallet=wallet,
    )


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
