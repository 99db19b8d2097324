"""Reconciles a stored NFT with the ledger: no other module writes whether it is for sale.

The facts are read first, without a lock; all changes that follow are written in one transaction. Each write
carries the ledger's own date of its facts. Older facts never replace newer ones, in whatever order they
come. Nothing is written while facts contradict each other.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from flask import current_app

from marketplace.hedera import times
from marketplace.hedera.ids import EventKind, NftId
from marketplace.ledger import ALLOWED_LAG, Deadline
from marketplace.ledger.clean_text import clean_text
from marketplace.ledger.mirror_schemas import Nft
from marketplace.market import collection_facts, listing_rule, nft_events, recheck_queue
from marketplace.market.listing_rule import Facts, ForSale, NotForSale, Undecided, Verdict
from marketplace.market.nft_events import Event
from marketplace.market.past import Past, find_stored_at, is_newer, read_past
from marketplace.market.recheck_queue import Recheck
from marketplace.services import mirror_node
from marketplace.store import nfts, traits
from marketplace.store.database import read, write
from marketplace.store.rows import Connection, NftRow

TRIES = 3  # while others write the same NFT
BEHIND = "the mirror node does not show its whole history yet"
LEDGER_SECONDS = 4  # that a request may spend on the mirror node in all
UNKNOWN_FILE_TYPE = "application/octet-stream"
MAX_POINTER = 10_000  # letters kept

Columns = dict[str, Any]

# In place of the date in nft.ledger_at (schema.sql): burned, or its token was deleted. That is final.
GONE = "9999-12-31T23:59:59.999999999Z"
UNDECIDED = (
    "?"  # at the end of nft.ledger_at, in place of the Z: facts of this date contradict each other
)


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
    """Read stored NFTs from the ledger, all at once, and reconcile each. Raises the ledger's errors.

    ``force``: see reconcile().
    """
    stored = {NftId(row["token"], row["serial_no"]): row for row in nfts.list_nfts(read(), nft_ids)}
    looks = [partial(_look, nft_id, stored.get(nft_id), force, deadline) for nft_id in nft_ids]
    judgements = dict(zip(nft_ids, mirror_node().ask(*looks), strict=True))
    return {
        nft_id: _vanished(stored.get(nft_id))
        if judgement is None
        else reconcile(judgement.facts.nft, deadline, force=force, first=judgement)
        for nft_id, judgement in judgements.items()
    }


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
    if on_ledger.is_deleted:
        return stored["ledger_at"] != GONE
    if _pointer(on_ledger) != stored["metadata"] or is_undecided(stored):
        return True
    if may_spend:
        return times.to_iso(on_ledger.modified_at) > stored["ledger_at"]
    is_other = bool(stored["is_for_sale"]) or on_ledger.owner != stored["owner"]
    return is_other or is_newer(on_ledger, stored)


def is_undecided(nft: NftRow) -> bool:
    """Tell whether nothing could be decided by the newest facts about a stored NFT."""
    return nft["ledger_at"].endswith(UNDECIDED)


def _undecided(on_ledger: Nft) -> str:
    return times.just_before(times.to_iso(on_ledger.modified_at)) + UNDECIDED


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
    judgement = first
    for _ in range(TRIES):
        before = nfts.get_nft(read(), on_ledger.token, on_ledger.serial_no)
        if judgement is None or judgement.before != before:
            judgement = judge(on_ledger, before, deadline, force=force)
        _, verdict, facts = judgement
        if before is None and listing_rule.is_gone(on_ledger):
            return Reconciliation(None, None, verdict)
        state = _state(on_ledger, before, verdict)
        if before and {**before} | state == {**before}:
            return Reconciliation(before, before, verdict)
        if before is None:
            nft = _insert(facts, state, deadline)
        else:
            past = read_past(facts, before, state, deadline)
            if past is None:
                return Reconciliation(before, before, Undecided(BEHIND))
            if on_ledger.owner is None and past.last_owner:
                state["owner"] = past.last_owner
            events = nft_events.find_events(facts, before, state, past)
            nft = _update(on_ledger, before, state, events)
        if nft:
            return Reconciliation(before, nft, verdict)
    nft = nfts.get_nft(read(), on_ledger.token, on_ledger.serial_no)
    return Reconciliation(before, nft, Undecided("other processes wrote it at the same time"))


def judge(
    on_ledger: Nft, before: NftRow | None, deadline: Deadline, *, force: bool = False
) -> Judgement:
    """Read the facts about an NFT from the ledger, and apply the rule. It does not use the database."""
    facts, market = Facts(on_ledger), current_app.config["ACCOUNT_ID"]
    ledger_at = times.to_iso(on_ledger.modified_at)
    if before and before["ledger_at"] == GONE:
        return Judgement(before, None, facts)
    if before and before["ledger_at"] > ledger_at and not on_ledger.is_deleted:
        older = Undecided("the mirror node shows an older state of it")
        return Judgement(before, older, facts)
    if _is_row_enough(on_ledger):
        return Judgement(before, listing_rule.decide(facts, market), facts)
    if before and before["is_for_sale"] and not may_differ(on_ledger, before) and not force:
        return Judgement(before, None, facts)
    since = find_stored_at(before) if before else times.now()
    history = mirror_node().find_history(*on_ledger.id, deadline, since)
    facts = Facts(on_ledger, history)
    if last := history.last_event:
        transaction = mirror_node().find_transaction(last.consensus_at, deadline)
        facts = Facts(on_ledger, history, transaction)
    return Judgement(before, listing_rule.decide(facts, market), facts)


def _is_row_enough(on_ledger: Nft) -> bool:
    return listing_rule.is_decided_by_row(on_ledger, current_app.config["ACCOUNT_ID"])


def _state(on_ledger: Nft, before: NftRow | None, verdict: Verdict | None) -> Columns:
    """The columns of an NFT that a verdict sets; none if it decides nothing."""
    ledger_at = times.to_iso(on_ledger.modified_at)
    owner = on_ledger.owner or (before and before["owner"])
    seen = {"owner": owner, "metadata": _pointer(on_ledger)}
    match verdict:
        case ForSale(price, listed_at):
            listing = {"listing_price": price, "last_listed_at": times.to_iso(listed_at)}
            return listing | seen | {"is_for_sale": 1, "ledger_at": ledger_at}
        case NotForSale():
            if on_ledger.is_deleted:
                ledger_at = GONE
            elif before and before["is_for_sale"] and before["ledger_at"] == ledger_at:
                # It was for sale by facts of the same date: one of the two answers is wrong.
                ledger_at = _undecided(on_ledger)
            elif _is_row_enough(on_ledger):
                ledger_at = times.just_before(ledger_at)
            return seen | {"is_for_sale": 0, "listing_price": 0, "ledger_at": ledger_at}
    return {}


def new_record(on_ledger: Nft, token_name: str | None) -> Columns:
    """The columns of an NFT that is not stored yet. The watcher adds metadata and image soon."""
    return {
        "token": on_ledger.token,
        "serial_no": on_ledger.serial_no,
        "owner": on_ledger.owner,
        "ledger_at": times.just_before(times.to_iso(on_ledger.modified_at)),
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


def _insert(facts: Facts, state: Columns, deadline: Deadline) -> NftRow | None:
    """Store a new NFT with its events, in one transaction. Returns None if another process was first."""
    on_ledger = facts.nft
    name, collection = collection_facts.look_up(on_ledger.token, deadline)
    # Until it is decided. Older facts are refused from now on.
    record = new_record(on_ledger, name) | {"ledger_at": _undecided(on_ledger)}
    with write() as db:
        nft = nfts.insert_nft(db, record)
        if nft is None:
            return None
        collection_facts.store(db, on_ledger.token, collection)
        _recheck_soon(db, on_ledger)
        events = [Event(EventKind.ADDED, to_account=nft["owner"])]
        if state:
            events += nft_events.find_events(facts, nft, state, Past())
            nft = _mark(db, on_ledger, nft, state)
        nft_events.store(db, {on_ledger.id: events})
        return nft


def _update(on_ledger: Nft, before: NftRow, state: Columns, events: list[Event]) -> NftRow | None:
    """Write an NFT's new state with its events, in one transaction. Returns None if it changed meanwhile."""
    with write() as db:
        nft = _mark(db, on_ledger, before, state)
        if nft:
            nft_events.store(db, {on_ledger.id: events})
        return nft


