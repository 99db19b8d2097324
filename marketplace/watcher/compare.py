"""Compares what is stored with the ledger's lists: of an account's NFTs, or of a token's."""

from collections.abc import Iterator

from flask import current_app

from marketplace.errors import LedgerAnswerInvalid
from marketplace.ledger import Deadline, mirror_node
from marketplace.ledger.mirror_schemas import Nft
from marketplace.market import reconciler
from marketplace.store import nfts
from marketplace.store.database import read
from marketplace.watcher.directions import LISTED_NFTS, Look

PAGE = 100  # NFTs that the mirror node lists at once
LISTED_AT_ONCE = 1000


def compare_account(account_id: str, told_at: int) -> Iterator[Look]:
    """Find what an account has listed here or there, and not alike: mostly one request."""
    market = current_app.config["ACCOUNT_ID"]
    rows = nfts.list_known_of_seller(read(), account_id)
    known = {(row["token"], row["serial_no"]) for row in rows}
    for nft in mirror_node().list_nfts_spendable(account_id, market):
        if _is_readable(nft):
            known.discard((nft.token, nft.serial_no))
            yield from _differing(nft)
    for token, serial_no in sorted(known):
        yield Look("nft", token, serial_no, told_at, LISTED_NFTS)


def compare_token(token: str) -> Iterator[Look]:
    """Find the NFTs of a token that are not stored as the ledger has them, in as few requests as it takes."""
    span = nfts.get_span_of_token(read(), token)
    if span["n"] and span["n"] <= (span["high"] - span["low"]) // PAGE + 1:
        on_ledger = _each_stored(token)
    else:
        on_ledger = mirror_node().list_nfts(token)
    for nft in on_ledger:
        if _is_readable(nft):
            yield from _differing(nft)


def _each_stored(token: str) -> Iterator[Nft]:
    """Those that are stored, one by one: where they are few among many."""
    serial_no = 0
    while rows := nfts.list_stored_of_token_after(read(), token, serial_no, LISTED_AT_ONCE):
        for row in rows:
            serial_no = row["serial_no"]
            if nft := mirror_node().find_nft(token, serial_no, Deadline(reconciler.LEDGER_SECONDS)):
                yield nft


def _is_readable(nft: Nft | LedgerAnswerInvalid) -> bool:
    if isinstance(nft, LedgerAnswerInvalid):
        current_app.logger.warning("An NFT was not checked: %s", nft)
        return False
    return True


def _differing(nft: Nft) -> Iterator[Look]:
    if reconciler.is_news(nft, nfts.get_nft(read(), nft.token, nft.serial_no)):
        yield Look("nft", nft.token, nft.serial_no, nft.modified_at)
