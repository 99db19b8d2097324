"""Follows the ledger: reads its transactions in order, and queues what they may have changed.

The queued rechecks and the cursor are committed together, so that a kill repeats one page at most. Before
each page, it checks that the mirror node still shows the same network.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set

from flask import current_app

from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable, NetworkReset
from marketplace.hedera import times
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.mirror import PAGE
from marketplace.ledger.objects import Transaction, TransactionType
from marketplace.ledger.transaction_feed import TransactionPage
from marketplace.market.buying import fees
from marketplace.market.memos import is_bulk_listing_memo, is_offer_memo, read_named_nft
from marketplace.services import mirror_node, read, write
from marketplace.store import following, nft_collections, nfts, offers, properties, rechecks
from marketplace.store.connection import Connection
from marketplace.store.following import FollowRow
from marketplace.store.rechecks import Recheck, RecheckKind, What, enqueue_all, let_failed_be_due

APPROVALS = (TransactionType.APPROVAL, TransactionType.WITHDRAWAL)
OF_TOKENS = (
    TransactionType.COLLECTION_DELETION,
    TransactionType.FEES_UPDATE,
    TransactionType.COLLECTION_UPDATE,
    TransactionType.METADATA_UPDATE,
)
OF_OFFERS = (
    TransactionType.SCHEDULE_CREATION,
    TransactionType.SCHEDULE_DELETION,
    TransactionType.SCHEDULE_SIGNATURE,
)
# Between two writes of the cursor if nothing is queued: each write empties the response cache.
WRITING_SECONDS = 10
# After an empty page, the cursor stays this far behind: more than the allowed lag, as that costs nothing.
KEPT_BEHIND = times.HOUR
HOPELESS = times.DAY  # a watcher that is further behind sweeps, and follows from the present
# How far back approvals and offers are read: a schedule lives for 62 days at most.
MAX_PAST = 62 * times.DAY
BACKFILL_SECONDS = 2  # between two checks whether past approvals and offers are to be read
MAX_BACK = times.HOUR  # of the newest block behind the cursor: more than replicas lag
NETWORK_CHECK_SECONDS = 600  # between two checks whether the mirror node knows stored tokens
TOKENS_ASKED = 3  # in such a check
AHEAD = times.HOUR  # rows beyond this in the future are refused
CREATED_KEPT = 1000  # schedules that may be offers
NOTHING: Mapping[str, str] = {}


def ignore(row: Transaction) -> None:
    """Look at nothing."""


class Follower:
    """Reads page after page. Keeps its cursor in memory between writes, so use one per process."""

    def __init__(
        self, queued: threading.Event | None = None, look_at: Callable[[Transaction], None] = ignore
    ) -> None:
        """``look_at`` is called with each row."""
        self._look_at = look_at
        self._queued = queued or threading.Event()  # set when rechecks are queued
        # How far this process has read, possibly beyond the stored cursor; and the stored cursor.
        self._cursor = self._stored = 0
        self._written_at = float("-inf")
        self._present = 0  # the end of the mirror node's last block; 0: not asked yet
        self._has_failed = True  # as far as this process knows
        self._reset = ResetCheck()
        self._unreadable: set[int] = set()  # consensus timestamps of contract calls
        # The newest schedules that may be offers, by the id of the transaction that created them and executes
        # them: that can happen before they are stored.
        self._created: dict[str, str] = {}

    def step(self) -> bool:
        """Read the next page, and queue rechecks. Returns whether the next page may have rows already.

        When the mirror node answers again, failed rechecks become due at once. Raises the ledger's errors,
        and the database's; then nothing is written.
        """
        try:
            is_full = self._step()
        except (LedgerUnreachable, LedgerAnswerInvalid):
            self._has_failed = True
            raise
        if self._has_failed:
            with write() as db:
                let_failed_be_due(db, times.now())
            self._has_failed = False
            self._queued.set()
        return is_full

    def _step(self) -> bool:
        present = self._find_present()
        state = following.get_follow(read())
        if state:
            self._reset.require_same_network(present, state)
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
        cursor = max(present - KEPT_BEHIND, after) if page.last_at == after else page.last_at
        # The page's replica may lag behind the replica that showed the newest block.
        seen_to = page.last_at if page.is_full else max(page.last_at, present - times.ALLOWED_LAG)
        _settle(page.rows, seen_to)
        for row in page.rows:
            self._look_at(row)
        self._write(self._find_changes(page), cursor, seen_to)
        self._cursor = cursor
        return page.is_full

    def _find_present(self) -> int:
        """The end of the mirror node's last block, at most some seconds old."""
        mirror, deadline = mirror_node(), Deadline(UNHURRIED_SECONDS)
        if self._present:
            self._present = mirror.recall_present(deadline).ended_at
        else:
            self._present = mirror.find_present(deadline)
        return self._present

    def _find_changes(self, page: TransactionPage) -> list[Recheck]:
        """What the page's transactions may have changed here. Asks the ledger only about contract calls."""
        rechecks: list[Recheck] = []
        for row in (*page.rows, *page.odd):
            named = {recheck.what for recheck in rechecks}
            for recheck in (*_find_rechecks(row), *self._find_called(row)):
                rechecks += _select(read(), row, recheck, named)
            self._note_created(row)
            rechecks += find_offers(read(), row, named, self._created)
        return rechecks

    def _note_created(self, row: Transaction) -> None:
        is_creation = row.name == TransactionType.SCHEDULE_CREATION and is_offer_memo(row.memo)
        if is_creation and row.entity_id:
            self._created[str(row.transaction_id)] = row.entity_id
            for oldest in [*self._created][:-CREATED_KEPT]:
                del self._created[oldest]

    def _write(self, rechecks: list[Recheck], cursor: int, seen_to: int) -> None:
        """Queue rechecks, and store how far this process has read. Without rechecks, only now and then."""
        if not rechecks and time.monotonic() < self._written_at + WRITING_SECONDS:
            return
        with write() as db:
            now = times.to_iso(times.now())
            # Collections come before the queue, as in reconciler.py: no two transactions wait for each other.
            tokens = {recheck.what.id for recheck in rechecks if recheck.what.kind == "token"}
            for token in sorted(tokens):
                nft_collections.mark_collection_due(db, token, now, now)  # it may have changed, too
            enqueue_all(db, rechecks, times.now())
            following.mark_followed_to(db, times.to_iso(cursor), times.to_iso(seen_to), now)
            newest = times.to_iso(self._present).encode()
            properties.mark_property(db, properties.NEWEST_BLOCK, newest)
        self._stored, self._written_at = cursor, time.monotonic()
        self._unreadable.clear()
        if rechecks:
            self._queued.set()

    def _find_called(self, row: Transaction) -> Iterator[Recheck]:
        """Yield a contract call's target, which may be the token of its approval or withdrawal.

        The approval does not name the NFT; nor its owner, if a relay paid for the call. The call names the
        token. An unreadable call is read once more with its page, and then left to the sweep.
        """
        if not (row.name in APPROVALS and row.result == "SUCCESS" and row.nonce and row.parent_at):
            return
        try:
            call = mirror_node().find_transaction(row.parent_at, Deadline(UNHURRIED_SECONDS))
        except LedgerAnswerInvalid as error:
            if row.parent_at not in self._unreadable:
                self._unreadable.add(row.parent_at)
                raise
            current_app.logger.warning("A contract call was left out: %s", error)
            return
        if call and call.entity_id:
            yield Recheck.of(What("token", call.entity_id), row.consensus_at)


