"""Explains to an operator why an NFT is for sale here or not: shows the ledger's facts beside ours.

Changes nothing. listing_rule.py decides; this module only shows what it says.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from flask import current_app

from marketplace.command_line import command
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.ledger.objects import Nft
from marketplace.market import freshness, listing_rule
from marketplace.market.listing_rule import POINTS, ForSale, NftFacts, Undecided, Verdict
from marketplace.services import mirror_node, read
from marketplace.store import decisions, events, nfts, offers, prepared_transactions, rechecks
from marketplace.store.decisions import DecisionRow
from marketplace.store.events import EventFilter, Place
from marketplace.store.nfts import NftRow
from marketplace.store.prepared_transactions import PreparedNftRow
from marketplace.store.rechecks import NEVER_COMPARED, RecheckRow
from marketplace.text import shown

SECONDS = 30  # for the ledger's facts about one NFT
EVENTS = 5  # of an NFT, the newest
PREPARED = 5  # transactions, the newest
OFFERS = 5  # the highest
NFTS = 20  # of an account, that are explained

Line = tuple[str, str]  # what it is about, and what is so


def explain_nft(nft_id: NftId) -> Iterator[Line]:
    """Yield the facts about an NFT. Raises the ledger's errors."""
    stored, facts = nfts.get_nft(read(), *nft_id), _read_facts(nft_id)
    verdict = listing_rule.decide(facts, _market()) if facts else None
    yield "Here", _describe_stored(stored)
    yield from _describe_decisions(nft_id, stored and stored["owner"])
    yield "On the ledger", _describe_verdict(verdict)
    if facts:
        yield "Owner", facts.nft.owner or "none: it was burned"
        yield "Spender", facts.nft.spender or "none"
    if verdict:
        yield from _describe_points(verdict)
    if facts and facts.transaction:
        yield "Memo", shown(facts.transaction.memo.decode(errors="replace"))
    if verdict and is_different(stored, verdict):
        yield (
            "They differ",
            f"the watcher has not seen it yet, or the ledger's replicas disagree: {command('sync')}",
        )
    yield from _describe_queue([("nft", *nft_id), ("token", nft_id.token, 0), *_of_owner(stored)])
    yield from _describe_offers(nft_id)
    if stored:
        yield from _describe_metadata(stored)
    prepared = prepared_transactions.list_prepared(read(), *nft_id, PREPARED)
    last = facts and facts.history and facts.history.last_event
    yield from _describe_prepared(prepared, stored, str(last.transaction_id) if last else None)
    yield from _describe_events(nft_id)
    yield from _describe_looks(stored)


def explain_account(account_id: str) -> Iterator[Line]:
    """Yield what an account has listed, here and on the ledger. Raises the ledger's errors."""
    listed = nfts.count_listed_of_owner(read(), account_id)
    yield "Here", f"{listed:,} of its NFTs are for sale"
    yield from _describe_decisions(None, account_id)
    spendable = [*islice(mirror_node().list_nfts_spendable(account_id, _market()), NFTS + 1)]
    count = f"{len(spendable)}" if len(spendable) <= NFTS else f"more than {NFTS}"
    yield "On the ledger", f"the marketplace may spend {count} of its NFTs"
    found = {nft.id for nft in spendable if isinstance(nft, Nft)}
    # Include NFTs for sale here: the ledger may no longer let the marketplace spend them.
    known = {NftId(*nft_id) for nft_id in nfts.list_known_of_seller(read(), account_id)}
    for nft_id in sorted(found | known)[:NFTS]:
        yield str(nft_id), _compare(nft_id)
    yield from _describe_queue([("account", account_id, 0), ("seller", account_id, 0)])
    prepared = prepared_transactions.list_prepared_by(read(), account_id, PREPARED)
    yield from _describe_prepared(prepared, None)
    yield from _describe_looks(None)


def _compare(nft_id: NftId) -> str:
    stored, facts = nfts.get_nft(read(), *nft_id), _read_facts(nft_id)
    verdict = listing_rule.decide(facts, _market()) if facts else None
    is_same = verdict is None or not is_different(stored, verdict)
    return _describe_verdict(verdict) + ("" if is_same else f"; here {_describe_stored(stored)}")


