"""Follows the ledger: reads its transactions in order, and queues what they may have changed.

The queued rechecks and the cursor are committed together, so that a kill repeats one page at most.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator

from flask import current_app

from marketplace.errors import LedgerAnswerInvalid
from marketplace.hedera import times
from marketplace.ledger import UNHURRIED_SECONDS, Deadline, mirror_node
from marketplace.ledger.mirror_schemas import Transaction
from marketplace.ledger.transaction_feed import TYPES, Page
from marketplace.market import purchase_fees
from marketplace.market.memos import read_named_nft
from marketplace.market.recheck_queue import LIST_WAIT, Recheck, enqueue
from marketplace.store import following, nft_collections, nfts, properties
from marketplace.store.database import read, write
from marketplace.store.rows import Connection, FollowRow

APPROVALS = ("CRYPTOAPPROVEALLOWANCE", "CRYPTODELETEALLOWANCE")
OF_TOKENS = ("TOKENDELETION", "TOKENFEESCHEDULEUPDATE", "TOKENUPDATE", "TOKENUPDATENFTS")
# A memo may name an NFT that its transaction did not change: then no facts as new as the transaction come.
NAMED_NFT_WAIT = times.HOUR
PRESENT_SECONDS = 10  # between two reads of the mirror node's last block
# Between two writes of the cursor if nothing is queued: each write empties the response cache.
WRITING_SECONDS = 10
# After an empty page the cursor stays so far behind: a replica that lags may still show rows.
LAG = times.HOUR
HOPELESS = times.DAY  # a watcher that is so far behind sweeps, and follows from now on
# The mirror node's lists reach so far back: maxTransactionsTimestampRange.
MAX_PAST = 60 * times.DAY
BACKFILL_SECONDS = 2  # between two checks whether past approvals are to be read
AHEAD = times.HOUR  # rows beyond this in the future are refused


class Follower:
    """Reads page after page. It keeps its own cursor between writes, so use one in a process."""

    def __init__(self, queued: threading.Event | None = None) -> None:
        self._queued = queued or threading.Event()  # set when rechecks are queued
        # How far it has read, which may be beyond the stored cursor; and the stored cursor.
        self._cursor = self._stored = 0
        self._written_at = float("-inf")
        self._present, self._asked_at = 0, float("-inf")

    def step(self) -> bool:
        """Read the next page, and queue rechecks. Returns whether the next page may have rows already.

        Raises the ledger's errors, and the database's; then nothing is written.
        """
        present = self._find_present()
        state = following.get_follow(read())
        if state is None or times.to_nanoseconds(state["cursor_at"]) < present - HOPELESS:
            _begin_at(present, state)
            return True
        stored = times.to_nanoseconds(state["cursor_at"])
        if stored != self._stored:  # by another watcher, or the database lost its last commits
            self._cursor = self._stored = stored
        after = self._cursor
        page = ask_page(after)
        if page.last_at > present + AHEAD:
            raise LedgerAnswerInvalid("/transactions: a row is dated in the future")
        cursor = max(present - LAG, after) if page.last_at == after else page.last_at
        self._write(page, cursor, fresh=page.last_at if page.is_full else present)
        self._cursor = cursor
        return page.is_full

    def _find_present(self) -> int:
        """The end of the mirror node's last block, at most PRESENT_SECONDS old. Pages are at least as new."""
        if time.monotonic() > self._asked_at + PRESENT_SECONDS:
            self._present = mirror_node().find_present(Deadline(UNHURRIED_SECONDS))
            self._asked_at = time.monotonic()
        return self._present

    def _write(self, page: Page, cursor: int, fresh: int) -> None:
        _settle(page.rows, fresh)
        db = read()
        rechecks = [each for row in page.rows for each in find_rechecks(row) if _is_ours(db, each)]
        if not rechecks and time.monotonic() < self._written_at + WRITING_SECONDS:
            return
        with write() as db:
            now = times.to_iso(times.now())
            for recheck in rechecks:
                enqueue(db, recheck, times.now())
                if recheck.kind == "token":  # its collection may have changed, too
                    nft_collections.mark_collection_due(db, recheck.id, now, now)
            following.mark_followed_to(db, times.to_iso(cursor), times.to_iso(fresh), now)
        self._stored, self._written_at = cursor, time.monotonic()
        if rechecks:
            self._queued.set()


