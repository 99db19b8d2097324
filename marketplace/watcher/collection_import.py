"""Stores whole collections from the ledger."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from flask import current_app

from marketplace.errors import LedgerAnswerInvalid
from marketplace.events import EventKind
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger.objects import Nft
from marketplace.market import collection_facts, reconciler
from marketplace.market.history import Event, store_events
from marketplace.services import mirror_node, read, write
from marketplace.store import nfts
from marketplace.store.rechecks import Recheck, What, enqueue, enqueue_all, recheck_later

Collection = dict[str, Any]

BATCH = 200  # NFTs held in memory, and written in one transaction


@dataclass
class Tally:
    """Counts of a collection's NFTs so far."""

    added: int = 0
    here_already: int = 0
    unreadable: list[str] = field(default_factory=list)


def import_collection(collection: Collection, tally: Tally) -> Iterator[int]:
    """Store a collection's NFTs in batches, and yield the size of each. The watcher completes them.

    NFTs that the marketplace may spend, or that have changed, are queued for a recheck. The import may be
    interrupted and run again. Raises the ledger's errors.
    """
    token, name = collection["token"], collection["name"]
    market = current_app.config["ACCOUNT_ID"]
    listed = mirror_node().list_nfts(token)
    while batch := [*islice(listed, BATCH)]:
        sound = [nft for nft in batch if isinstance(nft, Nft)]
        stored = {nft: nfts.get_nft(read(), token, nft.serial_no) for nft in sound}
        new = [nft for nft in sound if not stored[nft] and not nft.is_gone]
        differing = [nft for nft in sound if reconciler.may_differ(nft, stored[nft])]
        here_already = sum(row is not None for row in stored.values())
        # The rechecker stores those that the marketplace may spend.
        records = [reconciler.new_record(nft, name) for nft in new if nft.spender != market]
        with write() as db:
            inserted = [nfts.insert_nft(db, record) for record in records]
            if new or here_already:
                collection_facts.store(db, token, collection)
            rechecks = [Recheck.of(What("nft", *nft.id), nft.modified_at) for nft in differing]
            enqueue_all(db, rechecks, times.now())
            added = {
                NftId(token, row["serial_no"]): [Event(EventKind.ADDED, to_account=row["owner"])]
                for row in inserted
                if row
            }
            store_events(db, added)
        tally.added += len(new)
        tally.here_already += here_already
        tally.unreadable += [
            error.message for error in batch if isinstance(error, LedgerAnswerInvalid)
        ]
        yield len(batch)
    with write() as db:
        now = times.now()
        enqueue(db, recheck_later(What("token", token), 0, now), now)
