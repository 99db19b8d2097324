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
from marketplace.hedera.transactions import (
    Envelope,
    SoldNft,
    build_listing,
    build_purchase,
    build_withdrawal,
    write_signed,
)
from marketplace.ledger import Deadline
from marketplace.market import add_nft, memos, reconciler
from marketplace.market.nodes import next_node
from marketplace.market.prepare import START_BEFORE_NOW
from marketplace.market.unsigned_transactions import VALID_SECONDS
from marketplace.sandbox import catalogue, month, unsigned, wallet
from marketplace.sandbox.month import Deed
from marketplace.services import services
from marketplace.store import nfts
from marketplace.store.database import read

NFTS_PER_COLLECTION = 30
LEDGER_SECONDS = 10


def fill(sandbox: Flask) -> None:
    """Add the sample, and let its month happen on the ledger. NFTs that anybody has used stay as they are."""
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
                unsigned.mint(*nft, month.first_owner(nft), GENESIS)
        for nft in missing:
            add_nft.add(month.first_owner(nft), [nft])
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
    """Submit what was signed at a moment in the past, and store what follows from it."""
    if deed.kind == "give":
        with _ledger_of(sandbox):
            unsigned.hand_over(*deed.nfts[0], deed.others[0], then)
    else:
        signed = _sign(deed, then)
        with _ledger_of(sandbox):
            node.submit(signed, then)
    reconciler.reconcile(deed.nfts, Deadline(LEDGER_SECONDS))


def _sign(deed: Deed, then: int) -> bytes:
    """Build a transaction as the service does, and sign it as its wallets do."""
    market, name = current_app.config["ACCOUNT_ID"], current_app.config["NAME"]
    payer = market if deed.kind == "buy" else deed.account
    envelope = Envelope(
        transaction_id=TransactionId(payer, *divmod(then - START_BEFORE_NOW, times.SECOND)),
        memo=_write_memo(deed, name),
        max_fee_tinybars=current_app.config["MAX_TRANSACTION_FEE"],
        valid_seconds=VALID_SECONDS,
        node_account_id=next_node(),
    )
    [*tokens], [*serial_nos] = zip(*deed.nfts, strict=True)
    if deed.kind == "list":
        built = build_listing(token=tokens[0], serial_nos=serial_nos, spender=market, **envelope)
    elif deed.kind == "withdraw":
        built = build_withdrawal(token=tokens[0], serial_nos=serial_nos, **envelope)
    else:
        sold = [*map(SoldNft, tokens, serial_nos, deed.others, deed.prices)]
        basis_points = current_app.config["SALE_FEE_BASIS_POINTS"]
        body = build_purchase(
            nfts=sold, buyer=deed.account, fee_basis_points=basis_points, **envelope
        )
        signer = services().signer
        assert signer is not None  # noqa: S101  # the sandbox's own
        built = write_signed(body, *signer.sign(body))
    return wallet.sign(deed.account, built)


def _write_memo(deed: Deed, name: str) -> str:
    first = deed.nfts[0]
    if deed.kind == "list":
        return memos.listing_memo(*first, deed.prices[0], name)
    if deed.kind == "withdraw":
        return memos.withdrawal_memo(*first, name)
    if len(deed.nfts) > 1:
        return memos.basket_memo(len(deed.nfts), sum(deed.prices), name)
    return memos.purchase_memo(*first, deed.prices[0], name)
