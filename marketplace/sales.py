"""What happens to an NFT: added, prepared for listing, taken off the order book.

The ledger is the truth. Each step reads it first, holding no lock, and then writes once.
"""

from typing import NamedTuple

from flask import current_app

from marketplace import queries, records, times
from marketplace.db import read, write
from marketplace.errors import (
    LedgerAnswerInvalid,
    LedgerUnreachable,
    NftNotOnLedger,
    NftNotStored,
    NotTheOwner,
    OwnerIsMarketplace,
)
from marketplace.ids import TransactionId
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.answers import Nft
from marketplace.transactions import START_BEFORE_NOW_SECONDS, build_listing, listing_memo

LEDGER_SECONDS = 6  # for what the mirror node must say
TOKEN_NAME_SECONDS = 2  # for what it would be nice to know


class ListingTransaction(NamedTuple):
    """What a wallet is handed to sign."""

    transaction_id: TransactionId
    account_id: str
    transaction: bytes


def require_nft(token: str, serial_no: int):
    """Return the stored NFT. Raises NftNotStored."""
    nft = queries.get_nft(read(), token, serial_no)
    if nft is None:
        raise NftNotStored(token, serial_no)
    return nft


# Add


def add(account_id: str, token: str, serial_no: int) -> None:
    """Store an NFT as the ledger has it. One that is stored is left alone, and nobody is asked.

    Where its metadata or image can't be had in time, it is stored with what is known, and completed later.
    Raises NftNotOnLedger, LedgerUnreachable or LedgerAnswerInvalid; then nothing is stored.
    """
    if queries.get_nft(read(), token, serial_no):
        return
    deadline = Deadline(LEDGER_SECONDS)
    mirror = mirror_node()
    # Mostly the account that wants to list is the owner; whoever it is, the ledger says so.
    on_ledger = mirror.find_nft_of(account_id, token, serial_no, deadline)
    on_ledger = on_ledger or mirror.find_nft(token, serial_no, deadline)
    _require_alive(on_ledger, token, serial_no)
    nft = records.build(on_ledger)
    if nft["name"] is None:
        nft["name"] = records.name_after(_find_token_name(token), on_ledger)
    with write() as db:
        queries.insert_nft(db, nft)


def _find_token_name(token: str) -> str | None:
    try:
        found = mirror_node().find_token(token, Deadline(TOKEN_NAME_SECONDS))
        return found and found.name
    except (LedgerUnreachable, LedgerAnswerInvalid):
        return None  # it answered about the NFT, which is what counts


def _require_alive(on_ledger: Nft | None, token: str, serial_no: int) -> None:
    if on_ledger is None:
        raise NftNotOnLedger(token, serial_no)
    if on_ledger.is_deleted or on_ledger.owner is None:
        raise NftNotOnLedger(token, serial_no, "was burned")


# Prepare


def prepare(
    account_id: str,
    token: str,
    serial_no: int,
    listing_price: int,
    wallet: str,
    now: int | None = None,
) -> ListingTransaction:
    """Build the transaction that lists an NFT for a price in HBAR, and remember it.

    Raises NftNotStored, NotTheOwner, OwnerIsMarketplace, and the ledger's errors where it must be asked.
    """
    owner = require_nft(token, serial_no)["owner"]
    if owner != account_id:
        owner = refresh(token, serial_no)["owner"]
    if owner != account_id:
        raise NotTheOwner(account_id, token, serial_no, owner)
    settings = current_app.config
    if owner == settings["ACCOUNT_ID"]:
        raise OwnerIsMarketplace(account_id)
    memo = listing_memo(token, serial_no, listing_price, settings["NAME"])
    valid_start = (now or times.now()) - START_BEFORE_NOW_SECONDS * times.SECOND
    valid_until = valid_start + settings["TRANSACTION_VALID_SECONDS"] * times.SECOND
    while True:
        transaction_id = TransactionId(account_id, *divmod(valid_start, times.SECOND))
        transaction = build_listing(
            transaction_id=transaction_id,
            token=token,
            serial_no=serial_no,
            spender=settings["ACCOUNT_ID"],
            memo=memo,
            max_fee_tinybars=settings["MAX_TRANSACTION_FEE"],
            valid_seconds=settings["TRANSACTION_VALID_SECONDS"],
            node_account_ids=settings["NODE_ACCOUNT_IDS"],
        )
        prepared = {
            "transaction_id": str(transaction_id),
            "token": token,
            "serial_no": serial_no,
            "account_id": account_id,
            "listing_price": listing_price,
            "memo": memo,
            "wallet": wallet,
            "prepared_at": times.to_iso(valid_start),
            "expires_at": times.to_iso(valid_until),
        }
        with write() as db:
            inserted = queries.insert_prepared_listing(db, prepared)
        if inserted:
            return ListingTransaction(transaction_id, account_id, transaction)
        valid_start += 1  # the account prepared another in the same nanosecond: move on by one


# Reconcile


def refresh(token: str, serial_no: int):
    """Ask the ledger once about a stored NFT, and return the record brought up to date.

    Raises NftNotOnLedger where it was burned, and the ledger's own errors.
    """
    on_ledger = mirror_node().find_nft(token, serial_no, Deadline(LEDGER_SECONDS))
    nft = reconcile(on_ledger, token, serial_no)
    _require_alive(on_ledger, token, serial_no)
    return nft


def reconcile(on_ledger: Nft | None, token: str, serial_no: int):
    """Bring a stored NFT in line with the ledger, and return the record.

    Who owns it is taken over; what the marketplace may no longer spend, or the ledger no longer has,
    leaves the order book.
    """
    nft = require_nft(token, serial_no)
    owner, ledger_at = nft["owner"], nft["ledger_at"]
    if on_ledger is not None:
        owner, ledger_at = on_ledger.owner or owner, times.to_iso(on_ledger.modified_at)
        if owner == nft["owner"] and (not nft["is_for_sale"] or is_listed(on_ledger, owner)):
            return nft
    with write() as db:
        queries.mark_not_listed(db, token, serial_no, owner, ledger_at)
    return require_nft(token, serial_no)


def is_listed(on_ledger: Nft, owner: str) -> bool:
    """The whole test of "listed on the ledger": the owner lets the marketplace spend this serial."""
    return (
        on_ledger.owner == owner
        and on_ledger.spender == current_app.config["ACCOUNT_ID"]
        and not on_ledger.is_deleted
    )
