"""What the ledger says about collections, read with their first NFT and refreshed later; their royalties."""

import json
from typing import Any, TypeVar

from flask import current_app

from marketplace.command_line import command
from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.hedera import times
from marketplace.hedera.hbar import find_credit
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.objects import FixedFee, LedgerToken, RoyaltyFee
from marketplace.market.names import MAX_WORD, find_parts, find_skeletons, fold
from marketplace.services import mirror_node, read, write
from marketplace.store import collection_search, nft_collections
from marketplace.store.accounts import get_volume_of_seller
from marketplace.store.connection import Connection
from marketplace.store.nft_collections import CollectionRow
from marketplace.text import clean_text, quote

Columns = dict[str, Any]
F = TypeVar("F", RoyaltyFee, FixedFee)


def describe(token: str, on_ledger: LedgerToken, read_at: int) -> Columns:
    """A collection's columns, from the ledger's answer. ``read_at``: when it was read, in nanoseconds."""
    name = clean_text(on_ledger.name)
    return {
        "token": token,
        "name": name,
        "sort_name": fold(name or "")[:MAX_WORD],
        "symbol": clean_text(on_ledger.symbol),
        "total_supply": on_ledger.total_supply,
        "treasury": on_ledger.treasury,
        "royalties": _write_fees(on_ledger.royalties),
        "fixed_fees": _write_fees(on_ledger.fixed_fees),
        "metadata": clean_text(on_ledger.pointer),
        "can_change_fees": int(on_ledger.can_change_fees),
        "read_at": times.to_iso(read_at),
        "attempts": 0,
        "retry_at": times.to_iso(read_at + times.HOUR),
    }


def _write_fees(fees: tuple[RoyaltyFee | FixedFee, ...] | None) -> str | None:
    if fees is None:
        return None
    return json.dumps([_describe(fee) for fee in fees], separators=(",", ":"))


def _describe(fee: Any) -> Columns:
    """A fee as a dictionary, with the fallback fee within it."""
    return {
        name: _describe(value) if isinstance(value, tuple) else value
        for name, value in fee._asdict().items()
    }


def recall_token(token: str, deadline: Deadline) -> LedgerToken | None:
    """A collection with its custom fees and its treasury, as they were last read.

    Asks the ledger if they were never read. None if there is no such token. Raises the ledger's errors.
    """
    stored = nft_collections.get_collection(read(), token)
    if stored is None or stored["can_change_fees"] is None:
        return mirror_node().find_token(token, deadline)
    return LedgerToken(
        name=stored["name"] or "",
        treasury=stored["treasury"],
        royalties=_read_fees(RoyaltyFee, stored["royalties"]),
        fixed_fees=_read_fees(FixedFee, stored["fixed_fees"]),
        can_change_fees=bool(stored["can_change_fees"]),
    )


def _read_fees(kind: type[F], stored: str | None) -> tuple[F, ...] | None:
    return None if stored is None else tuple(kind(**fee) for fee in json.loads(stored))


def look_up(token: str, deadline: Deadline) -> tuple[str | None, Columns | None]:
    """Find the name of an NFT's collection, and the columns to store with the NFT, if any.

    Asks the ledger only about a collection that was never read. If the ledger does not answer in time, the
    name is None, and the watcher reads the collection later.
    """
    stored = nft_collections.get_collection(read(), token)
    if stored and stored["read_at"]:
        return stored["name"], None
    try:
        columns = read_from_ledger(token, deadline)
        return columns["name"], columns
    except (LedgerUnreachable, LedgerAnswerInvalid):
        # The NFT itself was read from the ledger, so it is stored anyway.
        return None, None if stored else _describe_nothing(token)


def read_from_ledger(token: str, deadline: Deadline) -> Columns:
    """A collection's columns, read from the ledger. Raises the ledger's errors."""
    read_at = times.now()
    on_ledger = mirror_node().find_token(token, deadline)
    if on_ledger is None or not on_ledger.is_nft:
        raise LedgerAnswerInvalid(f"/tokens/{token}: it is not a collection, though it has NFTs")
    return describe(token, on_ledger, read_at)


