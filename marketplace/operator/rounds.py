"""One round over everything: ``flask sync`` goes it once, ``flask watch`` again and again."""

import enum
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice, zip_longest
from math import ceil
from typing import Any

from flask import current_app

from marketplace import times
from marketplace.errors import (
    DatabaseBusy,
    DatabaseUnreachable,
    DatabaseUnusable,
    LedgerAnswerInvalid,
    LedgerUnreachable,
)
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.answers import Nft
from marketplace.market import collections, fees, reconciler, records
from marketplace.market.shares import ALL, Share
from marketplace.operator.notify import tell_alive
from marketplace.store import collections as kept
from marketplace.store import preparations, queries
from marketplace.store.database import read, write
from marketplace.store.faults import explained

AT_ONCE = 8  # requests under way
# What a round may cost, in seconds. Who is left out has the same chance in the next one.
PREPARERS_SECONDS = 20  # asking about accounts that have prepared something, and list nothing
LOOKING_SECONDS = 60  # looking at NFTs that differ
COMPLETING_SECONDS = 20
SETTLING_SECONDS = 10
SETTLED_AT_ONCE = 200  # purchases asked about
COMPLETED_AT_ONCE = 200  # NFTs tried to complete
COLLECTIONS_SECONDS = 10
COLLECTIONS_AT_ONCE = 200  # read again
DUE_IN_A_PART = 1000  # collections looked through for those of a share
KEPT_SECONDS = 3 * 3600  # past its end; until then, what was prepared tells where to look
# Prepared transactions that are deleted in one of the database's, for which other writers wait.
FORGOTTEN_AT_ONCE = 10_000


class Done(enum.Enum):
    """What a round did, in its operator's words."""

    SELLERS = "sellers checked"
    LISTED = "NFTs listed"
    TAKEN_OFF = "NFTs taken off the order book"
    UNCHANGED = "NFTs found unchanged"
    UNDECIDED = "NFTs not decided yet"
    NOT_CHECKED = "not checked"
    COMPLETED = "NFTs completed"
    INCOMPLETE = "NFTs still incomplete"
    COLLECTIONS = "collections read"
    COLLECTIONS_LATE = "collections not read yet"

    @property
    def is_final(self) -> bool:
        """Whether the next round need not look again."""
        return self not in (Done.UNDECIDED, Done.NOT_CHECKED)


def sync(stop: threading.Event | None = None, share: Share = ALL) -> Counter[Done]:
    """Bring everything in line with the ledger, once, or a share of it. Returns how often what was done."""
    stop = stop or threading.Event()
    now = times.now()
    differing = _find_all_differing(stop, share)
    checked = {account: found for account, found in differing.items() if isinstance(found, list)}
    looked = [*_for_each(look, _in_turns(checked.values()), stop, LOOKING_SECONDS)]
    accounts = _in_turns([account] * len(found) for account, found in checked.items())
    unfinished = {
        account for account, done in zip(accounts, looked, strict=True) if not done.is_final
    }
    for account in checked.keys() - unfinished:
        tell_alive()
        _forget_prepared(account, times.to_iso(now - KEPT_SECONDS * times.SECOND))
    settle_purchases(share, times.to_iso(now - KEPT_SECONDS * times.SECOND))
    incomplete = next_to_complete(share)
    completed = _for_each(complete, incomplete, stop, COMPLETING_SECONDS, left_out=Done.INCOMPLETE)
    refreshed = _for_each(
        refresh,
        next_collections(share),
        stop,
        COLLECTIONS_SECONDS,
        left_out=Done.COLLECTIONS_LATE,
    )
    counts = Counter([*looked, *completed, *refreshed, *[Done.SELLERS] * len(checked)])
    counts[Done.NOT_CHECKED] += len(differing) - len(checked)
    if not stop.is_set() and all(done.is_final for done in +counts):
        with write() as db:
            queries.mark_job_finished(db, share.name("sync"), times.to_iso(now))
    if stop.is_set():
        del counts[Done.NOT_CHECKED]  # nobody expects it
    return +counts  # without the zeros


