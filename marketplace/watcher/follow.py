"""Follows the ledger: reads its transactions in their order, and notes what is to be looked at.

That and how far was read are committed together, so that a kill anywhere repeats a page at most.
"""

import threading
import time
from collections import defaultdict
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from flask import Flask, current_app

from marketplace import times
from marketplace.errors import LedgerAnswerInvalid
from marketplace.ledger import UNHURRIED_SECONDS, Deadline, mirror_node
from marketplace.ledger.mirror_schemas import Transaction
from marketplace.ledger.transaction_feed import Page
from marketplace.market import purchase_fees
from marketplace.store import following, nft_collections, nfts, properties
from marketplace.store.database import read, write
from marketplace.watcher.directions import OF_TOKENS, Look, find_looks

PRESENT_SECONDS = 10  # between two questions how far the mirror node has come
# Between two writes of how far was read, where that is all there is to write: each empties the kept answers.
WRITING_SECONDS = 10
# On an empty list the cursor stays so far behind: a replica that lags may still show rows.
LAG = 3600 * times.SECOND
HOPELESS = 24 * 3600 * times.SECOND  # who is so far behind sweeps, and follows from now on
# So far back a list of the mirror node reaches that ends now: maxTransactionsTimestampRange.
MAX_PAST = 60 * 24 * 3600 * times.SECOND
AHEAD = 3600 * times.SECOND  # no row is so far in the future
TOKEN_PAUSE = 10 * times.SECOND  # between two looks at the same token: it may have 100,000 NFTs


class Ahead(NamedTuple):
    """A page that was asked for before it was needed."""

    after: int
    present: int  # how far the mirror node had come by then
    page: Future[Page]


class Follower:
    """How far it has read, and when that was written. One at a time works in a process."""

    def __init__(self, noted: threading.Event | None = None) -> None:
        self._noted = noted or threading.Event()  # is set where something is to be looked at
        self._cursor = 0
        self._written_at = float("-inf")
        self._present, self._asked_at = 0, float("-inf")
        self._ahead: Ahead | None = None
        self._reader = ThreadPoolExecutor(1, "page")

    def step(self) -> bool:
        """Read the next page, and write what follows from it. Tells whether more is there at once.

        Raises the ledger's errors, and the database's; then nothing is written.
        """
        present = self._find_present()
        state = following.get_follow(read())
        if state is None or times.to_nanoseconds(state["cursor_at"]) < present - HOPELESS:
            _begin_at(present, state)
            return True
        after = max(self._cursor, times.to_nanoseconds(state["cursor_at"]))
        page, present = self._take_page(after, present)
        if page.last_at > present + AHEAD:
            raise LedgerAnswerInvalid("/transactions: a row is of the future")
        cursor = max(present - LAG, after) if page.last_at == after else page.last_at
        self._write(page, cursor, fresh=page.last_at if page.is_full else present)
        self._cursor = cursor
        return page.is_full

    def _take_page(self, after: int, present: int) -> tuple[Page, int]:
        """The page after a moment, and the present of when it was asked for.

        Behind a full one, the next is asked for at once: it comes while this one is worked off.
        """
        ahead, self._ahead = self._ahead, None
        if ahead and ahead.after == after:
            page, present = ahead.page.result(), ahead.present
        else:
            page = _ask(current_app, after)
        if page.is_full:
            app = current_app._get_current_object()
            following_page = self._reader.submit(_ask, app, page.last_at)
            self._ahead = Ahead(page.last_at, self._present, following_page)
        return page, present

    def _find_present(self) -> int:
        """How far the mirror node has come: what it said lately, which is before what it shows now."""
        if time.monotonic() > self._asked_at + PRESENT_SECONDS:
            self._present = mirror_node().find_present(Deadline(UNHURRIED_SECONDS))
            self._asked_at = time.monotonic()
        return self._present

    def _write(self, page: Page, cursor: int, fresh: int) -> None:
        _settle(page.rows)
        db = read()
        looks = [look for row in page.rows for look in find_looks(row) if _is_ours(db, look)]
        if not looks and time.monotonic() < self._written_at + WRITING_SECONDS:
            return
        with write() as db:
            for look in looks:
                _note(db, look)
            _mark_collections_due(db, page.rows)
            now = times.to_iso(times.now())
            following.mark_followed_to(db, times.to_iso(cursor), times.to_iso(fresh), now)
        self._written_at = time.monotonic()
        if looks:
            self._noted.set()


def _ask(app: Flask, after: int) -> Page:
    with app.app_context():
        deadline, market = Deadline(UNHURRIED_SECONDS), app.config["ACCOUNT_ID"]
        return mirror_node().list_transactions_after(after, market, deadline)


def _begin_at(present: int, state: Any) -> None:
    """Follow from now on. What came before is swept, as nothing was swept since; its approvals are read."""
    seen_to = times.to_nanoseconds(state["past_at"] or state["cursor_at"]) if state else 0
    past_at = times.to_iso(max(seen_to, present - MAX_PAST))
    with write() as db:
        properties.delete_job(db, "sync")
        following.mark_followed_from(db, times.to_iso(present), times.to_iso(times.now()), past_at)


def _settle(rows: list[Transaction]) -> None:
    """Note what purchases were charged, failed or not: the rows say it."""
    by_id = defaultdict(list)
    for row in rows:
        if row.name == "CRYPTOTRANSFER" and row.payer == current_app.config["ACCOUNT_ID"]:
            by_id[str(row.transaction_id)].append(row)
    for transaction_id, charged in by_id.items():
        purchase_fees.note_charged(transaction_id, charged)


def _is_ours(db: Any, look: Look) -> bool:
    """Tell whether there is something stored to look at; or the NFT may be one that is for sale here."""
    if look.kind == "token":
        return nfts.get_stored_of_token(db, look.id) is not None
    if look.kind == "account":
        return nfts.get_listed_of_owner(db, look.id) is not None
    return look.patience is not None or nfts.get_nft(db, look.id, look.serial_no) is not None


def _note(db: Any, look: Look) -> None:
    """Have it looked at; a token once in a while, however many rows tell of it."""
    look_at = times.now() + look.delay
    again_at = look_at + TOKEN_PAUSE if look.kind == "token" else look_at
    dates = {"look_at": times.to_iso(look_at), "again_at": times.to_iso(again_at)}
    following.insert_look(db, look.row | dates)


def _mark_collections_due(db: Any, rows: list[Transaction]) -> None:
    """Have collections read again whose tokens were changed."""
    now = times.to_iso(times.now())
    for token in {row.entity_id for row in rows if row.name in OF_TOKENS and row.entity_id}:
        nft_collections.mark_collection_due(db, token, now, now)