def _market() -> str:
    account_id: str = current_app.config["ACCOUNT_ID"]
    return account_id


def _read_facts(nft_id: NftId) -> NftFacts | None:
    """The NFT's row, its history, and the transaction of its last event. None if there is no such NFT."""
    deadline = Deadline(SECONDS)
    nft = mirror_node().find_nft(*nft_id, deadline)
    if nft is None:
        return None
    history = mirror_node().find_history(*nft_id, deadline, times.now())
    last = history.last_event
    transaction = mirror_node().find_transaction(last.consensus_at, deadline) if last else None
    return NftFacts(nft, history, transaction)


def _describe_points(verdict: Verdict) -> Iterator[Line]:
    """The rule's points one by one. A point is not asked if an earlier one does not hold."""
    event = verdict.decided_by
    by = (
        f", by {event.transaction_id} ({event.name}, {_to_second(event.consensus_at)})"
        if event
        else ""
    )
    missed = "" if isinstance(verdict, ForSale) else verdict.reason
    failed = "undecided" if isinstance(verdict, Undecided) else "no"
    for number, name in enumerate(POINTS):
        said = f"{failed}: {missed}{by}" if number == verdict.points_held else "not asked"
        yield f"{number + 1}. {name}", f"yes{by}" if number < verdict.points_held else said


def is_different(stored: NftRow | None, verdict: Verdict) -> bool:
    """Tell whether the stored state differs from the rule's verdict."""
    if isinstance(verdict, Undecided):
        return False
    price = verdict.listing_price if isinstance(verdict, ForSale) else 0
    return price != (stored["listing_price"] if stored else 0)


def _describe_stored(nft: NftRow | None) -> str:
    if nft is None:
        return "not stored: nobody has added it, and it was not listed"
    if nft["is_for_sale"] and not nft["is_listed"]:
        return f"withheld: for sale for {nft['listing_price']:,} HBAR, but hidden, or its owner is blocked"
    if nft["is_for_sale"]:
        since = (
            times.to_second(nft["last_listed_at"]) if nft["last_listed_at"] else "an unknown date"
        )
        return f"for sale for {nft['listing_price']:,} HBAR by {nft['owner']}, since {since}"
    state = "" if nft["ledger_state"] in ("decided", "row_only") else f" ({nft['ledger_state']})"
    return f"not for sale, owned by {nft['owner']}{state}"


def _describe_verdict(verdict: Verdict | None) -> str:
    match verdict:
        case None:
            return "there is no such NFT"
        case ForSale(price, listed_at):
            return f"for sale for {price:,} HBAR since {_to_second(listed_at)}"
        case Undecided(reason):
            return f"undecided: {reason}"
    return f"not for sale: {verdict.reason}"


def _describe_decisions(nft_id: NftId | None, owner: str | None) -> Iterator[Line]:
    """The operator's decisions that keep an NFT from sale here, whatever the ledger says."""
    hidden = decisions.get_hiding(read(), *nft_id) if nft_id else None
    blocked = decisions.get_block(read(), owner) if owner else None
    if nft_id:
        yield "Hidden", _describe_decision(hidden)
    yield "Owner blocked" if nft_id else "Blocked", _describe_decision(blocked)


def _describe_decision(decision: DecisionRow | None) -> str:
    if decision is None:
        return "no"
    return f"since {times.to_second(decision['since'])}: {decision['reason']}"


def _of_owner(nft: NftRow | None) -> list[tuple[str, str, int]]:
    return [("account", nft["owner"], 0), ("seller", nft["owner"], 0)] if nft else []


def _describe_queue(keys: Sequence[tuple[str, str, int]]) -> Iterator[Line]:
    rows = [row for key in keys if (row := rechecks.get_recheck(read(), *key))]
    for row in rows:
        yield f"Queued ({row['kind']})", _describe_recheck(row)
    if not rows:
        yield "Queued", "no"