def _find_all_differing(stop: threading.Event, share: Share) -> dict[str, list | Done]:
    """For each account what differs; no list for one that could not be asked about."""
    sellers = _shuffled(filter(share.has, _account_ids(queries.list_sellers(read()))))
    preparers = set(filter(share.has, _account_ids(preparations.list_preparers(read()))))
    # Whoever may write can make others of these: sellers do not wait for them.
    others = _shuffled(preparers - set(sellers))
    found = [
        *_for_each(find_differing, sellers, stop),
        *_for_each(find_differing, others, stop, PREPARERS_SECONDS),
    ]
    return dict(zip([*sellers, *others], found, strict=True))


def _account_ids(rows: list) -> list[str]:
    return [row["account_id"] for row in rows]


def next_to_complete(share: Share) -> list:
    """The NFTs of a share that are to be completed next: collections take turns, shuffled each time."""
    now = times.to_iso(times.now())
    collections = _shuffled(queries.list_collections_incomplete(read(), now))[:COMPLETED_AT_ONCE]
    of_each = ceil(share.of * COMPLETED_AT_ONCE / max(len(collections), 1))
    rows = _in_turns(
        queries.list_incomplete(read(), row["token"], now, of_each) for row in collections
    )
    return [nft for nft in rows if share.has(nft["token"], nft["serial_no"])][:COMPLETED_AT_ONCE]


def next_collections(share: Share) -> list[str]:
    """The collections of a share that are to be read next: those first whose turn is longest ago."""
    return [*islice(filter(share.has, _list_due()), COLLECTIONS_AT_ONCE)]


def _list_due() -> Iterator[str]:
    """All collections that are to be read, of whatever share."""
    now, retry_at, token = times.to_iso(times.now()), "", ""
    while rows := kept.list_collections_due_after(read(), now, retry_at, token, DUE_IN_A_PART):
        for row in rows:
            retry_at, token = row["retry_at"], row["token"]
            yield token


def refresh(token: str) -> Done:
    """Read again what the ledger knows of a collection: one request."""
    return Done.COLLECTIONS if collections.refresh(token) else Done.COLLECTIONS_LATE


def find_differing(account_id: str) -> list[Any]:
    """Compare what an account has listed here with what the ledger lets us spend: mostly one request.

    Returns what differs, to be looked at: the keys of NFTs that are listed only here, the ledger's rows
    of those that are otherwise there, and the errors of those that make no sense.
    """
    market = current_app.config["ACCOUNT_ID"]
    rows = queries.list_known_of_seller(read(), account_id)
    known = {(row["token"], row["serial_no"]): row for row in rows}
    otherwise = []
    for nft in mirror_node().list_nfts_spendable(account_id, market):
        tell_alive()  # a long list takes many requests
        if isinstance(nft, LedgerAnswerInvalid):
            otherwise.append(nft)
            continue
        key = nft.token, nft.serial_no
        if reconciler.is_news(nft, known.pop(key, None) or queries.get_nft(read(), *key)):
            otherwise.append(nft)
    return [*known, *_shuffled(otherwise)]


def look(found: tuple[str, int] | Nft | LedgerAnswerInvalid) -> Done:
    """Bring one NFT in line. Raises the ledger's errors."""
    if isinstance(found, LedgerAnswerInvalid):
        raise found
    if isinstance(found, Nft):
        line = reconciler.bring_in_line(found, describe=records.build_bare)
    else:
        line = reconciler.refresh(*found)
    if not line.is_decided:
        current_app.logger.warning("%s is not decided yet: %s", _name(found), line.verdict.reason)
        return Done.UNDECIDED
    was_listed = line.before and line.before["is_for_sale"]
    if line.nft is None or not line.nft["is_for_sale"]:
        return Done.TAKEN_OFF if was_listed else Done.UNCHANGED
    columns = ("listing_price", "last_listed_at", "owner")
    is_same = was_listed and all(line.before[name] == line.nft[name] for name in columns)
    return Done.UNCHANGED if is_same else Done.LISTED