def ask_page(after: int, types: Iterable[str] = TYPES) -> Page:
    """Ask for the transactions after a moment. Raises the ledger's errors."""
    deadline, market = Deadline(UNHURRIED_SECONDS), current_app.config["ACCOUNT_ID"]
    return mirror_node().list_transactions_after(after, market, deadline, types)


def _begin_at(present: int, state: FollowRow | None) -> None:
    """Begin to follow: from now on, or from the first purchase whose fee is not known.

    A sweep finds earlier changes of stored NFTs; backfill() reads earlier approvals of others.
    """
    begin = min(present, purchase_fees.find_first_unsettled(times.now()) or present)
    seen_to = times.to_nanoseconds(state["backfilled_to"] or state["cursor_at"]) if state else 0
    backfilled_to = times.to_iso(max(seen_to, present - MAX_PAST))
    with write() as db:
        properties.delete_job(db, "sync")
        following.mark_followed_from(
            db, times.to_iso(begin), times.to_iso(times.now()), backfilled_to
        )


def _settle(rows: list[Transaction], fresh: int) -> None:
    """Store the fees of purchases, failed or not, by their rows. A purchase without a row cost nothing."""
    by_id = defaultdict(list)
    for row in rows:
        if row.name == "CRYPTOTRANSFER" and row.payer == current_app.config["ACCOUNT_ID"]:
            by_id[str(row.transaction_id)].append(row)
    for transaction_id, charged in by_id.items():
        purchase_fees.note_charged(transaction_id, charged)
    purchase_fees.note_never_submitted(fresh)


def find_rechecks(row: Transaction) -> Iterator[Recheck]:
    """Yield what a transaction may have changed: nothing if it failed."""
    if row.result != "SUCCESS":
        return
    moment, list_ok_at = row.consensus_at, row.consensus_at + LIST_WAIT
    for moved in row.nft_transfers:
        if moved.serial_no > 0:
            yield Recheck("nft", moved.token, moved.serial_no, moment)
        else:  # all NFTs of a treasury
            yield Recheck("token", moved.token, 0, moment, list_ok_at)
    if row.name in OF_TOKENS and row.entity_id:
        yield Recheck("token", row.entity_id, 0, moment, list_ok_at)
    if row.name in APPROVALS:
        named = read_named_nft(row.memo)
        if named:
            yield Recheck("nft", *named, moment, moment + NAMED_NFT_WAIT)
        # It may approve other NFTs, too. That is rare, and the account may list thousands, so it can wait.
        delay = LIST_WAIT if named else 0
        yield Recheck("account", row.payer, 0, moment, list_ok_at, delay)


def _is_ours(db: Connection, recheck: Recheck) -> bool:
    """Tell whether a recheck concerns stored NFTs, or an NFT that may have been listed here."""
    if recheck.kind == "token":
        return nfts.is_any_stored_of_token(db, recheck.id)
    if recheck.kind == "account":
        return nfts.is_any_listed_of_owner(db, recheck.id)
    is_named = recheck.stale_ok_at is not None  # by a memo
    return is_named or nfts.get_nft(db, recheck.id, recheck.serial_no) is not None


def backfill(stop: threading.Event) -> float:
    """Read past approvals until some must be checked. Returns how many seconds to pause.

    Raises the ledger's errors, and the database's; then nothing is written.
    """
    state = following.get_follow(read())
    if state is None or state["backfilled_to"] is None:
        return BACKFILL_SECONDS
    began_at, until = times.to_nanoseconds(state["began_at"]), time.monotonic() + WRITING_SECONDS
    page = Page([], times.to_nanoseconds(state["backfilled_to"]), is_full=True)
    unknown: list[Recheck] = []
    while page.is_full and not unknown and time.monotonic() < until and not stop.is_set():
        page = ask_page(page.last_at, APPROVALS[:1])
        unknown = [each for row in page.rows for each in find_rechecks(row) if _is_unknown(each)]
    is_over = not page.is_full or page.last_at >= began_at
    with write() as db:
        for recheck in unknown:
            enqueue(db, recheck, times.now())
        following.mark_follow(db, "backfilled_to", None if is_over else times.to_iso(page.last_at))
    return 0


def _is_unknown(recheck: Recheck) -> bool:
    """Tell whether a memo names an NFT that is not stored. The sweep checks the stored ones."""
    return recheck.kind == "nft" and nfts.get_nft(read(), recheck.id, recheck.serial_no) is None
