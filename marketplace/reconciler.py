"""Brings what is stored of an NFT in line with the ledger: nobody else writes whether it is for sale.

The facts are read first, holding no lock; all that follows from them is written in one transaction. Each
write carries the ledger's own date of what it rests on, and an older one never wins: whoever comes, in
whatever order, what stands is what the newest facts say. Where they contradict each other nothing is written.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from flask import current_app

from marketplace import queries, records, rule, times
from marketplace.db import read, write
from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.answers import Nft
from marketplace.rule import Facts, ForSale, NotForSale, Undecided, Verdict

LEDGER_SECONDS = 6  # for what the mirror node must say
TOKEN_NAME_SECONDS = 2  # for what it would be nice to know

# Dates in place of the ledger's own, nft.ledger_at in schema.sql.
NOTHING_DECIDED = times.to_iso(0)
GONE = "9999-12-31T23:59:59.999999999Z"  # it was burned, or its token deleted: nothing can follow


class InLine(NamedTuple):
    """What a look at the ledger made of one NFT."""

    before: Any  # the NFT as it was stored; None where it was not
    nft: Any  # as it is stored now; None where it was gone before it was ever stored
    verdict: Verdict | None  # None where nothing has changed since it was listed

    @property
    def is_decided(self) -> bool:
        return not isinstance(self.verdict, Undecided)


def refresh(token: str, serial_no: int, deadline: Deadline | None = None) -> InLine:
    """Ask the ledger about a stored NFT, and bring it in line. Raises the ledger's own errors."""
    deadline = deadline or Deadline(LEDGER_SECONDS)
    on_ledger = mirror_node().find_nft(token, serial_no, deadline)
    if on_ledger is None:
        nft = queries.get_nft(read(), token, serial_no)
        return InLine(nft, nft, Undecided("the ledger shows it no more, though NFTs do not vanish"))
    return bring_in_line(on_ledger, deadline)


def is_news(on_ledger: Nft, stored: Any) -> bool:
    """Tell whether the ledger's row of an NFT that we may spend says what is not in what is stored."""
    if stored is None:
        return not rule.is_gone(on_ledger)
    if on_ledger.is_deleted:
        return stored["ledger_at"] != GONE
    ledger_at = times.to_iso(on_ledger.modified_at)
    if ledger_at != stored["ledger_at"] or stored["is_for_sale"]:
        return ledger_at > stored["ledger_at"]
    # Not for sale by an answer of this very moment: by all facts, or by a row that contradicts this one.
    return not _is_passed_over(on_ledger)


def _is_passed_over(on_ledger: Nft) -> bool:
    row = queries.get_passed_over(read(), on_ledger.token, on_ledger.serial_no)
    return row is not None and row["ledger_at"] == times.to_iso(on_ledger.modified_at)


def bring_in_line(
    on_ledger: Nft,
    deadline: Deadline | None = None,
    *,
    describe: Callable[[Nft], dict] = records.build,
    anew: bool = False,
) -> InLine:
    """Decide whether an NFT is for sale, and store what follows: the NFT, too, where it is not stored yet.

    ``describe`` makes the record of one that is not; ``anew`` looks at all facts even of one that is listed
    and has not changed. Raises the ledger's own errors; then nothing is written.
    """
    deadline = deadline or Deadline(LEDGER_SECONDS)
    before = queries.get_nft(read(), on_ledger.token, on_ledger.serial_no)
    if before:
        ledger_at = times.to_iso(on_ledger.modified_at)
        if before["ledger_at"] == GONE:
            return InLine(before, before, NotForSale(rule.GONE))
        if before["ledger_at"] > ledger_at and not on_ledger.is_deleted:
            return InLine(before, before, Undecided("the mirror node shows an older state of it"))
        is_same = before["is_for_sale"] and before["ledger_at"] == ledger_at
        if is_same and not anew and not _decides_alone(on_ledger):
            return InLine(before, before, None)
    verdict = rule.decide(_read_facts(on_ledger, deadline), current_app.config["ACCOUNT_ID"])
    if before is None and rule.is_gone(on_ledger):
        return InLine(None, None, verdict)
    record = None if before else _describe(on_ledger, describe)
    return _write(on_ledger, verdict, before, record)


def _decides_alone(on_ledger: Nft) -> bool:
    return rule.decides_alone(on_ledger, current_app.config["ACCOUNT_ID"])


def _read_facts(on_ledger: Nft, deadline: Deadline) -> Facts:
    if _decides_alone(on_ledger):
        return Facts(on_ledger)
    mirror = mirror_node()
    history = mirror.find_history(on_ledger.token, on_ledger.serial_no, deadline)
    if history.last_event is None:
        return Facts(on_ledger, history)
    transactions = mirror.list_transactions(history.last_event.transaction_id, deadline)
    return Facts(on_ledger, history, tuple(transactions))


def _describe(on_ledger: Nft, describe: Callable[[Nft], dict]) -> dict:
    record = describe(on_ledger) | {"ledger_at": NOTHING_DECIDED}
    if record["name"] is None:
        record["name"] = records.name_after(_find_token_name(on_ledger.token), on_ledger)
    return record


def _find_token_name(token: str) -> str | None:
    try:
        found = mirror_node().find_token(token, Deadline(TOKEN_NAME_SECONDS))
        return found and found.name
    except (LedgerUnreachable, LedgerAnswerInvalid):
        return None  # it answered about the NFT, which is what counts


def _write(on_ledger: Nft, verdict: Verdict, before: Any, record: dict | None) -> InLine:
    """Write all that follows, in one transaction; nothing where it is not decided, or so already."""
    keys, ledger_at = (on_ledger.token, on_ledger.serial_no), times.to_iso(on_ledger.modified_at)
    state = _state(on_ledger, verdict, before)
    is_passed_over = isinstance(verdict, NotForSale) and not _decides_alone(on_ledger)
    is_so = before and (state is None or all(before[name] == state[name] for name in state))
    if is_so and (not is_passed_over or _is_passed_over(on_ledger)):
        return InLine(before, before, verdict)
    with write() as db:
        if record:
            queries.insert_nft(db, record)
        if state:
            queries.mark_in_line(db, *keys, max(ledger_at, state["ledger_at"]), **state)
        if is_passed_over:
            queries.mark_passed_over(db, *keys, ledger_at)
        nft = queries.get_nft(db, *keys)
    if state and nft["ledger_at"] != state["ledger_at"]:
        verdict = Undecided("something newer was stored meanwhile")
    return InLine(before, nft, verdict)


def _state(on_ledger: Nft, verdict: Verdict, before: Any) -> dict | None:
    """What the columns of an NFT are to hold by a verdict; None where it is not decided."""
    if isinstance(verdict, Undecided):
        return None
    ledger_at = times.to_iso(on_ledger.modified_at)
    if isinstance(verdict, ForSale):
        return {
            "is_for_sale": 1,
            "listing_price": verdict.listing_price,
            "owner": on_ledger.owner,
            "last_listed_at": times.to_iso(verdict.listed_at),
            "ledger_at": ledger_at,
        }
    if on_ledger.is_deleted:
        ledger_at = GONE
    elif before and before["is_for_sale"] and before["ledger_at"] == ledger_at:
        ledger_at = (
            NOTHING_DECIDED  # at that very moment it was for sale: one of the answers is wrong
        )
    return {
        "is_for_sale": 0,
        "listing_price": 0,
        "owner": on_ledger.owner or before["owner"],
        "ledger_at": ledger_at,
    }
