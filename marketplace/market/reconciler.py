"""Reconciles a stored NFT with the ledger: no other module writes whether it is for sale.

The facts are read first, without a lock; all changes that follow are written in one transaction. Each write
carries the ledger's own date of its facts. Older facts never replace newer ones, in whatever order they
come. Nothing is written while facts contradict each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from flask import current_app

from marketplace.events import EventKind
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.ledger.objects import Nft
from marketplace.market import collection_facts, history, listing_rule
from marketplace.market.history import Event, UnstoredHistory, read_unstored_history
from marketplace.market.listing_rule import ForSale, NftFacts, NotForSale, Undecided, Verdict
from marketplace.services import mirror_node, read, write
from marketplace.store import nft_collections, nfts, offers, traits
from marketplace.store.connection import Connection
from marketplace.store.nfts import NftRow, find_stored_at, is_gone, is_undecided
from marketplace.store.rechecks import Recheck, What, enqueue_all, recheck_later
from marketplace.text import clean_text

FOREVER = 2**63 - 1  # the consensus time of facts that nothing can follow
TRIES = 3  # while others write the same NFT
BEHIND = "the mirror node does not show its whole history yet"
LEDGER_SECONDS = 4  # that a request may spend on the mirror node in all
UNKNOWN_FILE_TYPE = "application/octet-stream"
MAX_POINTER = 10_000  # letters kept

Columns = dict[str, Any]


class Reconciliation(NamedTuple):
    """The result of reconciling one NFT."""

    before: NftRow | None  # the NFT as it was stored; None if it was not
    nft: NftRow | None  # as it is stored now; None if it is not
    verdict: Verdict
    facts_at: int = 0  # the consensus time of the NFT's row on the ledger, in nanoseconds

    @property
    def is_decided(self) -> bool:
        return not isinstance(self.verdict, Undecided)

    @property
    def reason(self) -> str:
        """Why it is not for sale, or not decided."""
        return "" if isinstance(self.verdict, ForSale) else self.verdict.reason


class Judgement(NamedTuple):
    """What the ledger showed of an NFT, and the verdict beside what was stored then."""

    before: NftRow | None
    verdict: Verdict
    facts: NftFacts | None = None  # None: it was gone already, or the mirror node does not show it
    past: UnstoredHistory = UnstoredHistory()

    @property
    def facts_at(self) -> int:
        """The consensus time of the NFT's row on the ledger, in nanoseconds."""
        if self.facts is None:
            return FOREVER if self.before and is_gone(self.before) else 0
        on_ledger = self.facts.nft
        return FOREVER if on_ledger.is_deleted else on_ledger.modified_at

    @property
    def state(self) -> Columns:
        """The columns of the NFT that the verdict sets; none if it decides nothing."""
        if self.facts is None or isinstance(self.verdict, Undecided):
            return {}
        return _describe(self.facts.nft, self.before, self.verdict, self.past.last_owner)


class Change(NamedTuple):
    """What is written about one NFT."""

    facts: NftFacts
    before: NftRow | None
    state: Columns  # empty if nothing is decided
    past: UnstoredHistory

    @property
    def nft(self) -> Nft:
        return self.facts.nft

    def find_events(self, before: NftRow) -> list[Event]:
        """The events between the stored NFT, or the record just inserted, and the new state."""
        events = []
        if self.before is None:
            events.append(Event(EventKind.ADDED, to_account=before["owner"]))
        if self.state:
            events += history.find_events(self.facts, before, self.state, self.past)
        return events


class Written(NamedTuple):
    """One change that was written: the NFT's row before and after it, and the events between."""

    change: Change
    before: NftRow  # of a new NFT: the record just inserted
    after: NftRow
    events: list[Event]

    @property
    def nft_id(self) -> NftId:
        return self.change.nft.id

    def list_rechecks(self, now: int) -> list[Recheck]:
        """What to check later, as the NFT or its seller is new here."""
        whats = []
        if self.change.before is None:
            whats.append(What("nft", *self.nft_id))
        was_listed = self.before["is_for_sale"] and self.before["owner"] == self.after["owner"]
        if self.after["is_for_sale"] and not was_listed:
            whats.append(What("account", self.after["owner"]))
        return [recheck_later(what, self.change.nft.modified_at, now) for what in whats]


