"""The operator's decisions: hidden NFTs and collections, blocked accounts, and verified collections.

A decision is a row. What follows from it is written in the same transaction, or in parts if that is very
much; after a kill, the watcher writes the rest.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from marketplace.hedera import times
from marketplace.hedera.ids import NftId, is_entity_id
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.market import collection_facts
from marketplace.services import read, services, write
from marketplace.store import decisions, nft_collections, nfts
from marketplace.store.connection import Connection
from marketplace.store.decisions import DecisionKind, DecisionRow

IMAGES_AT_ONCE = 100
MAX_REASON = 500  # characters
Position = tuple[str, int]  # a token, and a serial number
BEGINNING: Position = ("", 0)


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
    decided_by: str | None = None  # an operator's account; None: a command


def is_reason(text: str) -> bool:
    return bool(text.strip()) and len(text) <= MAX_REASON and text.isprintable()


def _decide(db: Connection, kind: DecisionKind, subject: Subject, ruling: Ruling) -> None:
    """Store a decision, after waiting for all transactions that write NFTs."""
    services().database.lock_nfts(db)
    row = {"kind": kind, **subject._asdict(), **ruling._asdict()}
    row["since"] = ruling.since or times.to_iso(times.now())
    row["is_public"] = int(ruling.is_public)
    decisions.insert_decision(db, row)
    _apply_later(db, kind, subject)


def _undo(db: Connection, kind: DecisionKind, subject: Subject) -> bool:
    """Delete a decision, as _decide() stores one. Returns whether there was one."""
    services().database.lock_nfts(db)
    if decisions.delete_decision(db, kind, *subject) is None:
        return False
    _apply_later(db, kind, subject)
    return True


def _apply_later(db: Connection, kind: DecisionKind, subject: Subject) -> None:
    if kind == "verified":
        nft_collections.mark_verified_as_decided(db, subject.id)
        for skeleton in nft_collections.list_skeletons(db, subject.id):
            nft_collections.mark_imitations(db, skeleton)
        return
    if kind == "hidden" and not subject.serial_no:
        decisions.mark_collection(db, subject.id, times.to_iso(times.now()))
    decisions.insert_to_apply(db, kind, *subject)


def _apply_part(
    db: Connection, kind: DecisionKind, subject: Subject, after: Position
) -> tuple[int, Position | None]:
    """Apply a decision to the next NFTs. Returns how many changed, and the position of the rest, if any."""
    services().database.lock_nfts(db)
    services().database.lock_events(db)
    part, changed = decisions.find_part(db, kind, *subject, after), 0
    if part:
        changed = decisions.apply(db, part, times.to_iso(times.now()))
        if not part.is_last:
            return changed, (part.token, part.last)
    if kind == "hidden":
        decisions.delete_shown_images(db, subject.id)
    decisions.delete_to_apply(db, kind, *subject)
    return changed, None


def _apply(kind: DecisionKind, subject: Subject, after: Position | None = BEGINNING) -> int:
    """Apply a decision to the NFTs after a position. Returns how many changed."""
    count = 0
    while after:
        with write() as db:
            changed, after = _apply_part(db, kind, subject, after)
        count += changed
    if kind == "hidden":
        remove_images()
    return count


def apply_decisions() -> None:
    """Apply what a killed command has left, and remove images that came late: the watcher's maintenance."""
    for row in decisions.list_to_apply(read()):
        _apply(row["kind"], Subject(row["id"], row["serial_no"]))
    remove_images()


def _change(kind: DecisionKind, subject: Subject, ruling: Ruling | None) -> int | None:
    """Make a decision, or without a ruling undo it. Returns how many NFTs changed; None: there was none.

    What it is about is changed in the same transaction, unless that is very much.
    """
    with write() as db:
        if ruling:
            _decide(db, kind, subject, ruling)
        elif not _undo(db, kind, subject):
            return None
        changed, after = _apply_part(db, kind, subject, BEGINNING)
    return changed + _apply(kind, subject, after)