def _describe_nothing(token: str) -> Columns:
    columns = (
        "name",
        "symbol",
        "total_supply",
        "treasury",
        "royalties",
        "fixed_fees",
        "metadata",
        "can_change_fees",
        "read_at",
    )
    due = {"attempts": 0, "retry_at": times.to_iso(times.now())}
    return dict.fromkeys(columns) | {"token": token, "sort_name": ""} | due


def store(db: Connection, token: str, columns: Columns | None) -> None:
    """Store a collection, in the transaction that stores an NFT of it.

    A known collection is read again soon: it has a new NFT here, and its supply may have grown.
    """
    if columns is None:
        soon = times.to_iso(times.now() + times.MINUTE)
        nft_collections.mark_collection_due(db, token, soon, beyond=soon)
    else:
        _store_read(db, columns)


def _store_read(db: Connection, columns: Columns, until: str | None = None) -> None:
    """Store what was read, unless something newer is stored, and index its name.

    Writes the row first, so that the row's lock makes other writers wait.
    """
    before = nft_collections.get_collection(db, columns["token"])
    stored = nft_collections.mark_collection_read(db, columns, until)
    if stored is None:
        return
    skeletons = find_skeletons(stored["name"] or "")
    earlier = nft_collections.list_skeletons(db, stored["token"])
    nft_collections.delete_skeletons(db, stored["token"])
    for skeleton in skeletons:
        nft_collections.insert_skeleton(db, stored["token"], skeleton)
    for skeleton in sorted(skeletons.union(earlier)):
        nft_collections.mark_imitations(db, skeleton)
    collection_search.delete_words(db, stored["token"])
    for word in find_parts(stored["token"], stored["symbol"], stored["name"]):
        collection_search.insert_word(db, word, stored["token"])
    if before and before["is_verified"] and not stored["is_verified"]:
        current_app.logger.warning(
            "%s is verified no more: it was renamed from %s (%s) to %s (%s). If that is right: %s",
            stored["token"],
            quote(before["name"]),
            quote(before["symbol"]),
            quote(stored["name"]),
            quote(stored["symbol"]),
            command(f"verify {stored['token']}"),
        )


def refresh(token: str) -> bool:
    """Read a stored collection again. Returns whether the ledger answered.

    The next read follows in an hour if the collection has listings, otherwise in a day. After failures, the
    pauses grow. If another of its NFTs was stored meanwhile, the next read follows in a minute.
    """
    stored = nft_collections.get_collection(read(), token)
    attempts = stored["attempts"] + 1 if stored else 1
    pause = times.growing_pause(attempts, times.MINUTE, times.DAY)
    until = times.to_iso(times.now() + pause)
    with write() as db:
        nft_collections.mark_collection_asked(db, token, until)
    try:
        columns = read_from_ledger(token, Deadline(UNHURRIED_SECONDS))
    except (LedgerUnreachable, LedgerAnswerInvalid) as error:
        current_app.logger.warning("The collection %s was not read: %s", token, error)
        with write() as db:
            nft_collections.mark_collection_unread(db, token, attempts, until)
        return False
    with write() as db:
        stored = nft_collections.get_collection(db, token)
        pause = times.HOUR if stored and stored["listed"] else times.DAY
        retry_at = times.to_iso(times.now() + pause)
        _store_read(db, columns | {"retry_at": retry_at}, until)
    return True


def list_earned(collection: CollectionRow, fee: int) -> list[dict[str, Any]]:
    """The royalties of today, each with the tinybars that it brought.

    The network takes no royalty of what its receiver sells. ``fee``: the marketplace's, in basis points.
    """
    royalties = json.loads(collection["royalties"] or "[]")
    earned = []
    for royalty in royalties:
        own = get_volume_of_seller(read(), royalty["collector"], collection["token"])
        credit = find_credit(collection["volume"] - own, fee)
        amount = credit * int(royalty["numerator"]) // int(royalty["denominator"])
        earned.append({**royalty, "earned": str(amount)})
    return earned
