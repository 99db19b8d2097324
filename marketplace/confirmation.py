"""Whether a prepared listing happened: the ledger decides, whoever reports it, and in whatever order."""

from marketplace import queries, times
from marketplace.db import read, write
from marketplace.errors import ListingAltered, ListingEnded, ListingNotPrepared, ListingRefused
from marketplace.ids import TransactionId
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.answers import Nft, Transaction
from marketplace.sales import LEDGER_SECONDS, is_listed, reconcile, require_nft

APPROVAL = "CRYPTOAPPROVEALLOWANCE"
MIRROR_LAG_SECONDS = 15  # past the end of its validity, before a transaction counts as expired
CANDIDATES = 5  # prepared listings looked up for a report that does not say which


def confirm(account_id: str, token: str, serial_no: int, transaction_id: str | None = None) -> bool:
    """Look up on the ledger whether a prepared listing happened, and list the NFT if so.

    Returns True when it is listed, False while the ledger does not show it yet. Without a transaction
    id, the newest listing prepared for this account and NFT is meant, or the newest open one that the
    ledger knows. Raises NftNotStored, ListingNotPrepared, ListingRefused with the ledger's result code,
    ListingAltered, ListingEnded, and the ledger's own errors.
    """
    require_nft(token, serial_no)
    candidates = _find_candidates(account_id, token, serial_no, transaction_id)
    deadline = Deadline(LEDGER_SECONDS)
    for prepared in candidates:
        transaction = _find_transaction(prepared["transaction_id"], deadline)
        if transaction is not None:
            return _settle(prepared, transaction, deadline)
    return _await(candidates[0], deadline)


def _find_candidates(account_id, token, serial_no, transaction_id) -> list:
    keys = token, serial_no, account_id
    if transaction_id is not None:
        prepared = queries.get_prepared_listing(read(), transaction_id, *keys)
        candidates = [prepared] if prepared else []
    else:
        newest, *others = queries.list_prepared_listings(read(), *keys, CANDIDATES) or [None]
        candidates = [newest, *(row for row in others if row["result"] is None)] if newest else []
    if not candidates:
        raise ListingNotPrepared(account_id, token, serial_no, transaction_id)
    return candidates


def _find_transaction(transaction_id: str, deadline: Deadline) -> Transaction | None:
    """What the ledger made of a transaction, or None where it does not show it (yet)."""
    rows = mirror_node().list_transactions(TransactionId.parse(transaction_id), deadline)
    # Submitted twice, the second one is refused as a duplicate: that says nothing of the first.
    decided = [row for row in rows if row.result != "DUPLICATE_TRANSACTION"]
    successes = [row for row in decided if row.result == "SUCCESS"]
    return next(iter(successes or decided), None)


def _await(prepared, deadline: Deadline) -> bool:
    """What to say of a transaction that the ledger does not show: False while it still may.

    Raises ListingRefused once it can't any more: by the ledger's clock, as a mirror node may lag behind.
    """
    if prepared["result"] == "SUCCESS":  # it showed it before
        return require_nft(prepared["token"], prepared["serial_no"])["is_for_sale"] == 1
    if prepared["expires_at"] > _overdue(times.now()):
        return False
    if prepared["expires_at"] > _overdue(mirror_node().find_present(deadline)):
        return False
    _remember_result(prepared, "TRANSACTION_EXPIRED", None)
    raise ListingRefused(prepared["transaction_id"], "TRANSACTION_EXPIRED")


def _overdue(now: int) -> str:
    return times.to_iso(now - MIRROR_LAG_SECONDS * times.SECOND)


