"""Reads the past of an NFT: its history between the stored state and the new one, and the prices of sales."""

from collections.abc import Mapping
from functools import cached_property
from itertools import takewhile
from typing import Any, NamedTuple

from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.hedera.ids import NftId
from marketplace.ledger import ALLOWED_LAG, Deadline
from marketplace.ledger.objects import History, Nft, NftEvent
from marketplace.market import sale_prices
from marketplace.market.listing_rule import Facts
from marketplace.market.sale_prices import Sale, TransactionNotShown
from marketplace.market.stored_state import find_stored_at, is_newer
from marketplace.services import mirror_node
from marketplace.store.nfts import NftRow

MAX_SALES = 20  # of one NFT, the newest: only their prices are looked up
MAX_NEW_TREASURIES = 20  # the newest: only their accounts are looked up
ENDS = ("TOKENBURN", "TOKENWIPE", "TOKENDELETION")
WITHDRAWAL = "CRYPTODELETEALLOWANCE"


class Past(NamedTuple):
    """The part of an NFT's history that is not stored yet, the oldest entry first."""

    entries: tuple[NftEvent, ...] = ()
    sales: Mapping[int, Sale] = {}  # through the marketplace, by consensus timestamp

    @property
    def end(self) -> NftEvent | None:
        """What ended the NFT: it was burned or wiped, or its token was deleted."""
        return next((entry for entry in self.entries if entry.name in ENDS), None)

    @property
    def last_owner(self) -> str | None:
        """The owner before the NFT was burned. None if these entries do not say."""
        receivers = [entry.receiver for entry in self.entries if entry.is_move]
        return (self.end and self.end.sender) or (receivers[-1] if receivers else None)

    @property
    def end_of_listing(self) -> NftEvent | None:
        """The entry that ended a listing of the stored state: usually its deletion."""
        ends = [entry for entry in self.entries if not entry.is_harmless]
        return next(
            (entry for entry in ends if entry.name == WITHDRAWAL), ends[0] if ends else None
        )


class Replicas:
    """The mirror node's replicas, which may lag. Asks for the newest block at most once."""

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline

    @cached_property
    def _present(self) -> int:
        return mirror_node().find_present(self.deadline)

    def may_lack(self, moment: int) -> bool:
        """Tell whether a replica may still lack a moment's transactions."""
        return moment > self._present - ALLOWED_LAG


def read_past(
    facts: Facts, before: NftRow, state: Mapping[str, Any], deadline: Deadline
) -> Past | None:
    """Find the entries between a stored NFT and its new state, and the prices of sales.

    Returns None if the mirror node shows the NFT's row, but not yet its whole history. Raises the ledger's
    errors. If the owner is the same, neither delays a listing's end for longer than replicas may lag.
    """
    nft, history = facts.nft, facts.history
    replicas = Replicas(deadline)
    is_taken_off = before["is_for_sale"] and not state["is_for_sale"]
    is_other = state["owner"] != before["owner"] or nft.is_deleted
    if not (history or is_other or is_taken_off or is_newer(nft, before)):
        return Past()
    try:
        history = history or _find_history(nft, before, deadline)
        if _is_late(nft, history, replicas):
            return None
        entries = _name_treasuries(nft.token, _entries_between(before, nft, history), replicas)
        return Past(entries, _find_sales(nft.id, entries, replicas))
    except TransactionNotShown:
        return None
    except (LedgerUnreachable, LedgerAnswerInvalid):
        if is_other or not is_taken_off or replicas.may_lack(nft.modified_at):
            raise
        return Past()


def _find_history(nft: Nft, before: NftRow, deadline: Deadline) -> History:
    return mirror_node().find_history(*nft.id, deadline, find_stored_at(before))


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


def _entries_between(before: NftRow, nft: Nft, history: History) -> tuple[NftEvent, ...]:
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

    def is_after(entry: NftEvent) -> bool:
        # If the NFT was stored without a date, its history starts when the stored owner received it.
        is_before = stored_at == 0 and entry.is_move and entry.receiver == before["owner"]
        return entry.consensus_at > stored_at and not is_before

    return tuple(takewhile(is_after, until_row))[::-1]


def _name_treasuries(
    token: str, entries: tuple[NftEvent, ...], replicas: Replicas
) -> tuple[NftEvent, ...]:
    """Add the accounts to entries of a new treasury, which received the NFTs of the old one.

    The history has no accounts there. The transaction transfers serial number -1, which means all NFTs.
    Raises TransactionNotShown.
    """
    named = [*entries]
    nameless = [
        n for n, entry in enumerate(entries) if entry.name == "TOKENUPDATE" and not entry.is_move
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
    nft_id: NftId, entries: tuple[NftEvent, ...], replicas: Replicas
) -> dict[int, Sale]:
    """The newest sales, by consensus timestamp. Raises TransactionNotShown."""
    sales = {}
    for move in [entry for entry in entries if sale_prices.may_be_sale(entry)][-MAX_SALES:]:
        try:
            sale = sale_prices.find_sale(nft_id, move, replicas.deadline)
        except TransactionNotShown:
            if replicas.may_lack(move.consensus_at):
                raise
            continue
        if sale is not None:
            sales[move.consensus_at] = sale
    return sales
