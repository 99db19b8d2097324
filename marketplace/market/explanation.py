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
from marketplace.store import decisions, nfts, prepared_transactions, rechecks
from marketplace.store.decisions import DecisionRow
from marketplace.store.nfts import NftRow
from marketplace.store.prepared_transactions import PreparedNftRow
from marketplace.store.rechecks import NEVER_COMPARED, RecheckRow
from marketplace.text import quote

SECONDS = 30  # for the ledger's facts about one NFT
PREPARED = 5  # transactions, the newest
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
        yield "Memo", quote(facts.transaction.memo.decode(errors="replace"))
    if verdict and _is_different(stored, verdict):
        yield (
            "They differ",
            f"the watcher has not seen it yet, or the ledger's replicas disagree: {command('sync')}",
        )
    owner = stored["owner"] if stored else ""
    yield from _describe_queue(
        [("nft", *nft_id), ("token", nft_id.token, 0), ("account", owner, 0), ("seller", owner, 0)]
    )
    if stored:
        yield from _describe_metadata(stored)
        yield (
            "Last look",
            f"it is stored as the ledger had it at {times.to_second(stored['ledger_at'])}",
        )
    prepared = prepared_transactions.list_prepared(read(), *nft_id, PREPARED)
    last = facts and facts.history and facts.history.last_event
    yield from _describe_prepared(prepared, str(last.transaction_id) if last else None)
    yield from _describe_freshness()


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
    yield from _describe_freshness()


def _compare(nft_id: NftId) -> str:
    stored, facts = nfts.get_nft(read(), *nft_id), _read_facts(nft_id)
    verdict = listing_rule.decide(facts, _market()) if facts else None
    is_same = verdict is None or not _is_different(stored, verdict)
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
    by = ""
    if event := verdict.decided_by:
        by = f", by {event.transaction_id} ({event.name}, {_to_second(event.consensus_at)})"
    for number, name in enumerate(POINTS):
        said = f"yes{by}" if number < verdict.points_held else "not asked"
        if number == verdict.points_held and not isinstance(verdict, ForSale):
            is_undecided = isinstance(verdict, Undecided)
            said = f"{'undecided' if is_undecided else 'no'}: {verdict.reason}{by}"
        yield f"{number + 1}. {name}", said


def _is_different(stored: NftRow | None, verdict: Verdict) -> bool:
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
        f"incomplete: {quote(nft['missing'])} ({tried}); its pointer is {quote(nft['metadata'])}",
    )


def _describe_prepared(rows: Sequence[PreparedNftRow], on_ledger: str | None) -> Iterator[Line]:
    """``on_ledger``: the transaction id of the NFT's last event on the ledger."""
    for row in rows:
        price = f" for {row['price']:,} HBAR" if row["price"] else ""
        state = f"valid until {times.to_second(row['expires_at'])}"
        if row["is_settled"]:
            state = "sold" if row["is_sold"] else "not sold"
        elif row["transaction_id"] == on_ledger:
            state = "on the ledger"
        yield (
            f"Prepared {times.to_second(row['prepared_at'])}",
            f"{row['kind']}{price}, signed by {row['account_id']}: {row['transaction_id']}, {state}"
            f" (access token {quote(row['caller'])}, end user {quote(row['end_user'])})",
        )
    if not rows:
        yield "Prepared", "nothing within the last hours"


def _describe_freshness() -> Iterator[Line]:
    followed = freshness.find_followed()
    watcher = "" if freshness.is_watched() else "; no watcher is running"
    yield (
        "Followed",
        f"up to {times.to_second(followed)}{watcher}" if followed else f"never{watcher}",
    )


def _to_second(moment: int) -> str:
    return times.to_second(times.to_iso(moment))


def _to_date(date: str | None) -> str:
    return times.to_second(date) if date else "never"
