"""Reads an NFT's history since its stored state: the entries, the prices of sales, and the events they make.

A sale's price stands in the memo of the marketplace's own transaction, or in the schedule of an offer. Only
the marketplace signs transactions that its account pays for, so their memos can be trusted. A schedule must
be an offer by its rule. The buyer's HBAR transfers say less: a mirror node shows them net of staking rewards,
and of royalties that the buyer collects. They only confirm a memo, because the account's owner may use it for
other transactions, too.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import takewhile
from typing import Any, NamedTuple

from flask import current_app

from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.events import EventKind
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS, format_amount
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.ledger.objects import (
    History,
    HistoryEntry,
    LedgerNftTransfer,
    Nft,
    Transaction,
    TransactionType,
)
from marketplace.market.listing_rule import NftFacts
from marketplace.market.memos import (
    read_basket_memo,
    read_listing_memo,
    read_offer_memo,
    read_purchase_memo,
)
from marketplace.market.offers.rule import Shop, read_sale
from marketplace.services import mirror_node, read, services
from marketplace.store import offers, prepared_transactions
from marketplace.store.connection import Connection
from marketplace.store.events import insert_event
from marketplace.store.nfts import NftRow, find_stored_at

MAX_SALES = 20  # of one NFT, the newest: only their prices are looked up
MAX_NEW_TREASURIES = 20  # the newest: only their accounts are looked up
ENDS = (TransactionType.BURN, TransactionType.WIPE, TransactionType.COLLECTION_DELETION)


class TransactionNotShown(Exception):
    """The mirror node shows an entry of a history, but not yet its transaction."""


class Replicas:
    """The mirror node's replicas, which may lag. Asks for the newest block at most once."""

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline

    @cached_property
    def _present(self) -> int:
        return mirror_node().find_present(self.deadline)

    def may_lack(self, moment: int) -> bool:
        """Tell whether a replica may still lack a moment's transactions."""
        return moment > self._present - times.ALLOWED_LAG


class Sale(NamedTuple):
    price: int  # HBAR
    received: int | None = None  # tinybars that the seller kept, after all fees; None: not known
    offer_id: str | None = None  # of the offer that was accepted


def _may_be_sale(move: HistoryEntry) -> bool:
    """Tell whether an entry may be a sale of this marketplace.

    The marketplace's account spent an approval and paid the fee; or the receiver paid, as an offer's bidder.
    """
    is_purchase = move.is_approval and move.payer == current_app.config["ACCOUNT_ID"]
    return move.is_move and (is_purchase or move.payer == move.receiver)


def _find_sale(nft_id: NftId, move: HistoryEntry, replicas: Replicas) -> Sale | None:
    """The sale by which an NFT changed its owner; None if it was no sale.

    Raises TransactionNotShown, and the ledger's errors.
    """
    find = _find_accepted if move.payer == move.receiver else _find_purchase
    return find(nft_id, move, replicas)


def _find_accepted(nft_id: NftId, move: HistoryEntry, replicas: Replicas) -> Sale | None:
    """The sale by an offer: its schedule has the id of this transaction, and was executed as a whole."""
    deadline = replicas.deadline
    parties = (*nft_id, move.sender, move.receiver)
    stored = offers.get_offer_of_transaction(read(), str(move.transaction_id))
    if stored:
        if parties != (stored["token"], stored["serial_no"], stored["seller"], stored["bidder"]):
            return None
        received = _find_received(move, replicas)
        return Sale(stored["price"], received, stored["schedule_id"])
    executed = mirror_node().find_transaction(move.consensus_at, deadline)
    if executed is None:
        raise TransactionNotShown
    if not executed.scheduled or read_offer_memo(executed.memo, *nft_id) is None:
        return None
    rows = mirror_node().list_transactions(move.transaction_id, deadline)
    created = next(
        (row for row in rows if row.name == TransactionType.SCHEDULE_CREATION and row.is_original),
        None,
    )
    if created is None or created.entity_id is None:
        raise TransactionNotShown  # another replica answered
    schedule = mirror_node().find_schedule(created.entity_id, deadline)
    if schedule is None:
        raise TransactionNotShown
    sale = read_sale(schedule, Shop.of(current_app.config))
    if sale and parties == (sale.token, sale.serial_no, sale.seller, sale.bidder):
        return Sale(sale.price, -executed.find_paid(sale.seller), schedule.id)
    return None


