"""Reconciles a stored NFT with the ledger: no other module writes whether it is for sale.

The facts are read first, without a lock; all changes that follow are written in one transaction. Each write
carries the ledger's own date of its facts. Older facts never replace newer ones, in whatever order they
come. Nothing is written while facts contradict each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from flask import current_app

from marketplace.events import EventKind
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.ledger.clean_text import clean_text
from marketplace.ledger.mirror_schemas import Nft
from marketplace.market import collection_facts, listing_rule, nft_events, recheck_queue
from marketplace.market.listing_rule import Facts, ForSale, NotForSale, Undecided, Verdict
from marketplace.market.nft_events import Event
from marketplace.market.past import Past, may_follow, read_past
from marketplace.market.recheck_queue import What, recheck_later
from marketplace.market.stored_state import (
    find_stored_at,
    is_decided_by,
    is_gone,
    is_newer,
    is_older,
    is_undecided,
)
from marketplace.services import mirror_node
from marketplace.store import nfts, traits
from marketplace.store.database import read, write
from marketplace.store.rows import Connection, NftRow

TRIES = 3  # while others write the same NFT
BEHIND = "the mirror node does not show its whole history yet"
BETWEEN_PAGES = "its history has several pages, and a replica may lack what is between them"
LEDGER_SECONDS = 4  # that a request may spend on the mirror node in all
UNKNOWN_FILE_TYPE = "application/octet-stream"
MAX_POINTER = 10_000  # letters kept

Columns = dict[str, Any]


class Reconciliation(NamedTuple):
    """The result of reconciling one NFT."""

    before: NftRow | None  # the NFT as it was stored; None if it was not
    nft: NftRow | None  # as it is stored now; None if it was gone before it was stored
    verdict: Verdict | None  # None if the stored NFT is up to date

    @property
    def is_decided(self) -> bool:
        return not isinstance(self.verdict, Undecided)

    @property
    def reason(self) -> str:
        """Why it is not for sale, or not decided."""
        return self.verdict.reason if isinstance(self.verdict, NotForSale | Undecided) else ""


class Judgement(NamedTuple):
    """What the ledger showed of an NFT, and the verdict beside what was stored then."""

    before: NftRow | None
    verdict: Verdict | None  # None if the stored NFT is up to date
    facts: Facts


class Change(NamedTuple):
    """What is written about one NFT."""

    judgement: Judgement
    state: Columns  # empty if nothing is decided
    past: Past = Past()

    @property
    def nft(self) -> Nft:
        return self.judgement.facts.nft

    @property
    def before(self) -> NftRow | None:
        return self.judgement.before

    def find_events(self, before: NftRow) -> list[Event]:
        """The events between the stored NFT, or the record just inserted, and the new state."""
        events = []
        if self.before is None:
            events.append(Event(EventKind.ADDED, to_account=before["owner"]))
        if self.state:
            facts = self.judgement.facts
            events += nft_events.find_events(facts, before, self.state, self.past)
        return events


def refresh(
    token: str, serial_no: int, deadline: Deadline, *, force: bool = False
) -> Reconciliation:
    """Read a stored NFT from the ledger, and reconcile it. Raises the ledger's errors.

    ``force``: see reconcile().
    """
    nft_id = NftId(token, serial_no)
    return refresh_all([nft_id], deadline, force=force)[nft_id]


def refresh_all(
    nft_ids: Sequence[NftId], deadline: Deadline, *, force: bool = False
) -> dict[NftId, Reconciliation]:
    """Read stored NFTs from the ledger, all at once, and store what follows, in one transaction.

    ``force``: see reconcile(). Raises the ledger's errors.
    """
    if not nft_ids:
        return {}
    stored = _list_stored(nft_ids)
    looks = [partial(_look, nft_id, stored.get(nft_id), force, deadline) for nft_id in nft_ids]
    found = dict(zip(nft_ids, mirror_node().ask(*looks), strict=True))
    judgements = {nft_id: judgement for nft_id, judgement in found.items() if judgement}
    vanished = {
        nft_id: _vanished(stored.get(nft_id)) for nft_id in nft_ids if nft_id not in judgements
    }
    return _reconcile_all(judgements, deadline, force=force) | vanished


def _list_stored(nft_ids: Iterable[NftId]) -> dict[NftId, NftRow]:
    rows = nfts.list_nfts(read(), [*nft_ids])
    return {NftId(row["token"], row["serial_no"]): row for row in rows}


def _look(
    nft_id: NftId, before: NftRow | None, force: bool, deadline: Deadline
) -> Judgement | None:
    """Read an NFT from the ledger, and apply the rule. It does not use the database."""
    on_ledger = mirror_node().find_nft(*nft_id, deadline)
    return judge(on_ledger, before, deadline, force=force) if on_ledger else None


def _vanished(nft: NftRow | None) -> Reconciliation:
    reason = "the mirror node no longer shows it, though NFTs do not vanish"
    return Reconciliation(nft, nft, Undecided(reason))


def may_differ(on_ledger: Nft, stored: NftRow | None) -> bool:
    """Tell whether the ledger's row of an NFT may differ from the stored one."""
    may_spend = on_ledger.spender == current_app.config["ACCOUNT_ID"]
    if stored is None:
        return may_spend and not listing_rule.is_gone(on_ledger)
    if is_gone(stored):
        return False
    if on_ledger.is_deleted:
        return True
    if _pointer(on_ledger) != stored["metadata"] or is_undecided(stored):
        return True
    if may_spend:
        return not (is_older(on_ledger, stored) or is_decided_by(on_ledger, stored))
    is_other = bool(stored["is_for_sale"]) or on_ledger.owner != stored["owner"]
    return is_other or is_newer(on_ledger, stored)


