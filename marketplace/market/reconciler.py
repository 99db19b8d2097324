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
from marketplace.ledger.objects import Nft
from marketplace.market import collection_facts, history, listing_rule
from marketplace.market.history import Event, UnstoredHistory, is_newer, read_unstored_history
from marketplace.market.listing_rule import ForSale, NftFacts, NotForSale, Undecided, Verdict
from marketplace.services import mirror_node, read, write
from marketplace.store import nft_collections, nfts, traits
from marketplace.store.connection import Connection
from marketplace.store.nfts import NftRow, find_stored_at, is_gone, is_undecided
from marketplace.store.rechecks import What, enqueue_all, recheck_later
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
    facts: NftFacts

    def conclude(self, nft: NftRow | None, verdict: Verdict | None = None) -> Reconciliation:
        """The result, with the NFT's stored row. ``verdict`` replaces this judgement's verdict."""
        on_ledger = self.facts.nft
        facts_at = FOREVER if on_ledger.is_deleted else on_ledger.modified_at
        return Reconciliation(self.before, nft, verdict or self.verdict, facts_at)


class Change(NamedTuple):
    """What is written about one NFT."""

    judgement: Judgement
    state: Columns  # empty if nothing is decided
    past: UnstoredHistory = UnstoredHistory()

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
            events += history.find_events(facts, before, self.state, self.past)
        return events


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
    found = mirror_node().ask(*questions)
    planned = [
        each if isinstance(each, Reconciliation) else _plan(each, deadline) for each in found
    ]
    done = {
        nft_id: each
        for nft_id, each in zip(nft_ids, planned, strict=True)
        if isinstance(each, Reconciliation)
    }
    changes = [each for each in planned if isinstance(each, Change)]
    written = _write(changes, deadline)
    return done | {
        change.nft.id: change.judgement.conclude(written[change.nft.id])
        for change in changes
        if change.nft.id in written
    }


def _look(nft_id: NftId, before: NftRow | None, deadline: Deadline) -> Judgement | Reconciliation:
    """Read an NFT from the ledger, and apply the rule. It does not use the database."""
    if before and is_gone(before):
        return Reconciliation(before, before, NotForSale(listing_rule.GONE), FOREVER)
    on_ledger = mirror_node().find_nft(*nft_id, deadline)
    if on_ledger:
        return judge(on_ledger, before, deadline)
    if before is None:
        return Reconciliation(None, None, NotForSale("the mirror node does not show it"))
    reason = "the mirror node no longer shows it, though NFTs do not vanish"
    return Reconciliation(before, before, Undecided(reason))


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


def add(judgements: Iterable[Judgement], deadline: Deadline) -> None:
    """Store NFTs that were not stored when they were judged, all or none, in one transaction.

    Skips an NFT that another process has stored meanwhile. Raises the ledger's and the database's errors;
    then nothing is written.
    """
    _write([_plan_new(judgement) for judgement in judgements], deadline)


def _plan(judgement: Judgement, deadline: Deadline) -> Reconciliation | Change:
    """Find what to write about an NFT; or the result, if there is nothing to write. Asks the ledger."""
    before, verdict, facts = judgement
    on_ledger = facts.nft
    if before is None:
        # Do not store an undecided NFT as unlisted: it may be listed since before lastSync.
        is_new = may_differ(on_ledger, None) and not isinstance(verdict, Undecided)
        return _plan_new(judgement) if is_new else judgement.conclude(None)
    state = _state(on_ledger, before, verdict)
    if {**before} | state == {**before}:
        return judgement.conclude(before)
    past = read_unstored_history(facts, before, state, deadline)
    if past is None:
        return judgement.conclude(before, Undecided(BEHIND))
    if on_ledger.owner is None and past.last_owner:
        state["owner"] = past.last_owner
    return Change(judgement, state, past)


def _plan_new(judgement: Judgement) -> Change:
    return Change(judgement, _state(judgement.facts.nft, None, judgement.verdict))


