"""The operator's decisions: hidden NFTs and collections, blocked accounts, and verified collections.

A decision is committed first, so that all later writes follow it. It is then applied to the stored rows, in
parts. After an interruption, the same command continues.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from marketplace.errors import AccountBlocked, Hidden
from marketplace.events import EventKind
from marketplace.hedera import times
from marketplace.hedera.ids import NftId, is_entity_id
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.market import collection_facts, nft_events
from marketplace.market.nft_events import Event
from marketplace.market.several import for_each
from marketplace.services import database, services
from marketplace.store import decisions, events, nft_collections, nfts, orderbook, traits
from marketplace.store.database import read, write
from marketplace.store.decisions import KEYS_AT_ONCE
from marketplace.store.media import find_key
from marketplace.store.orderbook import Selection
from marketplace.store.rows import Connection, DecisionKind, DecisionRow, NftRow, SuspendedRow

AT_ONCE = 200  # NFTs in one transaction: others wait for it

Changed = list[tuple[NftRow, NftRow]]  # NFTs before and after
Change = Callable[[Connection, list[NftRow]], Changed]


class Subject(NamedTuple):
    """What a decision is about: an NFT; or, with serial number 0, a whole collection or an account."""

    id: str
    serial_no: int = 0

    @classmethod
    def parse(cls, text: str) -> "Subject | None":
        """Parse 0.0.5001 or 0.0.5001:7. Returns None for anything else."""
        nft_id = NftId.parse(text)
        if nft_id is None and not is_entity_id(text):
            return None
        return cls(*nft_id) if nft_id else cls(text)

    def __str__(self) -> str:
        return f"{self.id}:{self.serial_no}" if self.serial_no else self.id


class Ruling(NamedTuple):
    """Why the operator decides something, and who sees that."""

    reason: str
    is_public: bool = False
    list: str | None = None  # the file that names it
    since: str | None = None  # None: it is decided now
    name: str | None = None  # as the symbol, of a verified token: what it is called then
    symbol: str | None = None


def require_shown(token: str, serial_no: int = 0) -> None:
    """Raise Hidden for a hidden NFT, or collection (0)."""
    decision = decisions.get_hiding(read(), token, serial_no)
    if decision:
        name = str(NftId(token, serial_no)) if serial_no else token
        raise Hidden(name, decision["reason"] if decision["is_public"] else None)


def require_all_shown(nft_ids: Iterable[NftId]) -> None:
    """Raise Hidden, with the names of all hidden NFTs."""
    for_each(nft_ids, lambda nft_id: require_shown(*nft_id))


def require_not_blocked(account_id: str) -> None:
    decision = decisions.get_decision(read(), "blocked", account_id)
    if decision:
        raise AccountBlocked(account_id, decision["reason"] if decision["is_public"] else None)


def decide(db: Connection, kind: DecisionKind, subject: Subject, ruling: Ruling) -> None:
    """Store a decision, after waiting for all transactions that write NFTs."""
    database().lock_nfts(db)
    row = {"kind": kind, **subject._asdict(), **ruling._asdict()}
    row["since"] = ruling.since or times.to_iso(times.now())
    row["is_public"] = int(ruling.is_public)
    decisions.insert_decision(db, row)


def hide(subject: Subject, ruling: Ruling) -> int:
    """Hide an NFT or a collection, and remove its images. Returns how many NFTs became hidden."""
    with write() as db:
        decide(db, "hidden", subject, ruling)
        if not subject.serial_no:
            _hide_collection(db, subject)
    count = _change_all(subject, _hide_part(subject))
    # Remove all noted images: an interrupted earlier call may have left some.
    remove_images(subject)
    return count


def remove_images(subject: Subject) -> None:
    """Remove the noted images. Do not call it in a transaction: a bucket may answer slowly."""
    services().media.remove(decisions.list_hidden_images(read(), *subject))


def _hide_collection(db: Connection, subject: Subject) -> None:
    before = nft_collections.get_collection(db, subject.id)
    now = times.to_iso(times.now())
    if before and nft_collections.mark_collection_hidden(db, subject.id, True, now):
        pictures = [key for key in (before["banner"], before["logo"]) if key]
        _note_images(db, subject, [(key, 0) for key in pictures])


def _note_images(db: Connection, subject: Subject, images: Sequence[tuple[str, int]]) -> None:
    """Note images to be removed, each with its NFT's serial number.

    Leaves out images that other NFTs show, too.
    """
    keys = sorted({key for key, _ in images})
    shared = {
        key
        for at in range(0, len(keys), KEYS_AT_ONCE)
        for key in decisions.list_shared_keys(db, keys[at : at + KEYS_AT_ONCE], *subject)
    }
    for key, serial_no in images:
        if key not in shared:
            decisions.insert_hidden_image(db, key, subject.id, serial_no)


def _change_all(subject: Subject, change: Change) -> int:
    """Change the stored NFTs that a decision is about, in parts. Returns how many were changed."""
    count, after = 0, 0
    while found := _list_of_subject(subject, after):
        count += _change_part(found, change)
        after = found[-1]["serial_no"]
    return count


def _list_of_subject(subject: Subject, after: int) -> list[NftRow]:
    """The next stored NFTs that a decision is about, after a serial number: enough for one transaction."""
    if not subject.serial_no:
        return nfts.list_nfts_of_token(read(), subject.id, after, AT_ONCE)
    nft = nfts.get_nft(read(), *subject)
    return [nft] if nft and after < subject.serial_no else []


def _change_part(found: list[NftRow], change: Change) -> int:
    """Change NFTs in one transaction, which no other writer of NFTs can disturb."""
    with write() as db:
        database().lock_nfts(db)
        ids = [(nft["token"], nft["serial_no"]) for nft in found]
        return len(change(db, [nft for id in ids if (nft := nfts.get_nft(db, *id))]))


def _hide_part(subject: Subject) -> Change:
    def hide_part(db: Connection, stored: list[NftRow]) -> Changed:
        changed = [
            (nft, hidden)
            for nft in stored
            if (hidden := nfts.mark_hidden(db, nft["token"], nft["serial_no"]))
        ]
        images = [(nft["image"], nft["serial_no"]) for nft, _ in changed if nft["image"]]
        _note_images(db, subject, images)
        _store_changes(db, changed, is_hidden=True)
        _tell(db, changed, _hidden)
        return changed

    return hide_part


def _store_changes(db: Connection, changed: Changed, *, is_hidden: bool) -> None:
    """Update traits, events and collections after NFTs were hidden or shown."""
    _count_listed(db, changed)
    for before, nft in changed:
        traits.replace_traits(db, before, nft)
        nft_id = NftId(nft["token"], nft["serial_no"])
        if not is_hidden:
            events.mark_events_hidden(db, *nft_id, False)
        sold = events.get_sales_of_nft(db, *nft_id)
        if is_hidden:
            events.mark_events_hidden(db, *nft_id, True)
        if sold["sales"]:
            sign = -1 if is_hidden else 1
            nft_collections.add_sales(db, nft_id.token, sign * sold["sales"], sign * sold["volume"])


def _count_listed(db: Connection, changed: Changed) -> None:
    """Update the collections' counts of listed NFTs."""
    for before, nft in changed:
        if difference := nft["is_listed"] - before["is_listed"]:
            nft_collections.add_listed(db, nft["token"], difference)