def _pointer(on_ledger: Nft) -> str | None:
    return clean_text(on_ledger.pointer, limit=MAX_POINTER)


def reconcile(
    on_ledger: Nft, deadline: Deadline, *, force: bool = False, first: Judgement | None = None
) -> Reconciliation:
    """Decide whether an NFT is for sale, and store the result. An NFT that is not stored yet is added.

    ``force`` reads all facts, even if the NFT is listed and its row has not changed. ``first``: what was
    read already, unless the stored NFT has changed since. Raises the ledger's and the database's errors;
    then nothing is written.
    """
    if first is None:
        before = nfts.get_nft(read(), *on_ledger.id)
        first = judge(on_ledger, before, deadline, force=force)
    return _reconcile_all({on_ledger.id: first}, deadline, force=force)[on_ledger.id]


def _reconcile_all(
    judgements: Mapping[NftId, Judgement], deadline: Deadline, *, force: bool
) -> dict[NftId, Reconciliation]:
    """Store what follows from judgements, in one transaction.

    An NFT that another process wrote meanwhile is judged again, and written by another transaction.
    """
    open_, done = dict(judgements), dict[NftId, Reconciliation]()
    for _ in range(TRIES):
        stored, changes = _list_stored(open_), []
        for nft_id, judgement in open_.items():
            before = stored.get(nft_id)
            if judgement.before != before:
                open_[nft_id] = judge(judgement.facts.nft, before, deadline, force=force)
            planned = _plan(open_[nft_id], deadline)
            if isinstance(planned, Reconciliation):
                done[nft_id] = planned
            else:
                changes.append(planned)
        written = _write(changes, deadline)
        for change in changes:
            if nft := written.get(change.nft.id):
                verdict = change.judgement.verdict
                done[change.nft.id] = Reconciliation(change.before, nft, verdict)
        open_ = {nft_id: each for nft_id, each in open_.items() if nft_id not in done}
        if not open_:
            return done
    raced = Undecided("other processes wrote it at the same time")
    stored = _list_stored(open_)
    return done | {
        nft_id: Reconciliation(stored.get(nft_id), stored.get(nft_id), raced) for nft_id in open_
    }


def add(judgements: Iterable[Judgement], deadline: Deadline) -> None:
    """Store NFTs that were not stored when they were judged, all or none, in one transaction.

    One that another process has stored meanwhile is left alone. Raises the ledger's and the database's
    errors; then nothing is written.
    """
    _write([_plan_new(judgement) for judgement in judgements], deadline)


def _plan(judgement: Judgement, deadline: Deadline) -> Reconciliation | Change:
    """Find what to write about an NFT; or the result, if there is nothing to write. Asks the ledger."""
    before, verdict, facts = judgement
    on_ledger = facts.nft
    if before is None:
        is_gone = listing_rule.is_gone(on_ledger)
        return Reconciliation(None, None, verdict) if is_gone else _plan_new(judgement)
    state = _state(on_ledger, before, verdict)
    if {**before} | state == {**before}:
        return Reconciliation(before, before, verdict)
    past = read_past(facts, before, state, deadline)
    if past is None:
        return Reconciliation(before, before, Undecided(BEHIND))
    if on_ledger.owner is None and past.last_owner:
        state["owner"] = past.last_owner
    return Change(judgement, state, past)


def _plan_new(judgement: Judgement) -> Change:
    return Change(judgement, _state(judgement.facts.nft, None, judgement.verdict))


def judge(
    on_ledger: Nft, before: NftRow | None, deadline: Deadline, *, force: bool = False
) -> Judgement:
    """Read the facts about an NFT from the ledger, and apply the rule. It does not use the database."""
    facts, market = Facts(on_ledger), current_app.config["ACCOUNT_ID"]
    if before and is_gone(before):
        return Judgement(before, None, facts)
    if before and is_older(on_ledger, before) and not on_ledger.is_deleted:
        older = Undecided("the mirror node shows an older state of it")
        return Judgement(before, older, facts)
    if _is_row_enough(on_ledger):
        return Judgement(before, listing_rule.decide(facts, market), facts)
    if before and before["is_for_sale"] and not may_differ(on_ledger, before) and not force:
        return Judgement(before, None, facts)
    since = find_stored_at(before) if before else times.now()
    history = mirror_node().find_history(*on_ledger.id, deadline, since)
    facts, last = Facts(on_ledger, history), history.last_event
    is_of_later_page = last is not None and last.consensus_at < history.page_ends_at
    if is_of_later_page and may_follow(history.page_ends_at, deadline):
        return Judgement(before, Undecided(BETWEEN_PAGES), facts)
    if last:
        transaction = mirror_node().find_transaction(last.consensus_at, deadline)
        facts = Facts(on_ledger, history, transaction)
    return Judgement(before, listing_rule.decide(facts, market), facts)