def _find_purchase(nft_id: NftId, move: HistoryEntry, replicas: Replicas) -> Sale | None:
    """The sale by a transaction of ours, at the price that it named."""
    prepared = prepared_transactions.get_price_and_sum(read(), str(move.transaction_id), *nft_id)
    if prepared:
        received = _find_received(move, replicas)
        if received is not None:
            received = received * prepared["price"] // prepared["of_seller"]
        return Sale(prepared["price"], received)
    transaction = _find_row(move, replicas.deadline)
    if not transaction.is_original:
        return None
    if len(transaction.nft_transfers) > 1:
        return _find_in_basket(transaction, nft_id, move, replicas.deadline)
    price = read_purchase_memo(transaction.memo, *nft_id)
    if price is None or not _is_paid(transaction, price, move.receiver or ""):
        return None
    return Sale(price, -transaction.find_paid(move.sender or ""))


def _find_row(move: HistoryEntry, deadline: Deadline) -> Transaction:
    """The transaction of a move. Raises TransactionNotShown."""
    # By its id: a list of transactions has no fees of tokens.
    rows = mirror_node().list_transactions(move.transaction_id, deadline)
    found = next((row for row in rows if row.consensus_at == move.consensus_at), None)
    # A schedule may be executed weeks after the valid start of its id, by which the mirror node looks.
    if found is None and move.payer == move.receiver:
        found = mirror_node().find_transaction(move.consensus_at, deadline)
    if found is None:
        raise TransactionNotShown
    return found


def _find_received(move: HistoryEntry, replicas: Replicas) -> int | None:
    """The tinybars that the sender received in the transaction of a sale, after all fees.

    None if the mirror node shows no readable row: the sale is certain without it. Raises TransactionNotShown
    while a replica may lag.
    """
    try:
        return -_find_row(move, replicas.deadline).find_paid(move.sender or "")
    except LedgerAnswerInvalid:
        return None
    except TransactionNotShown:
        if replicas.may_lack(move.consensus_at):
            raise
        return None


