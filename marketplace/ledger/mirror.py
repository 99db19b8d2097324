"""The client of the mirror node's REST API: its paths, paging, faults and retries.

Source of the paths: the mirror node's OpenAPI document, /api/v1. Every method may raise LedgerUnreachable
(503), or LedgerAnswerInvalid (502) for an unreadable answer.
"""

import json
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from fractions import Fraction
from math import ceil
from threading import Lock
from typing import Any, NamedTuple, TypeVar, cast

from requests.adapters import BaseAdapter, HTTPAdapter

from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable, MarketplaceError
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.ids import TransactionId
from marketplace.ledger import transaction_feed
from marketplace.ledger.answers import read, read_list, read_rows
from marketplace.ledger.http import (
    Fetched,
    FetchError,
    HttpSession,
    Unfetchable,
    fetch,
    read_retry_after,
)
from marketplace.ledger.objects import (
    Block,
    ConsensusNode,
    ExchangeRates,
    History,
    HistoryEntry,
    LedgerAccount,
    LedgerToken,
    Links,
    Message,
    Nft,
    Relationship,
    Schedule,
    Topic,
    Transaction,
)
from marketplace.ledger.rate import UNHURRIED_SECONDS, Deadline, MirrorRate, TimeIsUp
from marketplace.text import quote

MAX_ANSWER_BYTES = 5 * 1024 * 1024
ATTEMPTS = 3
FIRST_PAUSE_SECONDS = 0.2
LONGEST_ASKED_SECONDS = 3600  # by Retry-After
TRANSIENT = (429, 500, 502, 503, 504)
PAGE = 100  # the mirror node's own maximum
MAX_PAGES = 100_000  # of one list: ten million NFTs
HISTORY_PAGES = 5  # per NFT at most: its metadata key can sign any number of entries
SUCCESSES = (200, 206)  # 206: incomplete, since the mirror node began after the NFT was minted
CONNECTIONS = 32  # kept open
QUESTIONS_AT_ONCE = 20  # threads of one caller of ask()
AHEAD_RECALLED = 10 * times.SECOND
# Recently read transactions are cached, so that a listing of several NFTs is read once for all. Only briefly,
# since an answer may have been wrong.
TRANSACTIONS_RECALLED, RECALLED_SECONDS = 200, 10
IMPOSSIBLE = re.compile(rb'"(?:Invalid (?:parameter: |entity ID )|Bad Request"|Failed to convert)')


T = TypeVar("T")


Count = Callable[..., None]  # adds to a metric, as count() of marketplace.metrics does


class Present(NamedTuple):
    """The end of the mirror node's last block, up to which its data is current. All in nanoseconds."""

    ended_at: int
    ahead: int  # of our clock, when it was read
    read_at: int  # on the monotonic clock

    def is_recent(self) -> bool:
        """Whether it was read within the last ten seconds, and our clock has not been changed since."""
        passed = time.monotonic_ns() - self.read_at
        by_clock = times.now() - self.ended_at - self.ahead
        return passed < AHEAD_RECALLED and abs(by_clock - passed) < times.SECOND