def _tell(db: Connection, changed: Changed, find: Callable[[NftRow, NftRow], Event]) -> None:
    events = {NftId(nft["token"], nft["serial_no"]): [find(before, nft)] for before, nft in changed}
    nft_events.store(db, events)


def _hidden(before: NftRow, nft: NftRow) -> Event:
    price = before["listing_price"] if before["is_listed"] else None
    return Event(EventKind.HIDDEN, from_account=before["owner"], previous_price=price)


def _shown(before: NftRow, nft: NftRow) -> Event:
    price, listed_at = None, None
    if nft["is_listed"]:
        price, listed_at = nft["listing_price"], nft["last_listed_at"]
    return Event(EventKind.SHOWN, None, nft["owner"], price, consensus_at=listed_at)


def _withdrawn(before: NftRow, nft: NftRow) -> Event:
    return Event(EventKind.WITHDRAWN, nft["owner"], previous_price=before["listing_price"])


def _listed(before: NftRow, nft: NftRow) -> Event:
    price, listed_at = nft["listing_price"], nft["last_listed_at"]
    return Event(EventKind.LISTED, nft["owner"], price=price, consensus_at=listed_at)


def unhide(subject: Subject) -> int | None:
    """Show an NFT or a collection again; the watcher fetches its images. Returns how many NFTs are shown now.

    None: it was not hidden by itself.
    """
    now = times.to_iso(times.now())
    with write() as db:
        database().lock_nfts(db)
        decision = decisions.delete_decision(db, "hidden", *subject)
        if not subject.serial_no:
            nft_collections.mark_collection_hidden(db, subject.id, False, now)
            decisions.delete_hidden_images(db, subject.id, 0)
    count = _change_all(subject, _show_part)
    return count if decision or count else None


def _show_part(db: Connection, stored: list[NftRow]) -> Changed:
    now = times.to_iso(times.now())
    changed = [
        (nft, shown)
        for nft in stored
        if nft["is_hidden"] and (shown := nfts.mark_shown(db, nft, now))
    ]
    for nft, _ in changed:
        decisions.delete_hidden_images(db, nft["token"], nft["serial_no"])
    _store_changes(db, changed, is_hidden=False)
    _tell(db, changed, _shown)
    return changed


def block(account_id: str, ruling: Ruling) -> int:
    """Block an account. Returns how many of its NFTs are no longer for sale here."""
    with write() as db:
        decide(db, "blocked", Subject(account_id), ruling)
    return _list_as_decided(account_id, _list_listed, _withdrawn)


def unblock(account_id: str) -> int | None:
    """Unblock an account. Returns how many of its NFTs are for sale here again; None: it was not blocked."""
    with write() as db:
        database().lock_nfts(db)
        decision = decisions.delete_decision(db, "blocked", account_id)
    count = _list_as_decided(account_id, nfts.list_withheld_of_owner, _listed)
    return count if decision or count else None


