"""Fills the service and its ledger with a sample: four collections, a third of it listed."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask

from hiero_sandbox import catalogue, wallet
from hiero_sandbox.errors import LedgerBusy, LedgerUnusable, explained
from hiero_sandbox.ledger import consensus, unsigned
from marketplace.errors import DatabaseBusy, SandboxUnusable
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.market import add_nft, listings, reports
from marketplace.market.prepare import TransactionRequest
from marketplace.store import nfts
from marketplace.store.database import read

OWNERS = ("0.0.1001", "0.0.1002", "0.0.1004", "0.0.1005", "0.0.1006")
NFTS_PER_COLLECTION = 30
LISTED_EVERY = 3
PRICES = (15, 25, 40, 60, 90, 120, 150, 200, 250, 320, 400, 550, 750, 1000, 1500, 2400)
LISTING_DAYS = 30


def fill(sandbox: Flask) -> None:
    """Add the sample, and list a third of it. Existing NFTs stay as they are."""
    sample = [
        (collection.token, serial_no)
        for collection in catalogue.SAMPLE
        for serial_no in range(1, NFTS_PER_COLLECTION + 1)
    ]
    missing = [nft for nft in sample if nfts.get_nft(read(), *nft) is None]
    if missing:
        # All of them are minted first, because adding the first one reads its collection.
        with _ledger_of(sandbox):
            for nft in missing:
                unsigned.mint(*nft, _owner(*nft), catalogue.GENESIS)
        for nft in missing:
            add_nft.add(_owner(*nft), [NftId(*nft)])
    _list_some(sandbox, [nft for nft in sample[::LISTED_EVERY] if _is_new(*nft)])


@contextmanager
def _ledger_of(sandbox: Flask) -> Iterator[None]:
    """The sandbox's application context. Problems of its database are raised as the marketplace's errors."""
    try:
        with sandbox.app_context(), explained():
            yield
    except LedgerBusy as error:
        raise DatabaseBusy from error
    except LedgerUnusable as error:
        raise SandboxUnusable(f"In the sandbox: {error}", retry_after=error.retry_after) from error


def _owner(token: str, serial_no: int) -> str:
    return random.Random(f"owner of {token}/{serial_no}").choice(OWNERS)


def _is_new(token: str, serial_no: int) -> bool:
    """Whether a sample NFT was never sold or listed."""
    nft = nfts.get_nft(read(), token, serial_no)
    return bool(nft and nft["owner"] == _owner(token, serial_no) and not nft["last_listed_at"])


def _list_some(sandbox: Flask, unlisted: list[tuple[str, int]]) -> None:
    """List NFTs at dates in the past, in the same steps as a seller and her wallet."""
    random.Random("order of listing").shuffle(unlisted)
    for position, (token, serial_no) in enumerate(unlisted):
        owner = _owner(token, serial_no)
        price = random.Random(f"price of {token}/{serial_no}").choice(PRICES)
        days_ago = LISTING_DAYS * (len(unlisted) - position) / len(unlisted)
        then = times.now() - int(days_ago * times.DAY)
        prepared = listings.prepare_listing(
            TransactionRequest(owner, [NftId(token, serial_no)], "extwallet"), price, then
        )
        signed = wallet.sign(owner, prepared.transaction)
        with _ledger_of(sandbox):
            receipt = consensus.submit(signed, then)
        if receipt.result == "SUCCESS":
            reports.answer(owner, [NftId(token, serial_no)], receipt.transaction_id)
