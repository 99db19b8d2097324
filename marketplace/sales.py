"""What happens to an NFT: added, prepared for listing, confirmed, taken off the order book.

The ledger is the truth. Each step reads it first, holding no lock, and then writes once.
"""

from typing import NamedTuple

from flask import current_app

from marketplace import queries, times
from marketplace.db import read, write
from marketplace.errors import (
    ListingAltered,
    ListingEnded,
    ListingNotPrepared,
    ListingRefused,
    NftNotOnLedger,
    NftNotStored,
    NotTheOwner,
    OwnerIsMarketplace,
)
from marketplace.ids import TransactionId
from marketplace.ledger import Deadline, mirror_node, resolver
from marketplace.ledger.fetch import FetchError
from marketplace.ledger.images import MAX_IMAGE_BYTES, ImageUnusable, optimise
from marketplace.ledger.metadata import Description
from marketplace.ledger.mirror import Nft
from marketplace.transactions import START_BEFORE_NOW_SECONDS, build_listing, listing_memo

LEDGER_SECONDS = 8  # for what the mirror node must say
METADATA_SECONDS = 6  # for what may be completed later
MIRROR_LAG_SECONDS = 15  # past the end of its validity, before a transaction counts as expired
UNKNOWN_FILE_TYPE = "application/octet-stream"


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

    Where its metadata or image can't be had in time, it is stored with what is known.
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
    nft = _describe(on_ledger) | {
        "token": token,
        "serial_no": serial_no,
        "owner": on_ledger.owner,
        "ledger_at": times.to_iso(on_ledger.modified_at),
        "metadata": on_ledger.pointer or None,
    }
    if nft["name"] is None:
        token_name = mirror.find_token_name(token, deadline) or token
        nft["name"] = f"{token_name} #{serial_no}"
    with write() as db:
        queries.insert_nft(db, nft)


def _require_alive(on_ledger: Nft | None, token: str, serial_no: int) -> None:
    if on_ledger is None:
        raise NftNotOnLedger(token, serial_no)
    if on_ledger.is_deleted or on_ledger.owner is None:
        raise NftNotOnLedger(token, serial_no, "was burned")


def _describe(on_ledger: Nft) -> dict:
    """Resolve metadata and image, as far as they can be had before the deadline."""
    deadline = Deadline(METADATA_SECONDS)
    description, key, file_type = Description(), None, None
    try:
        description = resolver().describe(on_ledger.pointer, deadline)
        if description.image:
            content = resolver().fetch(description.image, MAX_IMAGE_BYTES, deadline)
            optimised, file_type = optimise(content)
            key = current_app.extensions["media"].put(optimised, "webp")
    except (FetchError, ImageUnusable) as reason:
        current_app.logger.info(
            "%s #%s is stored incomplete: %s", on_ledger.token, on_ledger.serial_no, reason
        )
    return {
        "name": description.name,
        "file_type": description.file_type or file_type or UNKNOWN_FILE_TYPE,
        "attributes": description.attributes,
        "image": key,
        "original_image_url": description.image and resolver().browser_url(description.image),
        "is_complete": int(key is not None),
    }


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


# Confirm