def _list_listed(db: Connection, account_id: str, limit: int) -> list[NftRow]:
    return orderbook.list_selected(db, Selection(owner=account_id), limit)


def _list_as_decided(
    account_id: str,
    list_some: Callable[[Connection, str, int], list[NftRow]],
    find_event: Callable[[NftRow, NftRow], Event],
) -> int:
    """Take an account's NFTs off the market, or list them again.

    ``list_some`` lists the NFTs that must still change.
    """

    def change(db: Connection, stored: list[NftRow]) -> Changed:
        changed = [(nft, new) for nft in stored if (new := nfts.mark_listed_as_decided(db, nft))]
        _count_listed(db, changed)
        _tell(db, changed, find_event)
        return changed

    count = 0
    while found := list_some(read(), account_id, AT_ONCE):
        changed = _change_part(found, change)
        if not changed:  # the operator has decided otherwise meanwhile
            break
        count += changed
    return count


def block_list(accounts: Sequence[str], ruling: Ruling) -> tuple[list[str], list[str]]:
    """Block the accounts of a file, and unblock those that are no longer in it.

    ``accounts``: each once. Returns both lists. Accounts that a command or another file blocked stay blocked.
    """
    blocked = {
        row["id"]: row for row in decisions.list_decisions(read()) if row["kind"] == "blocked"
    }
    wanted = {*accounts}
    gone = [id for id, row in blocked.items() if row["list"] == ruling.list and id not in wanted]
    new = [id for id in accounts if id not in blocked]
    for id in accounts:
        row = blocked.get(id)
        if row is None or (row["list"] == ruling.list and _is_other(row, ruling)):
            block(id, ruling)
        elif row["list"] == ruling.list:  # the last time may have been interrupted
            _list_as_decided(id, _list_listed, _withdrawn)
    for id in gone:
        unblock(id)
    return new, gone


def put_image(content: bytes, small: bytes | None) -> str:
    """Store an image, and return its key. Raises Hidden for one that was removed, and put()'s errors."""
    key = find_key(content, "webp", small)
    if decisions.is_image_hidden(read(), key):
        raise Hidden("This image")
    return services().media.put(content, "webp", small)


def note_late_image(db: Connection, subject: Subject, key: str) -> bool:
    """If an NFT was hidden while its image was fetched, note it for removal. Returns whether it was."""
    stored = nfts.get_nft(db, *subject)
    is_hidden = bool(stored and stored["is_hidden"])
    if is_hidden:
        _note_images(db, subject, [(key, subject.serial_no)])
    return is_hidden


def verify(token: str, ruling: Ruling) -> Ruling:
    """Verify a collection under its present name and symbol, or those of the ruling.

    Returns the ruling with both. Asks the ledger about a collection that is not stored; raises its errors.
    """
    if ruling.name is None:
        known = nft_collections.get_collection(read(), token)
        if known is None or known["read_at"] is None:
            columns = collection_facts.read_from_ledger(token, Deadline(UNHURRIED_SECONDS))
            ruling = ruling._replace(name=columns["name"], symbol=columns["symbol"])
        else:
            ruling = ruling._replace(name=known["name"], symbol=known["symbol"])
    with write() as db:
        decide(db, "verified", Subject(token), ruling)
        _mark_verified(db, token)
    return ruling


def unverify(token: str) -> bool:
    """Take a verification back. Returns whether there was one."""
    with write() as db:
        database().lock_nfts(db)
        decision = decisions.delete_decision(db, "verified", token)
        _mark_verified(db, token)
    return decision is not None


def _mark_verified(db: Connection, token: str) -> None:
    if collection := nft_collections.mark_verified_as_decided(db, token):
        nft_collections.mark_imitations(db, collection["skeleton"])


def list_suspended() -> list[SuspendedRow]:
    """The verified collections that are called something else by now, so that they are verified no more."""
    return decisions.list_suspended(read())


def _is_other(row: DecisionRow, ruling: Ruling) -> bool:
    return (row["reason"], bool(row["is_public"])) != (ruling.reason, ruling.is_public)


def list_all() -> list[DecisionRow]:
    """All decisions that are in force."""
    return decisions.list_decisions(read())


def decide_again(earlier: Iterable[DecisionRow]) -> list[DecisionRow]:
    """After a restore, store the replaced database's decisions again, where the new database lacks them.

    Returns the decisions that it stored. The new database keeps its own.
    """
    known = {(row["kind"], row["id"], row["serial_no"]) for row in list_all()}
    missing = [row for row in earlier if (row["kind"], row["id"], row["serial_no"]) not in known]
    for row in missing:
        subject = Subject(row["id"], row["serial_no"])
        ruling = Ruling(
            row["reason"],
            bool(row["is_public"]),
            row["list"],
            row["since"],
            row["name"],
            row["symbol"],
        )
        match row["kind"]:
            case "hidden":
                hide(subject, ruling)
            case "blocked":
                block(subject.id, ruling)
            case "verified":
                verify(subject.id, ruling)
    return missing