def reconcile(nft_ids: Sequence[NftId], deadline: Deadline) -> dict[NftId, Reconciliation]:
    """Compare NFTs with the ledger, all at once, and store the results in one transaction.

    Adds an NFT that is not stored if the marketplace may spend it. If another process writes an NFT
    meanwhile, reads and writes that NFT again. Raises the ledger's and the database's errors.
    """
    done, left = dict[NftId, Reconciliation](), [*nft_ids]
    for _ in range(TRIES):
        if left:
            done |= _reconcile_once(left, deadline)
            left = [nft_id for nft_id in left if nft_id not in done]
    stored = nfts.get_nfts(read(), left)
    raced = Undecided("other processes wrote it at the same time")
    done |= {id: Reconciliation(stored.get(id), stored.get(id), raced) for id in left}
    return {nft_id: done[nft_id] for nft_id in nft_ids}


def _reconcile_once(nft_ids: Sequence[NftId], deadline: Deadline) -> dict[NftId, Reconciliation]:
    """Read NFTs from the ledger, and store the results. Leaves out NFTs that others wrote meanwhile."""
    stored = nfts.get_nfts(read(), nft_ids)
    questions = [partial(_look, nft_id, stored.get(nft_id), deadline) for nft_id in nft_ids]
    found = zip(nft_ids, mirror_node().ask(*questions), strict=True)
    judged = {nft_id: _read_past(judgement, deadline) for nft_id, judgement in found}
    changes = {nft_id: change for nft_id, each in judged.items() if (change := _plan(each))}
    written = _write([*changes.values()], deadline)
    now_stored = {id: each.before for id, each in judged.items() if id not in changes} | written
    return {
        id: Reconciliation(each.before, now_stored[id], each.verdict, each.facts_at)
        for id, each in judged.items()
        if id in now_stored
    }


def _look(nft_id: NftId, before: NftRow | None, deadline: Deadline) -> Judgement:
    """Read an NFT from the ledger, and apply the rule. It does not use the database."""
    if before and is_gone(before):
        return Judgement(before, NotForSale(listing_rule.GONE))
    return judge(mirror_node().find_nft(*nft_id, deadline), before, deadline)


def judge(on_ledger: Nft | None, before: NftRow | None, deadline: Deadline) -> Judgement:
    """Read the facts beside an NFT's row on the ledger, and apply the rule. It does not use the database."""
    if on_ledger is None and before is None:
        return Judgement(None, NotForSale("the mirror node does not show it"))
    if on_ledger is None:
        reason = "the mirror node no longer shows it, though NFTs do not vanish"
        return Judgement(before, Undecided(reason))
    facts, market = NftFacts(on_ledger), current_app.config["ACCOUNT_ID"]
    if before and _is_older(on_ledger, before) and not on_ledger.is_deleted:
        older = Undecided("the mirror node shows an older state of it")
        return Judgement(before, older, facts)
    if listing_rule.needs_history(on_ledger, market):
        since = find_stored_at(before) if before else times.now()
        entries = mirror_node().find_history(*on_ledger.id, deadline, since)
        last = entries.last_event
        transaction = last and mirror_node().find_transaction(last.consensus_at, deadline)
        facts = NftFacts(on_ledger, entries, transaction)
    return Judgement(before, listing_rule.decide(facts, market), facts)


def _read_past(judgement: Judgement, deadline: Deadline) -> Judgement:
    """Add what happened since the stored state. Nothing is decided while the mirror node does not show it."""
    before, facts, state = judgement.before, judgement.facts, judgement.state
    if facts is None or before is None or not _differs(state, before):
        return judgement
    past = read_unstored_history(facts, before, state, deadline)
    if past is None:
        return judgement._replace(verdict=Undecided(BEHIND))
    return judgement._replace(past=past)


def _plan(judgement: Judgement) -> Change | None:
    """What to write about an NFT, if anything."""
    before, verdict, facts, past = judgement
    if facts is None:
        return None
    if before:
        is_needed = _differs(judgement.state, before)
    else:
        # Do not store an undecided NFT as unlisted: it may be listed since before lastSync.
        is_needed = may_differ(facts.nft, None) and not isinstance(verdict, Undecided)
    return Change(facts, before, judgement.state, past) if is_needed else None