def _is_row_enough(on_ledger: Nft) -> bool:
    return listing_rule.is_decided_by_row(on_ledger, current_app.config["ACCOUNT_ID"])


def _state(on_ledger: Nft, before: NftRow | None, verdict: Verdict | None) -> Columns:
    """The columns of an NFT that a verdict sets; none if it decides nothing."""
    ledger_at = times.to_iso(on_ledger.modified_at)
    owner = on_ledger.owner or (before and before["owner"])
    seen = {"owner": owner, "metadata": _pointer(on_ledger), "ledger_at": ledger_at}
    match verdict:
        case ForSale(price, listed_at):
            listing = {"listing_price": price, "last_listed_at": times.to_iso(listed_at)}
            return listing | seen | {"is_for_sale": 1, "ledger_state": "decided"}
        case NotForSale():
            if on_ledger.is_deleted:  # its row may be older than the stored state
                gone_at = max(ledger_at, before["ledger_at"]) if before else ledger_at
                state: Columns = {"ledger_state": "gone", "ledger_at": gone_at}
            elif before and before["is_for_sale"] and is_decided_by(on_ledger, before):
                # It was for sale by facts of the same date: one of the two answers is wrong.
                state = {"ledger_state": "undecided"}
            else:
                state = {"ledger_state": "row_only" if _is_row_enough(on_ledger) else "decided"}
            return seen | {"is_for_sale": 0, "listing_price": 0} | state
    return {}


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

    Returns the rows that were written: without those of NFTs that other processes wrote meanwhile. Looks up
    the collections of new NFTs first.
    """
    if not changes:
        return {}
    by_id = {change.nft.id: change for change in sorted(changes, key=lambda change: change.nft.id)}
    tokens = sorted({nft_id.token for nft_id, change in by_id.items() if change.before is None})
    collections = {token: collection_facts.look_up(token, deadline) for token in tokens}
    with write() as db:
        return _store(db, by_id, collections)


def _store(
    db: Connection,
    changes: Mapping[NftId, Change],
    collections: Mapping[str, tuple[str | None, Columns | None]],
) -> dict[NftId, NftRow]:
    """Write changes in the order of the NFTs' ids.

    NFTs come before collections, and collections before the queue, so that no two transactions wait for each
    other.
    """
    known = {nft_id: row for nft_id, change in changes.items() if (row := change.before)}
    new = {
        nft_id: _insert(db, changes[nft_id].nft, collections[nft_id.token][0])
        for nft_id in changes
        if nft_id not in known
    }
    added = {nft_id: row for nft_id, row in new.items() if row}
    marked = {nft_id: _mark(db, changes[nft_id], row) for nft_id, row in known.items()}
    for token in dict.fromkeys(nft_id.token for nft_id in added):
        collection_facts.store(db, token, collections[token][1])
    marked |= {nft_id: _mark(db, changes[nft_id], row) for nft_id, row in added.items()}
    before, after = known | added, {nft_id: row for nft_id, row in marked.items() if row}
    for nft_id in sorted(after):
        _note_in_collection(db, before[nft_id], after[nft_id])
    now = times.now()
    rechecks = [recheck_later(What("nft", *id), changes[id].nft.modified_at, now) for id in added]
    rechecks += [
        recheck_later(What("account", row["owner"]), changes[id].nft.modified_at, now)
        for id, row in after.items()
        if _is_new_listing(before[id], row)
    ]
    recheck_queue.enqueue_all(db, rechecks, now)
    nft_events.store(db, {nft_id: changes[nft_id].find_events(before[nft_id]) for nft_id in after})
    return after


def _insert(db: Connection, on_ledger: Nft, token_name: str | None) -> NftRow | None:
    """Insert a new NFT, which is not decided yet. Returns None if another process was first."""
    # Older facts are refused from now on.
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


def _note_in_collection(db: Connection, before: NftRow, nft: NftRow) -> None:
    """Write what follows for the NFT's collection."""
    if is_gone(nft):
        traits.replace_traits(db, nft, nft)
    listed, listed_before = nft["is_listed"], before["is_listed"]
    if (listed, nft["listing_price"]) != (listed_before, before["listing_price"]):
        change = listed - listed_before
        collection_facts.note_listed(db, nft["token"], change)


def _is_new_listing(before: NftRow, nft: NftRow) -> bool:
    was_listed = before["is_for_sale"] and before["owner"] == nft["owner"]
    return bool(nft["is_for_sale"] and not was_listed)
