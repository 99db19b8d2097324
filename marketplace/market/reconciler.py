"""Brings what is stored of an NFT in line with the ledger: nobody else writes whether it is for sale.

The facts are read first, holding no lock; all that follows from them is written in one transaction. Each
write carries the ledger's own date of what it rests on, and an older one never wins: whoever comes, in
whatever order, what stands is what the newest facts say. Where they contradict each other nothing is written.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from flask import current_app

from marketplace import times
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.answers import Nft
from marketplace.market import collections, records, rule
from marketplace.market.rule import Facts, ForSale, NotForSale, Undecided, Verdict
from marketplace.store import queries
from marketplace.store.database import read, write

LEDGER_SECONDS = 4  # for what the mirror node must say

# Dates in place of the ledger's own, nft.ledger_at in schema.sql.
NOTHING_DECIDED = times.to_iso(0)
GONE = "9999-12-31T23:59:59.999999999Z"  # it was burned, or its token deleted: nothing can follow


class InLine(NamedTuple):
    """What a look at the ledger made of one NFT."""

    before: Any  # the NFT as it was stored; None where it was not
    nft: Any  # as it is stored now; None where it was gone before it was ever stored
    verdict: Verdict | None  # None where what was stored says already how it is

    @property
    def is_decided(self) -> bool:
        return not isinstance(self.verdict, Undecided)


def refresh(
    token: str, serial_no: int, deadline: Deadline | None = None, *, anew: bool = False
) -> InLine:
    """Ask the ledger about a stored NFT, and bring it in line. Raises the ledger's own errors.

    ``anew``: as bring_in_line() takes it.
    """
    deadline = deadline or Deadline(LEDGER_SECONDS)
    on_ledger = mirror_node().find_nft(token, serial_no, deadline)
    if on_ledger is None:
        nft = queries.get_nft(read(), token, serial_no)
        return InLine(nft, nft, Undecided("the ledger shows it no more, though NFTs do not vanish"))
    return bring_in_line(on_ledger, deadline, anew=anew)


def is_news(on_ledger: Nft, stored: Any) -> bool:
    """Tell whether the ledger's row of an NFT that we may spend says what is not in what is stored."""
    if stored is None:
        return not rule.is_gone(on_ledger)
    if on_ledger.is_deleted:
        return stored["ledger_at"] != GONE
    return times.to_iso(on_ledger.modified_at) > stored["ledger_at"]


def bring_in_line(
    on_ledger: Nft,
    deadline: Deadline | None = None,
    *,
    describe: Callable[..., dict] = records.build,
    anew: bool = False,
    until: Deadline | None = None,
) -> InLine:
    """Decide whether an NFT is for sale, and store what follows: the NFT, too, where it is not stored yet.

    ``describe(on_ledger, token_name=...)`` makes the record of one that is not; ``anew`` looks at all facts
    even of one that is listed and has not changed; ``until`` is when it must be written, whoever else writes.
    Raises the ledger's own errors, and the database's; then nothing is written.
    """
    before = queries.get_nft(read(), on_ledger.token, on_ledger.serial_no)
    verdict = _judge(on_ledger, before, anew, deadline or Deadline(LEDGER_SECONDS))
    if before is None and rule.is_gone(on_ledger):
        return InLine(None, None, verdict)
    state = _state(on_ledger, before, verdict)
    if before and all(before[name] == state[name] for name in state):
        return InLine(before, before, verdict)
    record = collection = None
    if before is None:
        name, collection = collections.look_up(on_ledger.token, until)
        record = describe(on_ledger, token_name=name) | {"ledger_at": NOTHING_DECIDED}
    nft = _write(on_ledger, record, collection, state, until)
    if state and nft["ledger_at"] != state["ledger_at"]:
        verdict = Undecided("something newer was stored meanwhile")
    return InLine(before, nft, verdict)


def _judge(on_ledger: Nft, before: Any, anew: bool, deadline: Deadline) -> Verdict | None:
    """Ask for as many facts as it takes; None where what is stored says already how it is."""
    ledger_at, market = times.to_iso(on_ledger.modified_at), current_app.config["ACCOUNT_ID"]
    if before and before["ledger_at"] == GONE:
        return None
    if before and before["ledger_at"] > ledger_at and not on_ledger.is_deleted:
        return Undecided("the mirror node shows an older state of it")
    if _is_row_enough(on_ledger):
        return rule.decide(Facts(on_ledger), market)
    if before and before["is_for_sale"] and not is_news(on_ledger, before) and not anew:
        return None
    mirror, transactions = mirror_node(), []
    history = mirror.find_history(on_ledger.token, on_ledger.serial_no, deadline)
    if history.last_event:
        transactions = mirror.list_transactions(history.last_event.transaction_id, deadline)
    return rule.decide(Facts(on_ledger, history, tuple(transactions)), market)


def _is_row_enough(on_ledger: Nft) -> bool:
    return rule.decides_alone(on_ledger, current_app.config["ACCOUNT_ID"])


def _state(on_ledger: Nft, before: Any, verdict: Verdict | None) -> dict:
    """What an NFT's columns are to hold by a verdict; nothing where that changes nothing."""
    ledger_at = times.to_iso(on_ledger.modified_at)
    match verdict:
        case ForSale(price, listed_at):
            listing = {"listing_price": price, "last_listed_at": times.to_iso(listed_at)}
            return listing | {"is_for_sale": 1, "owner": on_ledger.owner, "ledger_at": ledger_at}
        case NotForSale():
            if on_ledger.is_deleted:
                ledger_at = GONE
            elif before and before["is_for_sale"] and before["ledger_at"] == ledger_at:
                ledger_at = NOTHING_DECIDED  # it was for sale at that moment: one answer is wrong
            elif _is_row_enough(on_ledger):
                ledger_at = times.just_before(ledger_at)
            owner = on_ledger.owner or before["owner"]
            return {"is_for_sale": 0, "listing_price": 0, "owner": owner, "ledger_at": ledger_at}
    return {}


def _write(
    on_ledger: Nft,
    record: dict | None,
    collection: dict | None,
    state: dict,
    until: Deadline | None,
) -> Any:
    """Write all that follows, in one transaction; returns the NFT as it is stored then."""
    keys = {"token": on_ledger.token, "serial_no": on_ledger.serial_no}
    with write(until.left if until else None) as db:
        if record:
            queries.insert_nft(db, record)
            collections.store(db, on_ledger.token, collection)
        if state:
            seen_at = state["ledger_at"]
            if seen_at == NOTHING_DECIDED:
                seen_at = times.to_iso(on_ledger.modified_at)
            queries.mark_in_line(db, {"last_listed_at": None, "seen_at": seen_at} | keys | state)
            if state["is_for_sale"]:
                collections.note_listed(db, on_ledger.token)
        return queries.get_nft(db, **keys)