def _differs(state: Columns, before: NftRow) -> bool:
    return {**before} | state != {**before}


def add(judgements: Iterable[Judgement], deadline: Deadline) -> None:
    """Store NFTs that were not stored when they were judged, all or none, in one transaction.

    Skips an NFT that another process has stored meanwhile. Raises the ledger's and the database's errors;
    then nothing is written.
    """
    changes = [Change(each.facts, None, each.state, each.past) for each in judgements if each.facts]
    _write(changes, deadline)


# The ledger's row of an NFT beside the stored one


def may_differ(on_ledger: Nft, stored: NftRow | None) -> bool:
    """Tell whether the ledger's row of an NFT may differ from the stored one."""
    may_spend = on_ledger.spender == current_app.config["ACCOUNT_ID"]
    if stored is None:
        return may_spend and not on_ledger.is_gone
    if is_gone(stored):
        return False
    if on_ledger.is_deleted:
        return True
    if _pointer(on_ledger) != stored["metadata"] or is_undecided(stored):
        return True
    if may_spend:
        return not (_is_older(on_ledger, stored) or _is_judged(on_ledger, stored))
    is_other = bool(stored["is_for_sale"]) or on_ledger.owner != stored["owner"]
    return is_other or on_ledger.modified_at > find_stored_at(stored)


def _is_older(on_ledger: Nft, stored: NftRow) -> bool:
    return on_ledger.modified_at < find_stored_at(stored)


def _is_judged(on_ledger: Nft, stored: NftRow) -> bool:
    """Tell whether the stored state is the verdict on all facts of this row's date."""
    is_of_row = on_ledger.modified_at == find_stored_at(stored)
    return is_of_row and stored["ledger_state"] == "decided"


def _pointer(on_ledger: Nft) -> str | None:
    return clean_text(on_ledger.pointer, limit=MAX_POINTER)


# What is written


def _describe(
    on_ledger: Nft, before: NftRow | None, verdict: ForSale | NotForSale, last_owner: str | None
) -> Columns:
    """The columns of an NFT that a verdict sets. ``last_owner``: of an NFT that was burned, if known."""
    ledger_at, market = times.to_iso(on_ledger.modified_at), current_app.config["ACCOUNT_ID"]
    owner = on_ledger.owner or last_owner or (before and before["owner"])
    seen = {"owner": owner, "metadata": _pointer(on_ledger), "ledger_at": ledger_at}
    if isinstance(verdict, ForSale):
        listed_at = times.to_iso(verdict.listed_at)
        listing = {"listing_price": verdict.listing_price, "last_listed_at": listed_at}
        return listing | seen | {"is_for_sale": 1, "ledger_state": "decided"}
    if on_ledger.is_deleted:  # its row may be older than the stored state
        gone_at = max(ledger_at, before["ledger_at"]) if before else ledger_at
        state: Columns = {"ledger_state": "gone", "ledger_at": gone_at}
    elif before and before["is_for_sale"] and _is_judged(on_ledger, before):
        # Facts of the same date said it was for sale: one of the two answers is wrong.
        state = {"ledger_state": "undecided"}
    else:
        is_read = listing_rule.needs_history(on_ledger, market)
        state = {"ledger_state": "decided" if is_read else "row_only"}
    return seen | {"is_for_sale": 0, "listing_price": 0} | state


def new_record(on_ledger: Nft, token_name: str | None) -> Columns:
    """The columns of an NFT that is not stored yet. The watcher adds metadata and image soon."""
    return {
        "token": on_ledger.token,
        "serial_no": on_ledger.serial_no,
        "owner": on_ledger.owner,
        "ledger_at": times.to_iso(on_ledger.modified_at),
        "ledger_state": "row_only",
        "metadata": _pointer(on_ledger),
        "name": f"{clean_text(token_name) or on_ledger.token} #{on_ledger.serial_no}",
        "file_type": UNKNOWN_FILE_TYPE,
        "attributes": None,
        "image": None,
        "original_image_url": None,
        "missing": "it was not tried for yet",
        "attempts": 0,
        "retry_at": times.to_iso(times.now()),
    }