def _mark(db: Connection, on_ledger: Nft, before: NftRow, state: Columns) -> NftRow | None:
    key, seen_at = on_ledger.id, max(state["ledger_at"], times.to_iso(on_ledger.modified_at))
    columns = key._asdict() | {"last_listed_at": None, "seen_at": seen_at} | state
    nft = nfts.mark_reconciled(db, columns, before)
    if nft is None:
        return None
    if nft["metadata"] != state["metadata"]:
        nft = nfts.mark_pointer(db, *key, state["metadata"], times.to_iso(times.now()))
    if nft and nft["ledger_at"] == GONE:
        traits.replace_traits(db, nft, nft)
    if nft and nft["listing_price"] != before["listing_price"]:
        change = nft["is_for_sale"] - before["is_for_sale"]
        collection_facts.note_listed(db, on_ledger.token, change)
    if (
        nft
        and nft["is_for_sale"]
        and not (before["is_for_sale"] and before["owner"] == nft["owner"])
    ):
        recheck_queue.look_again_at_listings(db, nft["owner"], on_ledger.modified_at, times.now())
    return nft


def _recheck_soon(db: Connection, on_ledger: Nft) -> None:
    """Check a new NFT again: the watcher may already have passed transactions that came after these facts."""
    now, facts_at = times.now(), on_ledger.modified_at
    first = recheck_queue.find_first_hidden(facts_at, now)
    ok_at = now + ALLOWED_LAG
    recheck = Recheck("nft", *on_ledger.id, facts_at, ok_at, first, delay=ALLOWED_LAG)
    recheck_queue.enqueue(db, recheck, now)