class MirrorNode:
    """Reads the ledger."""

    def __init__(
        self,
        adapters: Mapping[str, BaseAdapter],
        rate: MirrorRate,
        base_url: str,
        count: Count,
    ) -> None:
        """``adapters``: see http.HttpSession."""
        network = HTTPAdapter(pool_maxsize=CONNECTIONS)
        self._session = HttpSession({"http://": network, "https://": network, **adapters})
        self.rate = rate
        self._base_url = f"{base_url}/api/v1"
        self._count = count
        self._present: Present | None = None  # as it was read last
        self._silent_until = 0
        # By consensus timestamp: recently read transactions, and questions in progress.
        self._transactions: dict[int, tuple[float, Transaction]] = {}
        self._asked: dict[int, Future[Transaction | None]] = {}
        self._lock = Lock()

    def close(self) -> None:
        """Close the open connections. New ones are opened on demand."""
        self._session.close()

    def ask(self, *questions: Callable[[], Any]) -> list[Any]:
        """Call several functions at once, and return their results in the same order.

        Each function must limit its own time. Raises the error of the first failed function in this order.
        """
        if len(questions) < 2:
            return [question() for question in questions]
        most = min(len(questions), QUESTIONS_AT_ONCE)
        with ThreadPoolExecutor(most, thread_name_prefix="mirror") as pool:
            try:
                asked = [pool.submit(copy_context().run, question) for question in questions]
            except RuntimeError as error:  # no thread can be started
                raise LedgerUnreachable(str(error)) from error
            return [answer.result() for answer in asked]

    def find_nft(self, token: str, serial_no: int, deadline: Deadline) -> Nft | None:
        """Find an NFT, burned or not; None if the ledger has none with that id."""
        path = f"/tokens/{token}/nfts/{serial_no}"
        nft = self._get(path, Nft, deadline)
        if nft and nft.id != (token, serial_no):
            raise self._invalid(path, f"it describes another NFT, {nft.id}")
        return nft

    def find_nft_of(
        self, account_id: str, token: str, serial_no: int, deadline: Deadline
    ) -> Nft | None:
        """Find an NFT if the account owns it; otherwise None."""
        path = f"/accounts/{account_id}/nfts?token.id={token}&serialnumber=eq:{serial_no}"
        nfts = self._get_rows(path, Nft, deadline, "nfts") or ()
        return next((nft for nft in nfts if nft.id == (token, serial_no)), None)

    def list_nfts(self, token: str) -> Iterator[Nft | LedgerAnswerInvalid]:
        """Yield all of a token's NFTs by serial number, including burned ones.

        Yields an error in place of an unreadable NFT.
        """
        return self._list_nfts(f"/tokens/{token}/nfts?limit={PAGE}&order=asc")

    def list_nfts_spendable(self, owner: str, spender: str) -> Iterator[Nft | LedgerAnswerInvalid]:
        """Yield all NFTs of an owner that a spender is approved for; errors as in list_nfts()."""
        return self._list_nfts(
            f"/accounts/{owner}/nfts?spender.id={spender}&limit={PAGE}&order=asc"
        )

    def _list_nfts(self, path: str) -> Iterator[Nft | LedgerAnswerInvalid]:
        for item in self._pages(path, "nfts", None):
            try:
                yield read(Nft, item)
            except ValueError as error:
                named = item if isinstance(item, dict) else {}
                name = f"{quote(named.get('token_id'))} #{quote(named.get('serial_number'))}"
                yield self._invalid(path, f"{name} {error}"[:200])

    def find_history(self, token: str, serial_no: int, deadline: Deadline, since: int) -> History:
        """Read an NFT's entries since a moment, and the last event that decides its owner and spender.

        Reads at least one page, and at most HISTORY_PAGES. Each page must begin with the previous page's last
        entry. Otherwise, its replica lags, and the history is torn.
        """
        path = f"/tokens/{token}/nfts/{serial_no}/transactions"
        entries: list[HistoryEntry] = []
        last_event: HistoryEntry | None = None
        is_torn, has_more, begin = False, True, ""
        for _ in range(HISTORY_PAGES):
            page, has_more = self._get_history(f"{path}?limit={PAGE}&order=desc{begin}", deadline)
            is_torn = bool(entries) and page[:1] != entries[-1:]
            if is_torn:
                break
            entries += page[1:] if entries else page
            last_event = next((entry for entry in entries if not entry.is_harmless), None)
            is_enough = last_event is not None and entries[-1].consensus_at <= since
            if is_enough or not has_more or not entries:
                break
            begin = f"&timestamp=lte:{times.to_consensus(entries[-1].consensus_at)}"
        moments = [entry.consensus_at for entry in entries]
        if moments != sorted(moments, reverse=True):
            raise self._invalid(path, "its history is out of order")
        is_cut = last_event is None and has_more and not is_torn
        return History(moments[0] if moments else None, last_event, is_cut, tuple(entries), is_torn)

    def _get_history(self, path: str, deadline: Deadline) -> tuple[list[HistoryEntry], bool]:
        """Return a page of a history, and whether there may be more."""
        document = self._get_object(path, deadline)
        if document is None:
            return [], False
        with self._reading(path):
            entries = read_rows(HistoryEntry, document, "transactions")
            return entries, read(Links, document).following is not None

    def find_token(self, token: str, deadline: Deadline) -> LedgerToken | None:
        return self._get(f"/tokens/{token}", LedgerToken, deadline)

    def find_account(
        self, account_id: str, deadline: Deadline, at: int | None = None
    ) -> LedgerAccount | None:
        """Find an account by its id or its EVM address, as it is now, or was at a consensus time."""
        moment = f"&timestamp={times.to_consensus(at)}" if at else ""
        return self._get(
            f"/accounts/{account_id}?transactions=false{moment}", LedgerAccount, deadline
        )

    def find_relationship(
        self, account_id: str, token: str, deadline: Deadline
    ) -> Relationship | None:
        """Find an account's relationship with a token; None if it is not associated."""
        path = f"/accounts/{account_id}/tokens?token.id={token}"
        relationships = self._get_rows(path, Relationship, deadline, "tokens")
        relationship = relationships[0] if relationships else None
        if relationship and relationship.token != token:
            raise self._invalid(path, f"it describes {relationship.token}, not {token}")
        return relationship

    def list_relationships(self, account_id: str, deadline: Deadline) -> Iterator[Relationship]:
        """List an account's relationships with tokens."""
        path = f"/accounts/{account_id}/tokens?limit={PAGE}&order=asc"
        return self._pages(path, "tokens", Relationship, deadline)

    def list_transactions(
        self, transaction_id: TransactionId, deadline: Deadline
    ) -> list[Transaction]:
        """List the transactions that reached consensus under this id: none yet, one, or several.

        Refused repetitions, children of a contract call and scheduled executions share the id.
        """
        path = f"/transactions/{transaction_id.dashed}"
        return self._get_rows(path, Transaction, deadline, "transactions") or []

    def find_transaction(self, consensus_at: int, deadline: Deadline) -> Transaction | None:
        """Find the transaction with a consensus timestamp, in nanoseconds, however old it is.

        Recently read transactions come from a cache. Simultaneous callers share one request.
        """
        with self._lock:
            read_at, known = self._transactions.get(consensus_at, (0.0, None))
            if known and time.monotonic() - read_at < RECALLED_SECONDS:
                return known
            asked = self._asked.get(consensus_at)
            if asked is None:
                answer = self._asked[consensus_at] = Future()
        if asked is None:
            return self._answer(consensus_at, answer, deadline)
        try:
            return asked.result(deadline.left)
        except TimeoutError:
            raise LedgerUnreachable("it took too long") from None
        except MarketplaceError:  # the other caller may have had less time, or no turn left
            return self._read_transaction(consensus_at, deadline)

    def _answer(
        self, consensus_at: int, answer: Future[Transaction | None], deadline: Deadline
    ) -> Transaction | None:
        """Read a transaction, for all callers that wait for it."""
        try:
            answer.set_result(self._read_transaction(consensus_at, deadline))
        except BaseException as error:
            answer.set_exception(error)
        finally:
            del self._asked[consensus_at]
        return answer.result()

    def _read_transaction(self, consensus_at: int, deadline: Deadline) -> Transaction | None:
        path = f"/transactions?timestamp={times.to_consensus(consensus_at)}"
        rows = self._get_rows(path, Transaction, deadline, "transactions") or []
        self._recall(rows)
        return next((row for row in rows if row.consensus_at == consensus_at), None)

    def _recall(self, rows: Iterable[Transaction]) -> None:
        now = time.monotonic()
        with self._lock:
            self._transactions |= {row.consensus_at: (now, row) for row in rows}
            for consensus_at in [*self._transactions][:-TRANSACTIONS_RECALLED]:
                del self._transactions[consensus_at]

    def find_schedule(self, schedule_id: str, deadline: Deadline) -> Schedule | None:
        path = f"/schedules/{schedule_id}"
        schedule = self._get(path, Schedule, deadline)
        if schedule and schedule.id != schedule_id:
            raise self._invalid(path, f"it describes another schedule, {schedule.id}")
        return schedule

    def list_transactions_after(
        self,
        moment: int,
        payer: str,
        deadline: Deadline,
        types: Iterable[str],
    ) -> transaction_feed.TransactionPage:
        """Read the next page of transactions after a consensus timestamp, oldest first."""
        types = "&".join(f"transactiontype={name}" for name in types)
        after = f"timestamp=gt:{times.to_consensus(moment)}"
        path = f"/transactions?{types}&{after}&order=asc&limit={PAGE}"
        document = self._get_object(path, deadline)
        if document is None:
            raise self._invalid(path, "it has no such list")
        try:
            page = transaction_feed.read_page(document, moment, payer, PAGE)
        except ValueError as error:
            raise self._invalid(path, str(error)[:200]) from error
        self._recall(page.rows)
        return page

    def find_present(self, deadline: Deadline) -> int:
        """Find the end of the mirror node's last block, in nanoseconds. Its data is current up to then."""
        path = "/blocks?limit=1&order=desc"
        blocks = self._get_rows(path, Block, deadline, "blocks")
        if not blocks:
            raise self._invalid(path, "it has no blocks")
        ended_at = blocks[0].ended_at
        self._present = Present(ended_at, times.now() - ended_at, time.monotonic_ns())
        return ended_at

    def recall_present(self, deadline: Deadline) -> Present:
        """The end of the last block, read now or at most ten seconds ago."""
        if self._present is None or not self._present.is_recent():
            self.find_present(deadline)
        return cast(Present, self._present)

    def recall_ahead(self, deadline: Deadline) -> int | None:
        """By how many nanoseconds our clock is ahead of the last block. None after a recent failure."""
        now = time.monotonic_ns()
        if now < self._silent_until:
            return None
        try:
            return self.recall_present(deadline).ahead
        except (LedgerUnreachable, LedgerAnswerInvalid):
            self._silent_until = now + AHEAD_RECALLED
            return None

    def find_price(self, cents: int, deadline: Deadline) -> int:
        """Convert US cents to tinybars, by the current or the next exchange rate, whichever costs more."""
        rates = self.find_exchange_rates(deadline)
        return max(ceil(Fraction(cents * rate.hbar * TINYBARS, rate.cents)) for rate in rates)

    def find_exchange_rates(self, deadline: Deadline) -> ExchangeRates:
        path = "/network/exchangerate"
        answer = self._get(path, ExchangeRates, deadline)
        if not answer:
            raise self._invalid(
                path, "the mirror node has none. Buying needs its module rest-java, too"
            )
        return answer

    def list_nodes(self, deadline: Deadline) -> Iterator[ConsensusNode]:
        """List the network's consensus nodes."""
        return self._pages("/network/nodes?limit=25&order=asc", "nodes", ConsensusNode, deadline)

    def find_topic_memo(self, topic: str, deadline: Deadline) -> str | None:
        found = self._get(f"/topics/{topic}", Topic, deadline)
        return found.memo if found else None

    def find_message(self, consensus_timestamp: str, deadline: Deadline) -> Message | None:
        return self._get(f"/topics/messages/{consensus_timestamp}", Message, deadline)

    def list_messages(
        self, topic: str, deadline: Deadline, *, newest_first: bool = False, since: int = 0
    ) -> Iterator[Message]:
        """Yield the rows of a topic since a consensus time, the oldest first unless asked otherwise."""
        order = "desc" if newest_first else "asc"
        path = f"/topics/{topic}/messages?limit={PAGE}&order={order}"
        if since:
            path += f"&timestamp=gte:{times.to_consensus(since)}"
        return self._pages(path, "messages", Message, deadline)

    def _pages(
        self,
        path: str,
        key: str,
        kind: Callable[..., Any] | None,
        deadline: Deadline | None = None,
    ) -> Iterator[Any]:
        """Yield the items of all pages, unparsed if there is no kind. Uses only the query of links.next.

        Raises LedgerAnswerInvalid for a repeated query, and beyond MAX_PAGES.
        """
        path, _, query = path.partition("?")
        seen: set[str] = set()
        while query not in seen:
            if len(seen) == MAX_PAGES:
                raise self._invalid(path, f"it has more than {MAX_PAGES:,} pages")
            seen.add(query)
            page_deadline = deadline or Deadline(UNHURRIED_SECONDS)
            document = self._get_object(f"{path}?{query}", page_deadline)
            if document is None:
                return
            with self._reading(path):
                items = read_rows(kind, document, key) if kind else read_list(document, key)
                following = read(Links, document).following
            yield from items
            if following is None:
                return
            query = following.partition("?")[2]
        raise self._invalid(path, "its pages lead in a circle")

    def _get(self, path: str, kind: Callable[..., T], deadline: Deadline) -> T | None:
        """Return an answer; None if the mirror node has no such object."""
        document = self._get_object(path, deadline)
        if document is None:
            return None
        with self._reading(path):
            return read(kind, document)

    def _get_rows(
        self, path: str, kind: Callable[..., T], deadline: Deadline, key: str
    ) -> list[T] | None:
        """Return the list of an answer; None if the mirror node has no such list."""
        document = self._get_object(path, deadline)
        if document is None:
            return None
        with self._reading(path):
            return read_rows(kind, document, key)

    def _get_object(self, path: str, deadline: Deadline) -> dict[str, Any] | None:
        try:
            answer = self._get_with_retries(self._base_url + path, deadline)
        except TimeIsUp:
            raise LedgerUnreachable("it took too long") from None
        except Unfetchable as error:
            raise self._invalid(path, str(error)) from error
        if _is_not_found(answer):
            return None
        if answer.status not in SUCCESSES:
            raise self._invalid(path, f"status {answer.status}")
        try:
            document = json.loads(answer.content)
        except (ValueError, RecursionError) as error:
            raise self._invalid(path, "it is not JSON") from error
        if not isinstance(document, dict):
            raise self._invalid(path, "it is not an object")
        return document

    def _get_with_retries(self, url: str, deadline: Deadline) -> Fetched:
        """Try a few times while there is time. The pauses grow, and are at least as long as Retry-After."""
        first = FIRST_PAUSE_SECONDS * random.uniform(0.5, 1.5)
        for attempt in range(1, ATTEMPTS + 1):
            self._count("mirror_node_wait_seconds", self.rate.wait(deadline))
            try:
                answer = fetch(self._session, url, MAX_ANSWER_BYTES, deadline)
                outcome = "429" if answer.status == 429 else f"{answer.status // 100}xx"
                self._count("mirror_node_requests", outcome=outcome)
                if answer.status not in TRANSIENT:
                    return answer
                reason = f"status {answer.status}"
                asked = min(read_retry_after(answer.headers), LONGEST_ASKED_SECONDS)
            except Unfetchable:
                raise
            except FetchError as error:
                self._count("mirror_node_requests", outcome="silent")
                reason, asked = str(error), 0
            pause = max(times.growing_pause(attempt, first, LONGEST_ASKED_SECONDS), asked)
            if attempt == ATTEMPTS or pause > deadline.remaining():
                break
            self._count("mirror_node_retries")
            time.sleep(pause)
        raise LedgerUnreachable(reason, retry_after=max(asked, 5))

    @contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        """Turn a ValueError into LedgerAnswerInvalid."""
        try:
            yield
        except ValueError as error:
            raise self._invalid(path, str(error)[:200]) from error

    def _invalid(self, path: str, reason: str) -> LedgerAnswerInvalid:
        self._count("mirror_node_invalid_answers")
        return LedgerAnswerInvalid(f"{path.partition('?')[0]}: {reason}")


def _is_not_found(answer: Fetched) -> bool:
    """Tell whether the mirror node itself found nothing. Another server's 404 means a wrong address.

    A 400 about a parameter or an id counts, too: the id is well-formed, but out of the network's range.
    """
    is_own = b'"_status"' in answer.content
    is_impossible = answer.status == 400 and IMPOSSIBLE.search(answer.content)
    return is_own and (answer.status == 404 or bool(is_impossible))