def _write(changes: Sequence[Change], deadline: Deadline) -> dict[NftId, NftRow]:
    """Write changes of NFTs with their events, in one transaction.

    Returns the written rows. Skips NFTs that other processes wrote meanwhile. Looks up the collections of new
    NFTs first.
    """
    if not changes:
        return {}
    by_id = {change.nft.id: change for change in sorted(changes, key=lambda change: change.nft.id)}
    tokens = sorted({nft_id.token for nft_id, change in by_id.items() if change.before is None})
    collections = {token: collection_facts.look_up(token, deadline) for token in tokens}
    with write() as db:
        return {each.nft_id: each.after for each in _store(db, by_id, collections)}


def _store(
    db: Connection,
    changes: Mapping[NftId, Change],
    collections: Mapping[str, tuple[str | None, Columns | None]],
) -> list[Written]:
    """Write changes in the order of the NFTs' ids.

    NFTs come before collections, collections before offers, offers before the queue, and the queue before
    the feed, so that no two transactions wait for each other.
    """
    new = {
        nft_id: _insert(db, change.nft, collections[nft_id.token][0])
        for nft_id, change in changes.items()
        if change.before is None
    }
    marked = {
        nft_id: _mark(db, change, change.before)
        for nft_id, change in changes.items()
        if change.before
    }
    written, stored_tokens = list[Written](), set[str]()
    for nft_id, change in changes.items():
        if added := new.get(nft_id):
            if nft_id.token not in stored_tokens:  # counts listings before any is marked
                collection_facts.store(db, nft_id.token, collections[nft_id.token][1])
                stored_tokens.add(nft_id.token)
            marked[nft_id] = _mark(db, change, added)
        before, after = change.before or added, marked.get(nft_id)
        if before and after:
            written.append(Written(change, before, after, change.find_events(before)))
            _note_in_collection(db, written[-1])
    events = {each.nft_id: each.events for each in written}
    _note_accepted(db, chain(*events.values()))
    now = times.now()
    enqueue_all(db, [recheck for each in written for recheck in each.list_rechecks(now)], now)
    history.store_events(db, events)
    return written


def _insert(db: Connection, on_ledger: Nft, token_name: str | None) -> NftRow | None:
    """Insert a new NFT, still undecided. Returns None if another process was first."""
    # From now on, older facts are refused.
    record = new_record(on_ledger, token_name) | {"ledger_state": "undecided"}
    return nfts.insert_nft(db, record)


def _mark(db: Connection, change: Change, before: NftRow) -> NftRow | None:
    """Write an NFT's new state. Returns None if it changed meanwhile."""
    key, state = change.nft.id, change.state
    if not state:
        return before
    columns = key._asdict() | {"last_listed_at": None} | state
    nft = nfts.mark_reconciled(db, columns, before)
    if nft and nft["metadata"] != state["metadata"]:
        nft = nfts.mark_pointer(db, *key, state["metadata"], times.to_iso(times.now()))
    return nft


def _note_accepted(db: Connection, events: Iterable[Event]) -> None:
    """Mark the offers that sold NFTs as executed."""
    sold = {event.offer_id: event.consensus_at for event in events if event.offer_id}
    for offer_id in sorted(sold):
        offers.mark_executed(db, offer_id, sold[offer_id])


def _note_in_collection(db: Connection, written: Written) -> None:
    """Write what follows for the NFT's collection."""
    before, nft = written.before, written.after
    if is_gone(nft):
        traits.replace_traits(db, nft, nft)
    listed, listed_before = nft["is_listed"], before["is_listed"]
    if (listed, nft["listing_price"]) != (listed_before, before["listing_price"]):
        note_listed(db, nft["token"], listed - listed_before)
    for event in written.events:
        if event.kind is EventKind.SOLD:
            nft_collections.add_sale(db, event._asdict() | written.nft_id._asdict())


def note_listed(db: Connection, token: str, change: int) -> None:
    """Add to a collection's count of listed NFTs: 1 for a new listing, -1 for its end, 0 for a new price.

    After a new listing, a collection that was due only daily is read again within a minute.
    """
    nft_collections.add_listed(db, token, change)
    if change <= 0:
        return
    now = times.now()
    soon, beyond = times.to_iso(now + times.MINUTE), times.to_iso(now + times.HOUR)
    nft_collections.mark_collection_due(db, token, soon, beyond)
