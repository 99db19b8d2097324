"""Compares one entry of the recheck queue with the ledger, and says whether that is enough."""

from typing import Any, NamedTuple

from flask import current_app

from marketplace import times
from marketplace.counts import count
from marketplace.ids import NftId
from marketplace.ledger import Deadline, mirror_node
from marketplace.market import reconciler
from marketplace.market.recheck_queue import Recheck
from marketplace.market.reconciler import Reconciliation
from marketplace.store import following, nfts
from marketplace.store.database import read
from marketplace.store.rows import RecheckRow
from marketplace.watcher.compare import compare_account, compare_token
from marketplace.watcher.work import Done

FOREVER = 2**63 - 1


class Checked(NamedTuple):
    """The result of a check: what was done, how new the facts were, and which NFTs differ."""

    done: Done
    facts_at: int = 0  # nanoseconds of consensus
    differing: tuple[Recheck, ...] = ()


def check(row: RecheckRow) -> Checked:
    """Reconcile an NFT, or compare a list. Raises the ledger's errors, and the database's."""
    if row["kind"] == "nft":
        return _check_nft(NftId(row["id"], row["serial_no"]))
    changed_at = times.to_nanoseconds(row["changed_at"])
    if row["kind"] == "token":
        done, compared = Done.TOKENS, compare_token(row["id"])
        if row["is_swept"]:
            count("sweep_found", sum(map(_was_missed, compared.differing)))
    else:
        done, compared = Done.SELLERS, compare_account(row["id"], changed_at or times.now())
    return Checked(Done.UNREADABLE if compared.unreadable else done, 0, tuple(compared.differing))


def _was_missed(recheck: Recheck) -> bool:
    """Tell whether following has passed a change of an NFT, and it is not in the queue."""
    state, changed_at = following.get_follow(read()), times.to_iso(recheck.changed_at)
    if state is None or not state["began_at"] < changed_at <= state["cursor_at"]:
        return False
    return following.get_recheck(read(), "nft", recheck.id, recheck.serial_no) is None


def _check_nft(nft_id: NftId) -> Checked:
    deadline = Deadline(reconciler.LEDGER_SECONDS)
    on_ledger = mirror_node().find_nft(*nft_id, deadline)
    stored = nfts.get_nft(read(), *nft_id)
    if on_ledger is None:
        return Checked(Done.UNDECIDED if stored else Done.UNCHANGED)
    facts_at = FOREVER if on_ledger.is_deleted else on_ledger.modified_at
    if stored is None and on_ledger.spender != current_app.config["ACCOUNT_ID"]:
        return Checked(Done.UNCHANGED, facts_at)
    made = reconciler.reconcile(on_ledger, deadline)
    if not made.is_decided:
        current_app.logger.info("%s is not decided yet: %s", nft_id, made.reason)
    return Checked(_describe(made), facts_at)


def _describe(made: Reconciliation) -> Done:
    if not made.is_decided:
        return Done.UNDECIDED
    was_listed = bool(made.before and made.before["is_for_sale"])
    if made.nft is None or not made.nft["is_for_sale"]:
        return Done.TAKEN_OFF if was_listed else Done.UNCHANGED
    return Done.UNCHANGED if was_listed and _shown(made.before) == _shown(made.nft) else Done.LISTED


def _shown(nft: Any) -> tuple[Any, ...]:
    return nft["listing_price"], nft["last_listed_at"], nft["owner"]


def is_enough(row: RecheckRow, checked: Checked, now: int) -> bool:
    """Tell whether a check is final: decided, by facts as new as the change, or where older ones do."""
    if not checked.done.is_final:
        return False
    facts_at = times.to_iso(min(checked.facts_at, now))
    is_new = facts_at >= row["changed_at"] or checked.facts_at == FOREVER
    return is_new or (row["stale_ok_at"] is not None and times.to_iso(now) >= row["stale_ok_at"])
