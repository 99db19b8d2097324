"""Fills the service and its ledger with a sample: four collections, and a month of trade with them."""

from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask, current_app

from hiero_sandbox import node
from hiero_sandbox.errors import LedgerBusy, LedgerUnusable, explained
from hiero_sandbox.times import GENESIS
from marketplace.errors import DatabaseBusy, SandboxUnusable
from marketplace.hedera import times
from marketplace.hedera.ids import NftId, TransactionId
from marketplace.ledger import Deadline
from marketplace.ledger.rate import MirrorRate
from marketplace.market import reconciler
from marketplace.market.nfts import add
from marketplace.market.offers.reconciler import reconcile_offers
from marketplace.market.requests import MarketRequest
from marketplace.sandbox import catalogue, deeds, month
from marketplace.sandbox.month import Deed
from marketplace.sandbox.world import hand_over, mint
from marketplace.services import mirror_node, read
from marketplace.store import nfts, offers
from marketplace.store.offers import BEFORE_ALL, OfferFilter

NFTS_PER_COLLECTION = 30
MAX_OFFERS = 100  # for one NFT
LEDGER_SECONDS = 10
QUESTIONS_PER_SECOND = 10_000  # the mirror node is in this process, so nobody has to be spared


def fill(sandbox: Flask) -> None:
    """Add the sample, and let its month happen on the ledger. NFTs that anybody has used stay as they are."""
    mirror = mirror_node()
    usual = mirror.rate
    mirror.rate = MirrorRate(current_app.config["DATA_DIR"], QUESTIONS_PER_SECOND)
    try:
        _fill(sandbox)
    finally:
        mirror.rate = usual


def _fill(sandbox: Flask) -> None:
    sample = [
        NftId(collection.token, serial_no)
        for collection in catalogue.SAMPLE
        for serial_no in range(1, NFTS_PER_COLLECTION + 1)
    ]
    missing = [nft for nft in sample if nfts.get_nft(read(), *nft) is None]
    if missing:
        # All of them are minted first, because adding the first one reads its collection.
        with _ledger_of(sandbox):
            for nft in missing:
                mint(*nft, month.first_owner(nft), GENESIS)
        for nft in missing:
            add(MarketRequest(month.first_owner(nft), [nft]))
    new = {nft for nft in sample if _is_new(nft)}
    now = times.now()
    for position, deed in enumerate(month.draw(sample)):
        if new.issuperset(deed.nfts):
            # A payer's transactions that began at one moment would have the same id.
            _do(sandbox, deed, now - int(deed.days_ago * times.DAY) + position)


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


def _is_new(nft_id: NftId) -> bool:
    """Whether nothing has happened to a sample NFT yet."""
    nft = nfts.get_nft(read(), *nft_id)
    return bool(nft and nft["owner"] == month.first_owner(nft_id) and not nft["last_listed_at"])


def _do(sandbox: Flask, deed: Deed, then: int) -> None:
    """Let a deed happen at a moment in the past, and store what follows from it."""
    if deed.kind == "give":
        with _ledger_of(sandbox):
            hand_over(*deed.nfts[0], deed.others[0], then)
    elif deed.kind == "offer":
        transaction_id = _submit(sandbox, deeds.make_offer(deed, then), then)
        if schedule_id := _find_created(transaction_id):
            reconcile_offers([schedule_id], Deadline(LEDGER_SECONDS))
    elif deed.kind in ("accept", "retract"):
        bidder = deed.others[0] if deed.kind == "accept" else deed.account
        _answer(sandbox, deed, _find_open(deed.nfts[0], bidder), then)
    else:
        _submit(sandbox, deeds.sign(deed, then), then)
    reconciler.reconcile(deed.nfts, Deadline(LEDGER_SECONDS))


def _submit(sandbox: Flask, signed: bytes, then: int) -> TransactionId:
    with _ledger_of(sandbox):
        return TransactionId.require(node.submit(signed, then).transaction_id)


def _answer(sandbox: Flask, deed: Deed, schedule_id: str | None, then: int) -> None:
    """Accept an offer or withdraw it. None: somebody has used the ledger, and there is no such offer."""
    if schedule_id:
        _submit(sandbox, deeds.answer_offer(deed, schedule_id, then), then)
        reconcile_offers([schedule_id], Deadline(LEDGER_SECONDS))


def _find_created(transaction_id: TransactionId) -> str | None:
    """The schedule that a transaction has created."""
    rows = mirror_node().list_transactions(transaction_id, Deadline(LEDGER_SECONDS))
    return next((row.entity_id for row in rows if row.result == "SUCCESS"), None)


def _find_open(nft: NftId, bidder: str) -> str | None:
    now = times.to_iso(times.now())
    made = offers.list_open(read(), OfferFilter(*nft), BEFORE_ALL, MAX_OFFERS, now)
    return next((offer["schedule_id"] for offer in made if offer["bidder"] == bidder), None)