def _settle(prepared, transaction: Transaction, deadline: Deadline) -> bool:
    """Draw the consequence of a transaction that reached consensus."""
    if transaction.result != "SUCCESS":
        _remember_result(prepared, transaction.result, transaction.consensus_at)
        raise ListingRefused(prepared["transaction_id"], transaction.result)
    token, serial_no, account_id = prepared["token"], prepared["serial_no"], prepared["account_id"]
    on_ledger = mirror_node().find_nft(token, serial_no, deadline)
    if transaction.name != APPROVAL or transaction.memo != prepared["memo"].encode():
        _remember_result(prepared, transaction.result, transaction.consensus_at)
        _end_older(token, serial_no, transaction.consensus_at, on_ledger)
        raise ListingAltered(prepared["transaction_id"], transaction.name)
    if on_ledger is not None and on_ledger.modified_at < transaction.consensus_at:
        return False  # the mirror node has the transaction, but has not applied it to the NFT yet
    _remember_result(prepared, transaction.result, transaction.consensus_at)
    if on_ledger is None or not is_listed(on_ledger, account_id):
        reason = _why_ended(reconcile(on_ledger, token, serial_no), on_ledger, account_id)
        raise ListingEnded(token, serial_no, reason)
    if on_ledger.modified_at > transaction.consensus_at:
        successor = _find_successor(prepared, transaction, on_ledger, deadline)
        if successor is not None:
            later = _find_transaction(successor["transaction_id"], deadline)
            return later is not None and _settle(successor, later, deadline)
    _list(prepared, transaction, on_ledger)
    return True


def _find_successor(prepared, transaction: Transaction, on_ledger: Nft, deadline: Deadline):
    """The listing that replaced this one, or None where this one still stands.

    Raises ListingEnded where something else replaced it: its price is no longer what the owner asks.
    """
    token, serial_no = prepared["token"], prepared["serial_no"]
    event = mirror_node().find_last_event(token, serial_no, deadline)
    if event is None or event.consensus_at <= transaction.consensus_at:
        return None
    successor = queries.get_prepared_listing(
        read(), str(event.transaction_id), token, serial_no, prepared["account_id"]
    )
    if event.name != APPROVAL or successor is None:
        _end_older(token, serial_no, event.consensus_at, on_ledger)
        raise ListingEnded(
            token, serial_no, f"a later {event.name} ended it. Prepare a new listing"
        )
    return successor


def recheck(nft, on_ledger: Nft) -> bool:
    """Look at a listed NFT that the ledger has changed since: is it still the listing we know?

    Returns whether it is listed now, perhaps for another price. Raises the ledger's errors.
    """
    token, serial_no = nft["token"], nft["serial_no"]
    event = mirror_node().find_last_event(token, serial_no, Deadline(LEDGER_SECONDS))
    listed_at = require_nft(token, serial_no)["last_listed_at"]
    if event is None or (listed_at and times.to_iso(event.consensus_at) <= listed_at):
        with write() as db:  # its metadata was updated
            queries.mark_seen(db, token, serial_no, times.to_iso(on_ledger.modified_at))
        return True
    prepared = queries.get_prepared_listing(
        read(), str(event.transaction_id), token, serial_no, on_ledger.owner
    )
    if event.name == APPROVAL and prepared is not None:
        return confirm(on_ledger.owner, token, serial_no, prepared["transaction_id"])
    _end_older(token, serial_no, event.consensus_at, on_ledger)
    return False


def _end_older(token: str, serial_no: int, ended_at: int, on_ledger: Nft | None) -> None:
    """Take a listing off that something on the ledger came after, at a moment of consensus."""
    listed_at = require_nft(token, serial_no)["last_listed_at"]
    if on_ledger is not None and (listed_at is None or listed_at < times.to_iso(ended_at)):
        ledger_at = times.to_iso(on_ledger.modified_at)
        with write() as db:
            queries.mark_not_listed(db, token, serial_no, on_ledger.owner, ledger_at)


def _list(prepared, transaction: Transaction, on_ledger: Nft) -> None:
    token, serial_no = prepared["token"], prepared["serial_no"]
    with write() as db:
        queries.mark_listed(
            db,
            token=token,
            serial_no=serial_no,
            owner=prepared["account_id"],
            listing_price=prepared["listing_price"],
            listed_at=times.to_iso(transaction.consensus_at),
            ledger_at=times.to_iso(on_ledger.modified_at),
        )
    if not require_nft(token, serial_no)["is_for_sale"]:
        raise ListingEnded(token, serial_no, "it left the order book since. Prepare a new listing")


def _remember_result(prepared, result: str, consensus_at: int | None) -> None:
    if prepared["result"] != result:
        consensus_at = consensus_at and times.to_iso(consensus_at)
        with write() as db:
            queries.mark_result(db, prepared["transaction_id"], result, consensus_at)


def _why_ended(nft, on_ledger: Nft | None, account_id: str) -> str:
    if on_ledger is None or on_ledger.is_deleted:
        return "it was burned"
    if nft["owner"] != account_id:
        return f"it belongs to {nft['owner']} now"
    return "its owner withdrew the approval"
