"""Builds the transactions of the sample's month as the service does, and signs them as its wallets do."""

from flask import current_app

from marketplace.hedera import signatures, times, transactions
from marketplace.hedera.ids import TransactionId
from marketplace.hedera.transactions import (
    Envelope,
    SoldNft,
    build_listing,
    build_offer,
    build_offer_signature,
    build_offer_withdrawal,
    build_purchase_body,
    build_withdrawal,
)
from marketplace.market import memos
from marketplace.market.nodes import next_node
from marketplace.market.offers.prepare import make_sale
from marketplace.market.prepared import START_BEFORE_NOW, VALID_SECONDS
from marketplace.sandbox import wallet
from marketplace.sandbox.month import OFFER_DAYS, Deed
from marketplace.services import services

OFFER_SECONDS = OFFER_DAYS * times.DAY // times.SECOND


def sign(deed: Deed, then: int) -> bytes:
    """What a deed's account signs, except for the answer to an offer."""
    market = current_app.config["ACCOUNT_ID"]
    [*tokens], [*serial_nos] = zip(*deed.nfts, strict=True)
    if deed.kind == "buy":
        sold = [*map(SoldNft, tokens, serial_nos, deed.others, deed.prices)]
        basis_points = current_app.config["SALE_FEE_BASIS_POINTS"]
        envelope = _envelope(market, _write_memo(deed), then)
        body = build_purchase_body(
            nfts=sold, buyer=deed.account, fee_basis_points=basis_points, **envelope
        )
        return wallet.sign(deed.account, _sign_for_market(body))
    envelope = _envelope(deed.account, _write_memo(deed), then)
    named = {"token": tokens[0], "serial_nos": serial_nos}
    if deed.kind == "list":
        return wallet.sign(deed.account, build_listing(**named, spender=market, **envelope))
    return wallet.sign(deed.account, build_withdrawal(**named, **envelope))


def make_offer(deed: Deed, then: int) -> bytes:
    """The schedule of an offer."""
    sale = make_sale(deed.nfts[0], deed.others[0], deed.account, deed.prices[0])
    unsigned = build_offer(
        sale=sale,
        expires_at=then // times.SECOND + OFFER_SECONDS,
        admin_keys=[
            transactions.make_public_key(wallet.public_key(each))
            for each in (sale.bidder, sale.seller)
        ],
        **_envelope(deed.account, sale.memo, then),
    )
    return wallet.sign(deed.account, unsigned)


def answer_offer(deed: Deed, schedule_id: str, then: int) -> bytes:
    """The signature of an owner; or what deletes the schedule."""
    build = build_offer_withdrawal if deed.kind == "retract" else build_offer_signature
    envelope = _envelope(deed.account, _write_memo(deed), then)
    return wallet.sign(deed.account, build(schedule_id=schedule_id, **envelope))


def _envelope(payer: str, memo: str, then: int) -> Envelope:
    return Envelope(
        transaction_id=TransactionId(payer, *divmod(then - START_BEFORE_NOW, times.SECOND)),
        memo=memo,
        max_fee_tinybars=current_app.config["MAX_TRANSACTION_FEE"],
        valid_seconds=VALID_SECONDS,
        node_account_id=next_node(),
    )


def _sign_for_market(body: bytes) -> bytes:
    signer = services().signer
    assert signer is not None  # noqa: S101  # the sandbox's own
    return signatures.write(body, [signatures.KeySignature.of_key(*signer.sign(body))])


def _write_memo(deed: Deed) -> str:
    first, name = deed.nfts[0], current_app.config["NAME"]
    if deed.kind == "withdraw":
        return memos.withdrawal_memo(*first, name)
    if len(deed.nfts) > 1:
        return memos.basket_memo(len(deed.nfts), sum(deed.prices), name)
    if deed.kind == "retract":
        return memos.offer_withdrawal_memo("Withdrawing", *first, deed.prices[0], name)
    write = {
        "list": memos.listing_memo,
        "buy": memos.purchase_memo,
        "accept": memos.acceptance_memo,
    }[deed.kind]
    return write(*first, deed.prices[0], name)
