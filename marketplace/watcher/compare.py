"""Compares what is stored with the ledger's lists: of an account's NFTs, or of a token's."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flask import current_app

from marketplace.errors import LedgerAnswerInvalid
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.mirror_schemas import Nft
from marketplace.market import reconciler
from marketplace.market.recheck_queue import Recheck
from marketplace.store import nfts
from marketplace.store.database import read
from marketplace.watcher.transaction_rechecks import LIST_WAIT

PAGE = 100  # NFTs that the mirror node lists at once
STORED_AT_ONCE = 1000


class Comparison(NamedTuple):
    """The NFTs that differ, and how many could not be read."""

    differing: list[Recheck]
    unreadable: int


def compare_account(account_id: str, now: int) -> Comparison:
    """Compare the listings of an account: mostly one request."""
    market = current_app.config["ACCOUNT_ID"]
    rows = nfts.list_known_of_seller(read(), account_id)
    unseen = {(row["token"], row["serial_no"]) for row in rows}
    compared = _compare(mirror_node().list_nfts_spendable(account_id, market), unseen)
    missing = [Recheck("nft", *keys, now, now + LIST_WAIT) for keys in sorted(unseen)]
    return Comparison(compared.differing + missing, compared.unreadable)


def compare_token(token: str) -> Comparison:
    """Compare the stored NFTs of a token, in as few requests as it takes."""
    span = nfts.get_span_of_token(read(), token)
    pages = ((span["high"] or 0) - (span["low"] or 0)) // PAGE + 1
    if 0 < span["n"] <= pages:
        return _compare(_each_stored(token), set())
    return _compare(mirror_node().list_nfts(token), set())


def _each_stored(token: str) -> Iterator[Nft | LedgerAnswerInvalid]:
    """The stored NFTs, one by one: where they are few among many."""
    serial_no = 0
    while rows := nfts.list_stored_of_token_after(read(), token, serial_no, STORED_AT_ONCE):
        for row in rows:
            serial_no = row["serial_no"]
            deadline = Deadline(reconciler.LEDGER_SECONDS)
            try:
                nft = mirror_node().find_nft(token, serial_no, deadline)
            except LedgerAnswerInvalid as error:
                yield error
            else:
                if nft:
                    yield nft


def _compare(
    on_ledger: Iterable[Nft | LedgerAnswerInvalid], unseen: set[tuple[str, int]]
) -> Comparison:
    """Compare NFTs with what is stored, and take them out of ``unseen``."""
    differing, unreadable = [], 0
    for nft in on_ledger:
        if isinstance(nft, LedgerAnswerInvalid):
            current_app.logger.warning("An NFT was not checked: %s", nft)
            unreadable += 1
            continue
        unseen.discard((nft.token, nft.serial_no))
        if reconciler.is_news(nft, nfts.get_nft(read(), nft.token, nft.serial_no)):
            differing.append(Recheck("nft", nft.token, nft.serial_no, nft.modified_at))
    return Comparison(differing, unreadable)