def judge(on_ledger: Nft, before: NftRow | None, deadline: Deadline) -> Judgement:
    """Read the facts about an NFT from the ledger, and apply the rule. It does not use the database."""
    facts, market = NftFacts(on_ledger), current_app.config["ACCOUNT_ID"]
    if before and is_older(on_ledger, before) and not on_ledger.is_deleted:
        older = Undecided("the mirror node shows an older state of it")
        return Judgement(before, older, facts)
    if not listing_rule.is_decided_by_row(on_ledger, market):
        since = find_stored_at(before) if before else times.now()
        entries = mirror_node().find_history(*on_ledger.id, deadline, since)
        last = entries.last_event
        transaction = last and mirror_node().find_transaction(last.consensus_at, deadline)
        facts = NftFacts(on_ledger, entries, transaction)
    return Judgement(before, listing_rule.decide(facts, market), facts)


def _state(on_ledger: Nft, before: NftRow | None, verdict: Verdict) -> Columns:
    """The columns of an NFT that a verdict sets; none if it decides nothing."""
    ledger_at, market = times.to_iso(on_ledger.modified_at), current_app.config["ACCOUNT_ID"]
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
                # Facts of the same date said it was for sale: one of the two answers is wrong.
                state = {"ledger_state": "undecided"}
            else:
                is_row_enough = listing_rule.is_decided_by_row(on_ledger, market)
                state = {"ledger_state": "row_only" if is_row_enough else "decided"}
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

    Returns the written rows. Skips NFTs that other processes wrote meanwhile. Looks up the collections of new
    NFTs first.
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

    NFTs come before collections, collections before offers, offers before the queue, and the queue before
    the feed, so that no two transactions wait for each other.
    """
    known = {nft_id: row for nft_id, change in changes.items() if (row := change.before)}
    new = {
        nft_id: _insert(db, changes[nft_id].nft, collections[nft_id.token][0])
        for nft_id in changes
        if nft_id not in known
    }
    added = {nft_id: row for nft_id, row in new.items() if row}
    before, first_of_token = known | added, {id.token: id for id in sorted(added, reverse=True)}
    marked = {nft_id: _mark(db, changes[nft_id], row) for nft_id, row in known.items()}
    events = {nft_id: changes[nft_id].find_events(row) for nft_id, row in before.items()}
    for nft_id in sorted(before):
        if nft_id in added:
            if first_of_token[nft_id.token] == nft_id:  # counts listings before any is marked
                collection_facts.store(db, nft_id.token, collections[nft_id.token][1])
            marked[nft_id] = _mark(db, changes[nft_id], added[nft_id])
        if nft := marked[nft_id]:
            _note_in_collection(db, before[nft_id], nft)
            history.note_sales(db, nft_id, events[nft_id])
    after = {nft_id: row for nft_id, row in marked.items() if row}
    history.note_accepted(db, [event for nft_id in after for event in events[nft_id]])
    now = times.now()
    rechecks = [recheck_later(What("nft", *id), changes[id].nft.modified_at, now) for id in added]
    rechecks += [
        recheck_later(What("account", row["owner"]), changes[id].nft.modified_at, now)
        for id, row in after.items()
        if _is_new_listing(before[id], row)
    ]
    enqueue_all(db, rechecks, now)
    history.store_events(db, {nft_id: events[nft_id] for nft_id in sorted(after)})
    return after


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


def _note_in_collection(db: Connection, before: NftRow, nft: NftRow) -> None:
    """Write what follows for the NFT's collection."""
    if is_gone(nft):
        traits.replace_traits(db, nft, nft)
    listed, listed_before = nft["is_listed"], before["is_listed"]
    if (listed, nft["listing_price"]) != (listed_before, before["listing_price"]):
        note_listed(db, nft["token"], listed - listed_before)


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


def _is_new_listing(before: NftRow, nft: NftRow) -> bool:
    was_listed = before["is_for_sale"] and before["owner"] == nft["owner"]
    return bool(nft["is_for_sale"] and not was_listed)


def is_older(on_ledger: Nft, stored: NftRow) -> bool:
    """Tell whether the ledger's row of an NFT is older than the stored state."""
    return times.to_iso(on_ledger.modified_at) < stored["ledger_at"]


def is_decided_by(on_ledger: Nft, stored: NftRow) -> bool:
    """Tell whether the stored state is the verdict on all facts of this row's date."""
    is_of_row = times.to_iso(on_ledger.modified_at) == stored["ledger_at"]
    return is_of_row and stored["ledger_state"] == "decided"