def _describe_recheck(row: RecheckRow) -> str:
    tried = f", tried {row['attempts']} times" if row["attempts"] else ""
    since = "it was never compared"
    if times.to_nanoseconds(row["since"]) != NEVER_COMPARED:
        since = f"it may differ since {times.to_second(row['since'])}"
    return f"{row['id']}: {since}; due {times.to_second(row['due_at'])}{tried}"


def _describe_offers(nft_id: NftId) -> Iterator[Line]:
    rows = offers.list_open_of_nft(read(), *nft_id, times.to_iso(times.now()))
    for row in rows[:OFFERS]:
        until = times.to_second(row["expires_at"])
        name = f"Offer {row['schedule_id']}"
        yield name, f"{row['price']:,} HBAR by {row['bidder']}, until {until}"
    yield "Open offers", f"{len(rows)}"


def _describe_metadata(nft: NftRow) -> Iterator[Line]:
    if nft["missing"] is None:
        yield "Metadata", f"complete, read {_to_date(nft['read_at'])}"
        return
    again = (
        f"again {times.to_second(nft['retry_at'])}"
        if nft["retry_at"]
        else f"not again: {command('refresh')}"
    )
    tried = f"{nft['attempts']} failed attempts, {again}"
    yield (
        "Metadata",
        f"incomplete: {shown(nft['missing'])} ({tried}); its pointer is {shown(nft['metadata'])}",
    )


def _describe_prepared(
    rows: Sequence[PreparedNftRow], nft: NftRow | None, on_ledger: str | None = None
) -> Iterator[Line]:
    """``on_ledger``: the transaction id of the NFT's last event on the ledger."""
    for row in rows:
        price = f" for {row['price']:,} HBAR" if row["price"] else ""
        caller = f"access token {shown(row['caller'])}, end user {shown(row['end_user'])}"
        until = f"valid until {times.to_second(row['expires_at'])}"
        about = "" if nft else f" of {NftId(row['token'], row['serial_no'])}"
        what = f"{row['kind']}{about}{price}, signed by {row['account_id']}"
        yield (
            f"Prepared {times.to_second(row['prepared_at'])}",
            (
                f"{what}: {row['transaction_id']}, {until}{_describe_outcome(row, on_ledger)} ({caller})"
            ),
        )
    if not rows:
        yield "Prepared", "nothing within the last hours"


def _describe_outcome(row: PreparedNftRow, on_ledger: str | None) -> str:
    if row["is_settled"]:
        return ", sold" if row["is_sold"] else ", not sold"
    selection = EventFilter(row["token"], row["serial_no"])
    _, newest = events.list_page(read(), selection, Place(None, EVENTS, newest_first=True))
    named = [event for event in newest if event["transaction_id"] == row["transaction_id"]]
    if named:
        return f", seen as {named[0]['kind']}"
    if row["transaction_id"] == on_ledger:
        return ", on the ledger, but not seen here yet"
    return ", not among its last events under this id"


def _describe_events(nft_id: NftId) -> Iterator[Line]:
    place = Place(None, EVENTS, newest_first=True)
    _, rows = events.list_page(read(), EventFilter(*nft_id), place)
    for row in rows:
        price = f" {row['price']:,} HBAR" if row["price"] else ""
        by = f" by {row['transaction_id']}" if row["transaction_id"] else ""
        yield f"Event {times.to_second(row['date'])}", f"{row['kind']}{price}{by}"


def _describe_looks(nft: NftRow | None) -> Iterator[Line]:
    if nft:
        yield (
            "Last look",
            f"it is stored as the ledger had it at {times.to_second(nft['ledger_at'])}",
        )
    followed, swept = freshness.find_followed(), freshness.find_last_sweep()
    yield "Followed", f"up to {times.to_second(followed)}" if followed else "never"
    if not freshness.is_watched():
        yield "Watcher", "none is running"
    sweep = f"the last one began {_to_date(swept)}" if swept else "none has ended yet"
    yield "Next look", f"after its next transaction, and with the daily sweep: {sweep}"


def _to_second(moment: int) -> str:
    return times.to_second(times.to_iso(moment))


def _to_date(date: str | None) -> str:
    return times.to_second(date) if date else "never"
