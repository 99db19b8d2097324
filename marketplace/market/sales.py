"""What a seller does with an NFT: adds it, and asks for the transaction that lists it."""

from functools import partial
from typing import NamedTuple

from flask import current_app

from marketplace import times
from marketplace.errors import (
    NftGone,
    NftNotOnLedger,
    NftNotStored,
    NotTheOwner,
    OwnerIsMarketplace,
)
from marketplace.ids import TransactionId
from marketplace.ledger import Deadline, mirror_node
from marketplace.market import reconciler, records
from marketplace.market.transactions import START_BEFORE_NOW_SECONDS, build_listing, listing_memo
from marketplace.store import queries
from marketplace.store.database import read, write

# From when an add begins: the ledger's part is bounded by reconciler.LEDGER_SECONDS.
ADD_SECONDS = 7.2
# For metadata and image together, where somebody waits; what is slower comes later.
METADATA_SECONDS = 4
STORING_SECONDS = 2  # of all of it, for a bucket, the token's name and the database

# Prepared listings of one account, the newest: who prepares more forgets the oldest.
KEPT_FOR_EACH_NFT = 5


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


def add(account_id: str, token: str, serial_no: int) -> None:
    """Store an NFT as the ledger has it. One that is stored is left alone, and nobody is asked.

    Where its metadata or image can't be had in time, it is stored with what is known, and completed later.
    Raises NftNotOnLedger, NftGone, LedgerUnreachable, LedgerAnswerInvalid or DatabaseBusy; then nothing is
    stored.
    """
    if queries.get_nft(read(), token, serial_no):
        return
    whole = Deadline(ADD_SECONDS)
    deadline = whole.within(reconciler.LEDGER_SECONDS)
    mirror = mirror_node()
    # Mostly the account that wants to list is the owner; whoever it is, the ledger says so.
    on_ledger = mirror.find_nft_of(account_id, token, serial_no, deadline)
    on_ledger = on_ledger or mirror.find_nft(token, serial_no, deadline)
    if on_ledger is None:
        raise NftNotOnLedger(token, serial_no)
    describe = partial(
        records.build, deadline=whole.within(METADATA_SECONDS, spare=STORING_SECONDS)
    )
    line = reconciler.bring_in_line(on_ledger, deadline, describe=describe, until=whole)
    if line.nft is None:
        raise NftGone(token, serial_no)


def prepare(
    account_id: str,
    token: str,
    serial_no: int,
    listing_price: int,
    wallet: str,
    now: int | None = None,
) -> ListingTransaction:
    """Build the transaction that lists an NFT for a price in HBAR, and remember it.

    Raises NftNotStored, NftGone, NotTheOwner, OwnerIsMarketplace, and the
    ledger's errors where it must be asked.
    """
    nft = require_nft(token, serial_no)
    if nft["owner"] != account_id:
        nft = reconciler.refresh(token, serial_no).nft
    if nft["ledger_at"] == reconciler.GONE:
        raise NftGone(token, serial_no)
    if nft["owner"] != account_id:
        raise NotTheOwner(account_id, token, serial_no, nft["owner"])
    settings = current_app.config
    if account_id == settings["ACCOUNT_ID"]:
        raise OwnerIsMarketplace(account_id)
    memo = listing_memo(token, serial_no, listing_price, settings["NAME"])
    now = now or times.now()
    valid_start = now - START_BEFORE_NOW_SECONDS * times.SECOND
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
            "prepared_at": times.to_iso(now),
            "expires_at": times.to_iso(valid_until),
        }
        with write() as db:
            inserted = queries.insert_prepared_listing(db, prepared)
            queries.delete_prepared_listings_beyond(
                db, token, serial_no, account_id, KEPT_FOR_EACH_NFT
            )
        if inserted:
            return ListingTransaction(transaction_id, account_id, transaction)
        valid_start += 1  # the account prepared another in the same nanosecond: move on by one
