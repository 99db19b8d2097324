"""Compares one entry of the recheck queue with the ledger, and decides whether the result is final."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flask import current_app

from marketplace.errors import LedgerAnswerInvalid
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import ALLOWED_LAG, Deadline
from marketplace.ledger.mirror_schemas import Nft
from marketplace.market import freshness, reconciler
from marketplace.market.listing_rule import Undecided
from marketplace.market.recheck_queue import Recheck, is_new_enough
from marketplace.market.reconciler import Reconciliation
from marketplace.market.stored_state import find_stored_at
from marketplace.metrics import count
from marketplace.services import mirror_node
from marketplace.store import following, nfts
from marketplace.store.database import read
from marketplace.store.rows import NftRow, RecheckRow
from marketplace.watcher.work import Done

FOREVER = 2**63 - 1
NFT_SECONDS = 30  # to check one NFT: a long history has several pages
PAGE = 100  # NFTs that the mirror node lists at once

Listed = Nft | LedgerAnswerInvalid


class Checked(NamedTuple):
    """The result of a check: what was done, how new the facts were, and which NFTs differ."""

    done: Done
    facts_at: int = 0  # nanoseconds of consensus
    differing: list[Recheck] = []
    is_short: bool = False  # whether a list took one request


def check(row: RecheckRow) -> Checked:
    """Reconcile an NFT, or compare a list. Raises the ledger's errors, and the database's."""
    if row["kind"] == "nft":
        return _check_nft(NftId(row["id"], row["serial_no"]))
    if row["kind"] == "account":
        checked = _check_account(row["id"], times.to_nanoseconds(row["changed_at"]) or times.now())
    else:
        judges_again = bool(row["is_swept"]) and not freshness.is_judged()
        checked = _check_token(row["id"], judges_again=judges_again)
        if row["is_swept"]:
            count("sweep_found", sum(map(_was_missed, checked.differing)))
    return checked._replace(differing=[_date(recheck, row) for recheck in checked.differing])


def _date(recheck: Recheck, row: RecheckRow) -> Recheck:
    """Note since when an NFT may differ, as an entry of its account or token knows it: see lastSync."""
    if row["first_changed_at"]:
        first_changed_at = times.to_nanoseconds(row["first_changed_at"])
    elif freshness.find_last_sweep():
        return recheck
    else:  # it may have changed more than once before following began
        stored = nfts.get_nft(read(), recheck.id, recheck.serial_no)
        first_changed_at = find_stored_at(stored) if stored else recheck.changed_at
    return recheck._replace(first_changed_at=min(first_changed_at, recheck.changed_at))


def _was_missed(recheck: Recheck) -> bool:
    """Tell whether following missed an NFT's change: it has passed the change, but did not queue the NFT."""
    state, changed_at = following.get_follow(read()), times.to_iso(recheck.changed_at)
    if state is None or not state["began_at"] < changed_at <= state["cursor_at"]:
        return False
    return following.get_recheck(read(), "nft", recheck.id, recheck.serial_no) is None


def _check_nft(nft_id: NftId) -> Checked:
    deadline = Deadline(NFT_SECONDS)
    on_ledger = mirror_node().find_nft(*nft_id, deadline)
    stored = nfts.get_nft(read(), *nft_id)
    if on_ledger is None:
        return Checked(Done.UNDECIDED if stored else Done.UNCHANGED)
    facts_at = FOREVER if on_ledger.is_deleted else on_ledger.modified_at
    if stored is None and on_ledger.spender != current_app.config["ACCOUNT_ID"]:
        return Checked(Done.UNCHANGED, facts_at)
    first = reconciler.judge(on_ledger, stored, deadline)
    if stored is None and isinstance(first.verdict, Undecided):
        # Stored as not listed, it would contradict lastSync: it may have been listed for long.
        return Checked(Done.UNDECIDED, facts_at)
    made = reconciler.reconcile(on_ledger, deadline, first=first)
    if not made.is_decided:
        current_app.logger.info("%s is not decided yet: %s", nft_id, made.reason)
    return Checked(_describe(made), facts_at)