def confirm(account_id: str, token: str, serial_no: int, transaction_id: str | None = None) -> bool:
    """Look up on the ledger whether a prepared listing happened, and list the NFT if so.

    Returns True when it is listed, False while the ledger does not show it yet. Without a transaction
    id, the newest listing prepared for this account and NFT is meant. Raises NftNotStored,
    ListingNotPrepared, ListingRefused with the ledger's result code, ListingAltered, ListingEnded, and
    the ledger's own errors.
    """
    require_nft(token, serial_no)
    prepared = _find_prepared(account_id, token, serial_no, transaction_id)
    deadline = Deadline(LEDGER_SECONDS)
    parsed = TransactionId.parse(prepared["transaction_id"])
    transactions = mirror_node().list_transactions(parsed, deadline)
    # Submitted twice, the second one is refused as a duplicate: that says nothing of the first.
    decided = [row for row in transactions if row.result != "DUPLICATE_TRANSACTION"]
    if not decided:
        return _await(prepared)
    successes = [row for row in decided if row.result == "SUCCESS"]
    if not successes:
        _remember_result(prepared, decided[0].result, decided[0].consensus_at)
        raise ListingRefused(prepared["transaction_id"], decided[0].result)
    transaction = successes[0]
    if transaction.name != "CRYPTOAPPROVEALLOWANCE":
        raise ListingAltered(prepared["transaction_id"], f"it is a {transaction.name}")
    if transaction.memo != prepared["memo"].encode():
        raise ListingAltered(prepared["transaction_id"], "its memo is another")
    on_ledger = mirror_node().find_nft(token, serial_no, deadline)
    if on_ledger is not None and on_ledger.modified_at < transaction.consensus_at:
        return False  # the mirror node has the transaction, but has not applied it to the NFT yet
    _remember_result(prepared, transaction.result, transaction.consensus_at)
    if on_ledger is None or not _is_listed(on_ledger, account_id):
        reason = _why_ended(reconcile(on_ledger, token, serial_no), on_ledger, account_id)
        raise ListingEnded(token, serial_no, reason)
    with write() as db:
        queries.mark_listed(
            db,
            token=token,
            serial_no=serial_no,
            owner=account_id,
            listing_price=prepared["listing_price"],
            listed_at=times.to_iso(transaction.consensus_at),
            ledger_at=times.to_iso(on_ledger.modified_at),
        )
    if not require_nft(token, serial_no)["is_for_sale"]:
        raise ListingEnded(token, serial_no, "it left the order book since. Prepare a new listing")
    return True


def _find_prepared(account_id, token, serial_no, transaction_id):
    if transaction_id is None:
        prepared = queries.get_newest_prepared_listing(read(), token, serial_no, account_id)
    else:
        prepared = queries.get_prepared_listing(
            read(), transaction_id, token, serial_no, account_id
        )
    if prepared is None:
        raise ListingNotPrepared(account_id, token, serial_no, transaction_id)
    return prepared


def _await(prepared) -> bool:
    """False while the ledger may still show it. Raises ListingRefused once it can't any more."""
    overdue = times.now() - MIRROR_LAG_SECONDS * times.SECOND
    if prepared["expires_at"] < times.to_iso(overdue):
        raise ListingRefused(prepared["transaction_id"], "TRANSACTION_EXPIRED")
    return False


def _remember_result(prepared, result: str, consensus_at: int) -> None:
    if prepared["result"] != result:
        with write() as db:
            queries.mark_result(db, prepared["transaction_id"], result, times.to_iso(consensus_at))


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

    Who owns it is taken over; what the marketplace may no longer spend leaves the order book.
    """
    nft = require_nft(token, serial_no)
    if on_ledger is None:
        return nft
    owner = on_ledger.owner or nft["owner"]
    if owner == nft["owner"] and (not nft["is_for_sale"] or _is_listed(on_ledger, owner)):
        return nft
    with write() as db:
        queries.mark_not_listed(
            db, token, serial_no, owner, ledger_at=times.to_iso(on_ledger.modified_at)
        )
    return require_nft(token, serial_no)


def _is_listed(on_ledger: Nft, owner: str) -> bool:
    """The whole test of "listed on the ledger": the owner lets the marketplace spend this serial."""
    return (
        on_ledger.owner == owner
        and on_ledger.spender == current_app.config["ACCOUNT_ID"]
        and not on_ledger.is_deleted
    )


def _why_ended(nft, on_ledger: Nft | None, account_id: str) -> str:
    if on_ledger is None or on_ledger.is_deleted:
        return "it was burned"
    if nft["owner"] != account_id:
        return f"it belongs to {nft['owner']} now"
    return "its owner withdrew the approval"