def ask_page(after: int, types: Iterable[str] = ()) -> TransactionPage:
    """Ask for the transactions after a moment, by default of all types. Raises the ledger's errors."""
    deadline, market = Deadline(UNHURRIED_SECONDS), current_app.config["ACCOUNT_ID"]
    return mirror_node().list_transactions_after(after, market, deadline, types or TransactionType)


def _begin_at(present: int, state: FollowRow | None) -> None:
    """Begin to follow, from a moment that all replicas show.

    A sweep finds earlier changes of stored NFTs; backfill() reads earlier approvals and offers. Earlier
    purchases' fees are looked up first: a purchase whose fee stays unknown was never submitted.
    """
    fees.look_up_unsettled()
    begin = present - times.ALLOWED_LAG
    seen_to = times.to_nanoseconds(state["backfilled_to"] or state["cursor_at"]) if state else 0
    backfilled_to = times.to_iso(max(seen_to, present - MAX_PAST))
    with write() as db:
        properties.delete_property(db, properties.LAST_SWEEP)
        following.mark_followed_from(
            db, times.to_iso(begin), times.to_iso(times.now()), backfilled_to
        )


def _settle(rows: list[Transaction], seen_to: int) -> None:
    """Store the fees of purchases, failed or not, by their rows. A purchase without a row cost nothing."""
    by_id = defaultdict(list)
    for row in rows:
        by_id[row.transaction_id].append(row)
    for transaction_id, of_id in by_id.items():
        fees.note_charged(str(transaction_id), of_id)
    fees.note_never_submitted(seen_to)