def complete(nft) -> Done:
    """Try again for the metadata and the image that a stored NFT lacks."""
    completed = records.complete(nft)
    with write() as db:
        queries.mark_described(db, completed, nft["attempts"])
    return Done.INCOMPLETE if completed["missing"] else Done.COMPLETED


def _forget_prepared(account_id: str, before: str) -> None:
    """Forget what has told for long enough where to look, once that account was looked at to the end."""
    while preparations.get_expired_preparation(read(), account_id, before):
        with write() as db:
            preparations.delete_expired_preparations(db, account_id, before, FORGOTTEN_AT_ONCE)


def settle_purchases(share: Share, before: str) -> None:
    """Find out what purchases have cost whose time is over, and forget those of before a date.

    While the mirror node does not say, they are asked about again in the next round.
    """
    purchases = [
        row
        for row in fees.list_unsettled(share.of * SETTLED_AT_ONCE)
        if share.has(row["token"], row["serial_no"])
    ]
    if not purchases and not preparations.get_expired_purchase(read(), before):
        return
    try:
        deadline = Deadline(SETTLING_SECONDS)
        present = mirror_node().find_present(deadline)
    except (LedgerUnreachable, LedgerAnswerInvalid) as error:
        current_app.logger.warning("No purchase was settled: %s", error)
        return
    fees.settle(purchases, present, deadline)
    # What this hour has cost is not forgotten by a clock that is hours ahead.
    before = min(before, times.to_iso(present - KEPT_SECONDS * times.SECOND))
    if preparations.get_expired_purchase(read(), before):
        with write() as db:
            preparations.delete_expired_purchases(db, before, FORGOTTEN_AT_ONCE)


def _for_each(
    work: Callable,
    items: list,
    stop: threading.Event,
    seconds: float = float("inf"),
    left_out: Done = Done.NOT_CHECKED,
) -> Iterator[Any]:
    """Do the work for each item, several at once, while there is time. One that fails ends no round.

    Yields what it returned for each; Done.NOT_CHECKED where it failed, ``left_out`` where it was not begun.
    Raises what would be the same for all: DatabaseBusy, DatabaseUnusable, DatabaseUnreachable, OSError.
    """
    app = current_app._get_current_object()
    enough = time.monotonic() + seconds

    def work_on(item):
        if stop.is_set() or time.monotonic() > enough:
            return left_out
        with app.app_context():
            try:
                with explained():
                    return work(item)
            except (DatabaseBusy, DatabaseUnusable, DatabaseUnreachable, OSError):
                raise
            except (LedgerUnreachable, LedgerAnswerInvalid) as error:
                app.logger.warning("%s was not checked: %s", _name(item), error)
            except Exception:
                app.logger.exception("%s was not checked", _name(item))
            finally:
                tell_alive()
            return Done.NOT_CHECKED

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(work_on, items)


def _in_turns(lists: Iterable[list]) -> list:
    """The first of each, then the second of each, and so on: nobody's many keep another's one waiting."""
    return [item for item in chain.from_iterable(zip_longest(*lists)) if item is not None]


def _shuffled(items: Iterable) -> list:
    items = list(items)
    return random.sample(items, len(items))


def _name(item: Any) -> str:
    """What an item is called in the log: an account, or an NFT, of the ledger or as it is stored."""
    if isinstance(item, LedgerAnswerInvalid):
        return "An NFT"
    if isinstance(item, str):
        return item
    token, serial_no = item[:2] if isinstance(item, tuple) else (item["token"], item["serial_no"])
    return f"{token} #{serial_no}"


def summary(counts: Counter[Done]) -> str:
    """What was done, in a line."""
    return ", ".join(f"{done.value}: {counts[done]}" for done in Done if counts[done])