def hide(subject: Subject, ruling: Ruling) -> int:
    """Hide an NFT or a collection, and remove its images. Returns how many NFTs became hidden."""
    return _change("hidden", subject, ruling) or 0


def unhide(subject: Subject) -> int | None:
    """Show an NFT or a collection again; the watcher fetches its images. Returns how many NFTs are shown now.

    None: it was not hidden by itself.
    """
    return _change("hidden", subject, None)


def block(account_id: str, ruling: Ruling) -> int:
    """Block an account. Returns how many of its NFTs are no longer for sale here."""
    return _change("blocked", Subject(account_id), ruling) or 0


def unblock(account_id: str) -> int | None:
    """Unblock an account. Returns how many of its NFTs are for sale here again; None: it was not blocked."""
    return _change("blocked", Subject(account_id), None)


def block_list(accounts: Sequence[str], ruling: Ruling) -> tuple[list[str], list[str]]:
    """Block the accounts of a file, and unblock those that are no longer in it.

    ``accounts``: each once. Returns both lists. Accounts that a command or another file blocked stay blocked.
    """
    with write() as db:
        rows = decisions.list_decisions(db)
        blocked = {row["id"]: row for row in rows if row["kind"] == "blocked"}
        of_list = {id for id, row in blocked.items() if row["list"] == ruling.list}
        gone, new = sorted(of_list - {*accounts}), [id for id in accounts if id not in blocked]
        for id in accounts:
            if id not in blocked or (id in of_list and _is_other(blocked[id], ruling)):
                _decide(db, "blocked", Subject(id), ruling)
        for id in gone:
            _undo(db, "blocked", Subject(id))
    for id in (*new, *gone):
        _apply("blocked", Subject(id))
    return new, gone


def remove_images() -> None:
    """Remove hidden images from the media store. Not in a transaction: a bucket may answer slowly."""
    while keys := decisions.list_images_to_remove(read(), IMAGES_AT_ONCE):
        services().media.remove(keys)
        with write() as db:
            for key in keys:
                if not decisions.mark_image_removed(
                    db, key
                ):  # something shown has got it meanwhile
                    decisions.mark_image_lost(db, key, times.to_iso(times.now()))


def note_image(db: Connection, subject: Subject, key: str) -> None:
    """Note an image that was just stored: it is shown now, or its NFT or collection was hidden meanwhile."""
    nft, collection = None, nft_collections.get_collection(db, subject.id)
    if subject.serial_no:
        nft = nfts.get_nft(db, *subject)
    owner = nft if subject.serial_no else collection
    if owner and owner["is_hidden"]:
        decisions.insert_hidden_image(db, key, *subject)
        decisions.delete_shown_images(db, subject.id)
    elif (nft and nft["image"] == key) or (
        collection and key in (collection["logo"], collection["banner"])
    ):
        decisions.delete_hidden_image(db, key)


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
        _decide(db, "verified", Subject(token), ruling)
    return ruling


def unverify(token: str) -> bool:
    """Take a verification back. Returns whether there was one."""
    with write() as db:
        return _undo(db, "verified", Subject(token))


def _is_other(row: DecisionRow, ruling: Ruling) -> bool:
    return (row["reason"], bool(row["is_public"])) != (ruling.reason, ruling.is_public)


def decide_again(earlier: Iterable[DecisionRow]) -> list[DecisionRow]:
    """After a restore, store the replaced database's decisions again, where the new database lacks them.

    Returns the decisions that it stored. The new database keeps its own.
    """
    known = {(row["kind"], row["id"], row["serial_no"]) for row in decisions.list_decisions(read())}
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
            row["decided_by"],
        )
        match row["kind"]:
            case "hidden":
                hide(subject, ruling)
            case "blocked":
                block(subject.id, ruling)
            case "verified":
                verify(subject.id, ruling)
    return missing