def _find_rechecks(row: Transaction) -> Iterator[Recheck]:
    """Yield what a transaction may have changed: nothing if it failed."""
    if row.result != "SUCCESS":
        return
    moment = row.consensus_at
    for moved in row.nft_transfers:
        if moved.serial_no > 0:
            yield Recheck.of(What("nft", moved.token, moved.serial_no), moment)
        else:  # all NFTs of a treasury
            yield Recheck.of(What("token", moved.token), moment)
    if row.name in OF_TOKENS and row.entity_id:
        yield Recheck.of(What("token", row.entity_id), moment)
    if row.name in APPROVALS:
        if named := read_named_nft(row.memo):
            yield Recheck.of(What("nft", *named), moment)
        # It may change other NFTs, too, and give them a new price if its memo lists several.
        kind: RecheckKind = "seller" if is_bulk_listing_memo(row.memo) else "account"
        yield Recheck.of(What(kind, row.payer), moment)


def _select(
    db: Connection, row: Transaction, recheck: Recheck, named: Set[What]
) -> Iterator[Recheck]:
    """Yield a recheck if it concerns this marketplace: stored or queued NFTs, listed NFTs, or a listing memo.

    Skips other NFTs and accounts. If one is stored later from facts before this transaction, it is checked
    again: see recheck_later(). Anybody can name an NFT in a memo: only its owner's row prolongs what is
    queued. ``named``: entries from earlier transactions of the page.
    """
    what = recheck.what

    def is_queued(what: What) -> bool:
        return what in named or rechecks.get_recheck(db, *what) is not None

    if what.kind == "token":
        if nfts.is_any_stored_of_token(db, what.id):
            yield recheck
    elif what.kind == "nft":
        stored = nfts.get_nft(db, what.id, what.serial_no)
        if row.name not in APPROVALS:
            if stored or is_queued(what):
                yield recheck
        elif stored and stored["owner"] == row.payer:
            yield recheck
        elif is_queued(what):  # perhaps by its new owner, whose list shows that
            yield recheck._replace(what=What("seller", row.payer))
        elif stored is None:
            yield recheck
        elif stored["is_for_sale"] and not is_queued(of_owner := What("account", stored["owner"])):
            # Only the owner can set a price, so no purchase waits for this. But the listing may have ended.
            yield recheck._replace(what=of_owner)
    else:
        listed = nfts.count_for_sale_of_owner(db, what.id, read_named_nft(row.memo))
        if listed or what.kind == "seller":
            # The delay limits a seller who signs many transactions to about one request a second.
            yield recheck._replace(delay=listed // PAGE * times.SECOND)


def find_offers(
    db: Connection, row: Transaction, named: Set[What], created: Mapping[str, str] = NOTHING
) -> Iterator[Recheck]:
    """Yield the offers that a transaction may have changed. ``named``: by earlier ones of the page.

    ``created``: schedules that may not be stored yet, by the id of the transaction that creates them.

    Anybody can sign a schedule: only the owner's signature counts, or what the last signature executes.
    """
    if row.scheduled:
        id = str(row.transaction_id)
        executed = offers.get_offer_of_transaction(db, id)
        schedule_id = executed["schedule_id"] if executed else created.get(id)
        found = [schedule_id] if schedule_id else []
    elif row.result != "SUCCESS" or not row.entity_id:
        found = []
    elif row.name == TransactionType.ACCOUNT_UPDATE:
        found = offers.list_unended_of(db, row.entity_id)
    elif row.name in OF_OFFERS:
        found = [row.entity_id] if _concerns(db, row, row.entity_id, named) else []
    else:
        found = []
    for schedule_id in found:
        yield Recheck.of(What("offer", schedule_id), row.consensus_at)


def _concerns(db: Connection, row: Transaction, schedule_id: str, named: Set[What]) -> bool:
    """Whether a transaction creates an offer, is its owner's signature, or deletes it."""
    if row.name == TransactionType.SCHEDULE_CREATION:
        return is_offer_memo(row.memo)
    offer, what = offers.get_offer(db, schedule_id), What("offer", schedule_id)
    if row.name == TransactionType.SCHEDULE_SIGNATURE:
        return offer is not None and row.payer == offer["seller"]
    return bool(offer) or what in named or rechecks.get_recheck(db, *what) is not None


def backfill(stop: threading.Event) -> float:
    """Read past approvals and offers until some must be checked. Returns how many seconds to pause.

    Raises the ledger's errors, and the database's; then nothing is written.
    """
    state = following.get_follow(read())
    if state is None or state["backfilled_to"] is None:
        return BACKFILL_SECONDS
    began_at, until = times.to_nanoseconds(state["began_at"]), time.monotonic() + WRITING_SECONDS
    begin = max(times.to_nanoseconds(state["backfilled_to"]), began_at - MAX_PAST)
    page = TransactionPage([], begin, is_full=True)
    unknown: list[Recheck] = []
    while page.is_full and not unknown and time.monotonic() < until and not stop.is_set():
        page = ask_page(page.last_at, (TransactionType.APPROVAL, TransactionType.SCHEDULE_CREATION))
        unknown = [each for row in (*page.rows, *page.odd) for each in _find_unknown(row)]
    is_over = not page.is_full or page.last_at >= began_at
    with write() as db:
        enqueue_all(db, unknown, times.now())
        following.mark_follow(db, "backfilled_to", None if is_over else times.to_iso(page.last_at))
    return 0


def _find_unknown(row: Transaction) -> Iterator[Recheck]:
    """Yield an offer, an unstored NFT that a memo names, or the payer's NFTs. A sweep checks stored NFTs."""
    yield from find_offers(read(), row, set())
    for recheck in _find_rechecks(row):
        what = recheck.what
        is_unknown = what.kind == "nft" and nfts.get_nft(read(), what.id, what.serial_no) is None
        if is_unknown or what.kind == "seller":
            yield recheck


# The network


class ResetCheck:
    """The check of one watcher, before each page that it follows."""

    def __init__(self) -> None:
        self._asked_at = float("-inf")

    def require_same_network(self, present: int, state: FollowRow) -> None:
        """Raise NetworkReset, and store why, if the mirror node shows another ledger."""
        reason = _find_older_block(present, state) or self._find_unknown_tokens()
        stored = properties.get_property(read(), properties.NETWORK_RESET)
        value = reason and reason.encode()
        if value != stored:
            with write() as db:
                if value:
                    properties.mark_property(db, properties.NETWORK_RESET, value)
                else:
                    properties.delete_property(db, properties.NETWORK_RESET)
        if reason:
            raise NetworkReset(reason)

    def _find_unknown_tokens(self) -> str | None:
        if time.monotonic() < self._asked_at + NETWORK_CHECK_SECONDS:
            return None
        deadline = Deadline(UNHURRIED_SECONDS)
        tokens = nft_collections.list_some_read(read(), TOKENS_ASKED)
        if not tokens or any(mirror_node().find_token(token, deadline) for token in tokens):
            self._asked_at = time.monotonic()
            return None
        return f"it knows no token of {', '.join(tokens)}, which were read from it before"


def _find_older_block(present: int, state: FollowRow) -> str | None:
    if present >= times.to_nanoseconds(state["cursor_at"]) - MAX_BACK:
        return None
    newest, followed = (
        times.to_second(date) for date in (times.to_iso(present), state["cursor_at"])
    )
    return f"its newest block is of {newest}, but transactions were followed up to {followed}"