def _describe(made: Reconciliation) -> Done:
    if not made.is_decided:
        return Done.UNDECIDED
    before, nft = made.before, made.nft
    was_listed = before is not None and bool(before["is_for_sale"])
    if nft is None or not nft["is_for_sale"]:
        return Done.TAKEN_OFF if was_listed else Done.UNCHANGED
    is_unchanged = before is not None and _read_listing(before) == _read_listing(nft)
    return Done.UNCHANGED if was_listed and is_unchanged else Done.LISTED


def _read_listing(nft: NftRow) -> tuple[int, str | None, str]:
    return nft["listing_price"], nft["last_listed_at"], nft["owner"]


def _check_account(account_id: str, changed_at: int) -> Checked:
    """Compare the listings of an account with the ledger: usually one request.

    The answer to one request is of one replica, which has seen all that came before the newest NFT in it.
    """
    market = current_app.config["ACCOUNT_ID"]
    unseen = set(nfts.list_known_of_seller(read(), account_id))
    moments: list[int] = []
    listed = _note_moments(mirror_node().list_nfts_spendable(account_id, market), moments)
    checked = _compare(Done.SELLERS, listed, unseen)
    ok_at = changed_at + ALLOWED_LAG
    missing = [Recheck("nft", *nft_id, changed_at, ok_at) for nft_id in sorted(unseen)]
    is_short = len(moments) < PAGE
    facts_at = max(moments, default=0) if is_short else 0
    return checked._replace(
        facts_at=facts_at, differing=checked.differing + missing, is_short=is_short
    )


def _note_moments(listed: Iterable[Listed], moments: list[int]) -> Iterator[Listed]:
    """Yield NFTs, and note when each was modified: 0 for one that can not be read."""
    for nft in listed:
        moments.append(nft.modified_at if isinstance(nft, Nft) else 0)
        yield nft


def _check_token(token: str, *, judges_again: bool) -> Checked:
    """Compare the stored NFTs of a token with the ledger, in as few requests as possible.

    ``judges_again``: whether an earlier rule may have found some of them not for sale.
    """
    stored = nfts.list_stored_of_token(read(), token)
    is_sparse = 0 < len(stored) <= (stored[-1] - stored[0]) // PAGE + 1
    listed = _find_each(token, stored) if is_sparse else mirror_node().list_nfts(token)
    return _compare(Done.TOKENS, listed, set(), judges_again=judges_again)


def _find_each(token: str, serial_nos: Iterable[int]) -> Iterator[Listed]:
    """Yield the NFTs with these serial numbers, by one request each."""
    for serial_no in serial_nos:
        deadline = Deadline(reconciler.LEDGER_SECONDS)
        try:
            if nft := mirror_node().find_nft(token, serial_no, deadline):
                yield nft
        except LedgerAnswerInvalid as error:
            yield error


def _compare(
    done: Done,
    on_ledger: Iterable[Listed],
    unseen: set[tuple[str, int]],
    *,
    judges_again: bool = False,
) -> Checked:
    """Compare NFTs with the stored ones, and remove them from ``unseen``."""
    differing, market = [], current_app.config["ACCOUNT_ID"]
    for nft in on_ledger:
        if isinstance(nft, LedgerAnswerInvalid):
            current_app.logger.warning("An NFT was not checked: %s", nft)
            done = Done.UNREADABLE
            continue
        unseen.discard((nft.token, nft.serial_no))
        stored = nfts.get_nft(read(), nft.token, nft.serial_no)
        if reconciler.may_differ(nft, stored):
            differing.append(Recheck("nft", nft.token, nft.serial_no, nft.modified_at))
        elif judges_again and stored and nft.spender == market and not stored["is_for_sale"]:
            differing.append(Recheck("nft", nft.token, nft.serial_no, 0))  # the ledger is the same
    return Checked(done, 0, differing)


def is_enough(row: RecheckRow, checked: Checked, ledger_now: int) -> bool:
    """Tell whether a check is final: it is decided, by facts that are new enough."""
    facts_at = times.to_iso(checked.facts_at)
    return checked.done.is_final and is_new_enough(row, facts_at, ledger_now)
