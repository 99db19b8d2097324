"""Looks at what the ledger's transactions told of: an NFT itself, or a list in which NFTs may differ."""

from typing import NamedTuple

from flask import current_app

from marketplace import times
from marketplace.ledger import Deadline, mirror_node
from marketplace.market import reconciler
from marketplace.market.reconciler import Reconciliation
from marketplace.store import nfts
from marketplace.store.database import read
from marketplace.watcher.compare import compare_account, compare_token
from marketplace.watcher.directions import Look
from marketplace.watcher.work import Done

FOREVER = 2**63 - 1


class Seen(NamedTuple):
    """What a look has seen: how new it was, whether it decides anything, and what is to be looked at now."""

    done: Done
    seen_at: int  # nanoseconds of consensus
    following: tuple[Look, ...] = ()


def look_at(kind: str, id: str, serial_no: int, told_at: int) -> Seen:
    """Look, and bring one NFT in line. Raises the ledger's errors, and the database's."""
    if kind == "nft":
        return _look_at_nft(id, serial_no)
    differing = compare_token(id) if kind == "token" else compare_account(id, told_at)
    return Seen(Done.SELLERS if kind == "account" else Done.TOKENS, 0, tuple(differing))


def _look_at_nft(token: str, serial_no: int) -> Seen:
    deadline = Deadline(reconciler.LEDGER_SECONDS)
    on_ledger = mirror_node().find_nft(token, serial_no, deadline)
    stored = nfts.get_nft(read(), token, serial_no)
    if on_ledger is None:
        return Seen(Done.UNDECIDED if stored else Done.UNCHANGED, 0)
    seen_at = FOREVER if on_ledger.is_deleted else on_ledger.modified_at
    if stored is None and on_ledger.spender != current_app.config["ACCOUNT_ID"]:
        return Seen(Done.UNCHANGED, seen_at)
    line = reconciler.reconcile(on_ledger, deadline)
    if not line.is_decided:
        name, reason = f"{token} #{serial_no}", line.verdict.reason
        current_app.logger.info("%s is not decided yet: %s", name, reason)
    return Seen(_describe(line), seen_at)


def _describe(line: Reconciliation) -> Done:
    if not line.is_decided:
        return Done.UNDECIDED
    was_listed = line.before and line.before["is_for_sale"]
    if line.nft is None or not line.nft["is_for_sale"]:
        return Done.TAKEN_OFF if was_listed else Done.UNCHANGED
    columns = ("listing_price", "last_listed_at", "owner")
    is_same = was_listed and all(line.before[name] == line.nft[name] for name in columns)
    return Done.UNCHANGED if is_same else Done.LISTED


def is_enough(row, seen: Seen, now: int) -> bool:
    """Tell whether a look is done with: decided, by facts as new as what told of it, or after its time."""
    if not seen.done.is_final:
        return False
    is_new = times.to_iso(min(seen.seen_at, now)) >= row["told_at"] or seen.seen_at == FOREVER
    return is_new or (row["enough_at"] is not None and times.to_iso(now) >= row["enough_at"])