def _find_in_basket(
    transaction: Transaction, nft_id: NftId, move: HistoryEntry, deadline: Deadline
) -> Sale | None:
    """The sale of one NFT of several, at the price of the listing which the purchase ended.

    The memo has only the sum, and sellers may have changed their prices meanwhile. So the listings' prices
    count only if they add up to the memo's sum, and if each seller was paid accordingly.
    """
    price = read_basket_memo(transaction.memo, len(transaction.nft_transfers))
    if not _is_paid(transaction, price, move.receiver or ""):
        return None
    find = partial(_find_ended_listing, before=transaction.consensus_at, deadline=deadline)
    moved = transaction.nft_transfers
    prices = mirror_node().ask(*(partial(find, nft) for nft in moved))
    if None not in prices and sum(prices) == price and _are_paid(transaction, prices):
        by_nft = [*zip(moved, prices, strict=True)]
        own = next((each for nft, each in by_nft if (nft.token, nft.serial_no) == nft_id), None)
        if own is None:
            return None
        of_seller = sum(each for nft, each in by_nft if nft.sender == move.sender)
        return Sale(own, -transaction.find_paid(move.sender or "") * own // of_seller)
    current_app.logger.warning(
        "%s was a purchase of several NFTs for %s HBAR, but their listings do not say what each cost. They do"
        " not count as sales.",
        transaction.transaction_id,
        price,
    )
    return None


def _are_paid(transaction: Transaction, prices: Sequence[int]) -> bool:
    """Whether each seller in a basket earned the same fraction of its prices."""
    of_seller = Counter[str]()
    for nft, price in zip(transaction.nft_transfers, prices, strict=True):
        of_seller[nft.sender or ""] += price
    earned = {seller: transaction.find_earned(seller) for seller in of_seller}
    part = Fraction(sum(earned.values()), of_seller.total())
    # The marketplace's part of each NFT is rounded to a tinybar.
    rounding = len(prices)
    return all(
        abs(earned[seller] - part * price) <= rounding for seller, price in of_seller.items()
    )


def _find_ended_listing(moved: LedgerNftTransfer, before: int, deadline: Deadline) -> int | None:
    """The price at which its seller had listed an NFT just before a moment; None if the ledger shows none.

    Raises TransactionNotShown.
    """
    nft_id = NftId(moved.token, moved.serial_no)
    history = mirror_node().find_history(*nft_id, deadline, before - 1)
    entries = [entry for entry in history.entries if entry.consensus_at < before]
    last = next((entry for entry in entries if not entry.is_harmless), None)
    approval = last and mirror_node().find_transaction(last.consensus_at, deadline)
    is_short = (history.newest_at or 0) < before or (history.is_torn and last is None)
    if is_short or (last and approval is None):
        raise TransactionNotShown
    if approval is None or not approval.is_original or approval.payer != moved.sender:
        return None
    return read_listing_memo(approval.memo, *nft_id)


def _is_paid(transaction: Transaction, price: int | None, buyer: str) -> bool:
    """Whether the buyer paid what a memo says, in HBAR. A memo that says something else is logged."""
    paid = transaction.find_paid(buyer)
    if price is not None and paid != price * TINYBARS:
        current_app.logger.warning(
            "The memo of %s says %s HBAR, but %s paid %s. It does not count as a sale.",
            transaction.transaction_id,
            price,
            buyer,
            format_amount(paid),
        )
    return price is not None and paid == price * TINYBARS


class UnstoredHistory(NamedTuple):
    """The part of an NFT's history that is not stored yet, the oldest entry first."""

    entries: tuple[HistoryEntry, ...] = ()
    sales: Mapping[int, Sale] = {}  # through the marketplace, by consensus timestamp

    @property
    def end(self) -> HistoryEntry | None:
        """What ended the NFT: it was burned or wiped, or its token was deleted."""
        return next((entry for entry in self.entries if entry.name in ENDS), None)

    @property
    def last_owner(self) -> str | None:
        """The owner before the NFT was burned. None if these entries do not say."""
        receivers = [entry.receiver for entry in self.entries if entry.is_move]
        return (self.end and self.end.sender) or (receivers[-1] if receivers else None)

    @property
    def end_of_listing(self) -> HistoryEntry | None:
        """The entry that ended a listing of the stored state: usually its deletion."""
        ends = [entry for entry in self.entries if not entry.is_harmless]
        return next(
            (entry for entry in ends if entry.name == TransactionType.WITHDRAWAL),
            ends[0] if ends else None,
        )


def read_unstored_history(
    facts: NftFacts, before: NftRow, state: Mapping[str, Any], deadline: Deadline
) -> UnstoredHistory | None:
    """Find the entries between a stored NFT and its new state, and the prices of sales.

    Returns None if the mirror node shows the NFT's row, but not yet its whole history. Raises the ledger's
    errors. If the owner is the same, neither delays a listing's end for longer than replicas may lag.
    """
    nft, history, since = facts.nft, facts.history, find_stored_at(before)
    replicas = Replicas(deadline)
    is_taken_off = before["is_for_sale"] and not state["is_for_sale"]
    is_other = state["owner"] != before["owner"] or nft.is_deleted
    if not (history or is_other or is_taken_off or nft.modified_at > since):
        return UnstoredHistory()
    try:
        history = history or mirror_node().find_history(*nft.id, deadline, since)
        if _is_late(nft, history, replicas):
            return None
        entries = _name_treasuries(nft.token, _entries_between(before, nft, history), replicas)
        return UnstoredHistory(entries, _find_sales(nft.id, entries, replicas))
    except TransactionNotShown:
        return None
    except (LedgerUnreachable, LedgerAnswerInvalid):
        if is_other or not is_taken_off or replicas.may_lack(nft.modified_at):
            raise
        return UnstoredHistory()


def _is_late(nft: Nft, history: History, replicas: Replicas) -> bool:
    """Tell whether a history lacks the newest change, or one between pages, because a replica lags."""
    if history.is_torn and replicas.may_lack(history.entries[-1].consensus_at):
        return True
    if (history.newest_at or 0) < nft.modified_at:
        return replicas.may_lack(nft.modified_at)
    if not nft.is_deleted or any(entry.name in ENDS for entry in history.entries):
        return False
    # The deletion of a token changes the token's date, not those of its NFTs.
    token = mirror_node().find_token(nft.token, replicas.deadline)
    if token is None or not token.is_deleted:  # by an older replica
        return True
    return replicas.may_lack(token.modified_at or 0)


def _entries_between(before: NftRow, nft: Nft, history: History) -> tuple[HistoryEntry, ...]:
    """The entries after the stored state, up to the entry of the NFT's own row, the oldest first.

    A history may be newer than the row: later entries become events with the next row. A burned NFT or a
    deleted token gets no next row.
    """
    stored_at = find_stored_at(before)
    until_row = [
        entry
        for entry in history.entries
        if nft.is_deleted or entry.consensus_at <= nft.modified_at
    ]

    def is_after(entry: HistoryEntry) -> bool:
        # If the NFT was stored without a date, its history starts when the stored owner received it.
        is_before = stored_at == 0 and entry.is_move and entry.receiver == before["owner"]
        return entry.consensus_at > stored_at and not is_before

    return tuple(takewhile(is_after, until_row))[::-1]


def _name_treasuries(
    token: str, entries: tuple[HistoryEntry, ...], replicas: Replicas
) -> tuple[HistoryEntry, ...]:
    """Add the accounts to entries of a new treasury, which received the NFTs of the old one.

    The history has no accounts there. The transaction transfers serial number -1, which means all NFTs.
    Raises TransactionNotShown.
    """
    named = [*entries]
    nameless = [
        n
        for n, entry in enumerate(entries)
        if entry.name == TransactionType.COLLECTION_UPDATE and not entry.is_move
    ]
    for n in nameless[-MAX_NEW_TREASURIES:]:
        transaction = mirror_node().find_transaction(entries[n].consensus_at, replicas.deadline)
        if transaction is None and replicas.may_lack(entries[n].consensus_at):
            raise TransactionNotShown
        for moved in transaction.nft_transfers if transaction else ():
            if (moved.token, moved.serial_no) == (token, -1):
                named[n] = entries[n]._replace(sender=moved.sender, receiver=moved.receiver)
    return tuple(named)


def _find_sales(
    nft_id: NftId, entries: tuple[HistoryEntry, ...], replicas: Replicas
) -> dict[int, Sale]:
    """The newest sales, by consensus timestamp. Raises TransactionNotShown."""
    sales = {}
    for move in [entry for entry in entries if _may_be_sale(entry)][-MAX_SALES:]:
        try:
            sale = _find_sale(nft_id, move, replicas)
        except TransactionNotShown:
            if replicas.may_lack(move.consensus_at):
                raise
            continue
        if sale is not None:
            sales[move.consensus_at] = sale
    return sales


# The events


class Event(NamedTuple):
    kind: EventKind
    from_account: str | None = None
    to_account: str | None = None
    price: int | None = None  # HBAR
    previous_price: int | None = None
    transaction_id: str | None = None
    consensus_at: str | None = None
    offer_id: str | None = None  # of a schedule
    received: int | None = None  # tinybars


def find_events(
    facts: NftFacts, before: NftRow, state: Mapping[str, Any], past: UnstoredHistory
) -> list[Event]:
    """Find the events between a stored NFT and its new state."""
    on_ledger, is_listed = facts.nft, state["is_for_sale"]
    price_before = before["listing_price"] if before["is_listed"] else None
    owner, new_owner = before["owner"], state["owner"]
    events = [*_find_changes(on_ledger, owner, new_owner, price_before, past)]
    if events:
        price_before = None
    if on_ledger.is_deleted:
        events.append(
            Event(EventKind.BURNED, new_owner, None, None, price_before, *_write_entry(past.end))
        )
    elif price_before and not is_listed:
        is_decided = state["ledger_state"] != "undecided"
        ended_at = times.to_iso(on_ledger.modified_at) if is_decided else None
        by = _write_entry(past.end_of_listing, ended_at)
        events.append(Event(EventKind.WITHDRAWN, owner, None, None, price_before, *by))
    if is_listed:
        price, listed_at = state["listing_price"], state["last_listed_at"]
        if price_before is None or listed_at != before["last_listed_at"]:
            kind = EventKind.LISTED if price_before in (None, price) else EventKind.PRICE_CHANGED
            id = facts.transaction and str(facts.transaction.transaction_id)
            events.append(Event(kind, new_owner, None, price, price_before, id, listed_at))
    return events


def _write_entry(
    entry: HistoryEntry | None, date: str | None = None
) -> tuple[str | None, str | None]:
    """The transaction of an entry, and its date. Without an entry: no transaction, and ``date``."""
    if entry is None:
        return None, date
    return str(entry.transaction_id), times.to_iso(entry.consensus_at)


def _find_changes(
    on_ledger: Nft, owner: str, new_owner: str, price: int | None, past: UnstoredHistory
) -> Iterator[Event]:
    """Yield each change of owner, and the withdrawal before it. The first event has the listing's price."""
    for entry in past.entries:
        if entry.is_move:
            sale = past.sales.get(entry.consensus_at)
            kind = EventKind.SOLD if sale else EventKind.TRANSFERRED
            paid, received, offer_id = sale or (None, None, None)
            who = entry.sender, entry.receiver
            yield Event(kind, *who, paid, price, *_write_entry(entry), offer_id, received)
            owner, price = entry.receiver or owner, None
        elif price and entry.name == TransactionType.WITHDRAWAL:
            yield Event(EventKind.WITHDRAWN, owner, None, None, price, *_write_entry(entry))
            price = None
    if owner != new_owner:
        # The history is incomplete, or does not say who became the token's treasury.
        moved_at = times.to_iso(on_ledger.modified_at)
        yield Event(EventKind.TRANSFERRED, owner, new_owner, None, price, None, moved_at)


def store_events(db: Connection, events: Mapping[NftId, Iterable[Event]]) -> None:
    """Write the events of NFTs, at the end of the transaction that makes the changes."""
    seen_at = times.to_iso(times.now())
    rows = [
        event._asdict() | {"token": token, "serial_no": serial_no, "seen_at": seen_at}
        for (token, serial_no), of_nft in events.items()
        for event in of_nft
    ]
    if rows:
        insert_events(db, rows)


def insert_events(db: Connection, rows: Iterable[dict[str, Any]]) -> None:
    """Append events to the feed. No other transaction can write events until this one is visible."""
    services().database.lock_events(db)
    for row in rows:
        insert_event(db, row)
