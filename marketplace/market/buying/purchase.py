"""A purchase: prepares the unsigned transaction, and takes it back when the buyer has signed it.

Preparing one stores nothing about it, though it reconciles the NFTs. Nothing of ours is signed, reserved or
paid before the buyer's signature has been verified. The signed bytes are stored before they are submitted. A
repeated request submits the same bytes, and the network takes a transaction id once: so a killed process, a
lost answer or two requests at once cause no second charge.
"""

import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from flask import current_app

from marketplace.errors import (
    AccountIsMarketplace,
    BalanceTooLow,
    BuyerIsOwner,
    BuyingOff,
    LedgerUndecided,
    MarketplaceError,
    NotAsPrepared,
    NotListed,
    PriceChanged,
    SignatureInvalid,
    TransactionExpired,
)
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS, to_hbar
from marketplace.hedera.ids import NftId, TransactionId
from marketplace.ledger import Deadline
from marketplace.ledger.objects import LedgerAccount
from marketplace.market import nodes, reconciler, sale_checks
from marketplace.market.buying import account_key, fees
from marketplace.market.buying.fees import Purchase
from marketplace.market.buying.signer import Signer
from marketplace.market.memos import basket_memo, purchase_memo
from marketplace.market.prepared import (
    MOST_APART,
    START_BEFORE_NOW,
    VALID_SECONDS,
    PreparedNft,
    PreparedTransaction,
    find_expiry,
    find_present,
    insert,
)
from marketplace.market.requests import (
    MarketRequest,
    begin,
    for_each,
    require_nfts,
    require_none_hidden,
    require_not_blocked,
)
from marketplace.metrics import count
from marketplace.services import mirror_node, read, services, write
from marketplace.store import nfts as stored_nfts
from marketplace.store import prepared_transactions, rechecks
from marketplace.store.connection import Connection
from marketplace.store.decisions import is_withheld
from marketplace.store.nfts import NftRow
from marketplace.store.prepared_transactions import PreparedTransactionRow
from marketplace.store.rechecks import What, is_final
from marketplace.text import quote

if TYPE_CHECKING:  # the SDK takes 70 MB
    from marketplace.hedera.signatures import KeySignature, SignedBody

# Longer than a submission takes: then no other request is submitting the purchase any more.
SUBMITTING = 10 * times.SECOND
NOTHING: Mapping[NftId, int] = {}


def prepare(
    request: MarketRequest, expected_prices: Mapping[NftId, int] = NOTHING
) -> PreparedTransaction:
    """Build the unsigned transaction by which an account buys NFTs for their current prices.

    ``expected_prices``: in HBAR. An NFT with another price is refused.
    """
    from marketplace.hedera.transactions import write_unsigned

    with fees.refusals_counted(request):
        _require_signer()
        require_nfts(request.nft_ids)
        with begin(request) as (request, deadline):
            purchase = _reconcile_and_check(request, deadline, expected_prices)
        fees.require_within_limits(read(), purchase)
    buyer_id, transaction_id = purchase.buyer_id, _make_id(purchase.present)
    transaction = write_unsigned(
        _build_body(purchase.nfts, buyer_id, transaction_id, nodes.next_node())
    )
    return PreparedTransaction(buyer_id, transaction, transaction_id, return_transaction=True)


def _require_signer() -> Signer:
    signer = services().signer
    if signer is None or not current_app.config["SALE_FEE_BUDGET"]:
        raise BuyingOff(has_signer=signer is not None)
    return signer


def _reconcile_and_check(
    request: MarketRequest,
    deadline: Deadline,
    expected_prices: Mapping[NftId, int] = NOTHING,
    buyer: LedgerAccount | None = None,
) -> Purchase:
    """Reconcile the NFTs, and ask the ledger for all that could make the purchase fail at consensus.

    ``buyer``: the buyer's account, if the ledger has just shown it.
    """
    buyer_id = request.account_id
    require_none_hidden(request.nft_ids)
    require_not_blocked(buyer_id)
    if buyer_id == current_app.config["ACCOUNT_ID"]:
        raise AccountIsMarketplace(buyer_id)
    # Read this before the prices, so that they were in force after the purchase became valid.
    present = find_present(deadline)
    nfts = _find_for_sale(request, expected_prices, deadline)
    lots = sale_checks.group_by_seller(nfts)
    tokens = len({nft["token"] for nft in nfts})
    fee, payer, answers = mirror_node().ask(
        partial(fees.find_max_cost, len(nfts), tokens, deadline),
        partial(fees.find_payer, deadline),
        partial(sale_checks.ask, buyer_id, nfts, deadline, buyer),
    )
    price = sum(nft["listing_price"] for nft in nfts)
    by_id = dict(zip(request.nft_ids, nfts, strict=True))
    for_each(by_id, lambda nft_id: sale_checks.require_able(by_id[nft_id], price, answers))
    for lot in lots:
        sale_checks.require_payable(lot, answers.token(lot.token))
    sale_checks.require_few_changes(buyer_id, lots, answers.token)
    if payer.balance < fee:
        raise BalanceTooLow(to_hbar(payer.balance))
    for nft in nfts:
        _require_newest(read(), nft, present)
    return Purchase(buyer_id, nfts, fee, payer, answers.unassociated, present)


def _find_for_sale(
    request: MarketRequest, expected_prices: Mapping[NftId, int], deadline: Deadline
) -> list[NftRow]:
    reconciled = reconciler.reconcile(request.nft_ids, deadline)
    buyer_id = request.account_id

    def require_for_sale(nft_id: NftId) -> NftRow:
        nft, expected_price = reconciled[nft_id].nft, expected_prices.get(nft_id)
        if not reconciled[nft_id].is_decided:
            raise LedgerUndecided(*nft_id, reconciled[nft_id].reason)
        if nft is None or not nft["is_listed"]:
            raise NotListed(*nft_id)
        if nft["owner"] == buyer_id:
            raise BuyerIsOwner(buyer_id, *nft_id)
        if expected_price not in (None, nft["listing_price"]):
            raise PriceChanged(*nft_id, expected_price, nft["listing_price"])
        return nft

    return for_each(request.nft_ids, require_for_sale)


def _require_newest(db: Connection, nft: NftRow, present: int) -> None:
    """Raise LedgerUndecided if the watcher has stored, or has queued, a newer change of the NFT meanwhile.

    This request's mirror node replica may lag behind the watcher. A listing of several NFTs by the seller
    may include this NFT: its memo does not name them.
    """
    nft_id = NftId(nft["token"], nft["serial_no"])
    for what in (What("nft", *nft_id), What("seller", nft["owner"])):
        queued = rechecks.get_recheck(db, *what)
        if queued and not is_final(queued, nft["ledger_at"], present):
            raise LedgerUndecided(*nft_id, "it does not show a later transaction yet")
    stored = stored_nfts.get_nft(db, *nft_id)
    if stored and (not stored["is_listed"] or is_withheld(db, *nft_id, stored["owner"])):
        raise NotListed(*nft_id)
    state = nft["ledger_at"], nft["ledger_state"]
    if stored is None or (stored["ledger_at"], stored["ledger_state"]) != state:
        raise LedgerUndecided(*nft_id, "it has just changed")


def _make_id(present: int) -> TransactionId:
    """A new id, which nothing reserves: the nanoseconds make it another one than that of anybody else.

    Not later than the mirror node's last block, and early enough for a node whose clock is a little behind.
    """
    start = min(present, times.now() - START_BEFORE_NOW) - random.randrange(times.SECOND)
    return TransactionId(current_app.config["ACCOUNT_ID"], *divmod(start, times.SECOND))


def _build_body(
    nfts: Sequence[NftRow], buyer_id: str, transaction_id: TransactionId, node: str
) -> bytes:
    """Build the body of the purchase of NFTs for their current prices. The same for the same parameters."""
    from marketplace.hedera.transactions import SoldNft, build_purchase_body

    name, price = current_app.config["NAME"], sum(nft["listing_price"] for nft in nfts)
    memo = purchase_memo(nfts[0]["token"], nfts[0]["serial_no"], price, name)
    if len(nfts) > 1:
        memo = basket_memo(len(nfts), price, name)
    return build_purchase_body(
        nfts=[
            SoldNft(nft["token"], nft["serial_no"], nft["owner"], nft["listing_price"])
            for nft in nfts
        ],
        buyer=buyer_id,
        fee_basis_points=current_app.config["SALE_FEE_BASIS_POINTS"],
        node_account_id=node,
        transaction_id=transaction_id,
        memo=memo,
        max_fee_tinybars=fees.max_fee(len(nfts)),
        valid_seconds=VALID_SECONDS,
    )


def sign_and_submit(
    request: MarketRequest, handed_in: "SignedBody"
) -> tuple[PreparedTransactionRow, bool]:
    """Sign and submit a purchase, or submit it again if it may not have been. Returns whether it is new.

    After an error, nothing is reserved.
    """
    id, is_new = str(handed_in.transaction_id), False
    row = prepared_transactions.get_prepared_transaction(read(), id)
    if row is None:
        try:
            with fees.refusals_counted(request):
                row, is_new = _sign_and_store(request, handed_in)
        except MarketplaceError:
            # An equal request may have been faster, and have stored it.
            row = prepared_transactions.get_prepared_transaction(read(), id)
            if row is None:
                raise
    # The request that was to submit it has ended, and its fee is not known.
    is_left = row["signed"] and row["prepared_at"] < times.to_iso(times.now() - SUBMITTING)
    if is_new or is_left:
        _submit(row, handed_in.node, is_new)
    return row, is_new


def _sign_and_store(
    request: MarketRequest, handed_in: "SignedBody"
) -> tuple[PreparedTransactionRow, bool]:
    """Check, sign and store a purchase. Returns its row, and whether it is new."""
    signer = _require_signer()
    stored = require_nfts(request.nft_ids)
    _require_current(handed_in)
    if not handed_in.pairs:
        raise SignatureInvalid(request.account_id)
    with begin(request) as (request, deadline):
        # Refuse what nobody prepared, or the buyer has not signed, before the ledger is asked for the rest.
        _require_same(handed_in, request.account_id, [*stored.values()])
        account = mirror_node().find_account(request.account_id, deadline)
        buyer = sale_checks.find_buyer(request.account_id, account)
        of_buyer = _find_buyers_signatures(handed_in, buyer)
        purchase = _reconcile_and_check(request, deadline, buyer=buyer)
    _require_same(handed_in, request.account_id, purchase.nfts)
    fees.require_within_limits(read(), purchase, str(handed_in.transaction_id))
    transaction = _add_signature(signer, handed_in.body, of_buyer, purchase.payer.account)
    with write() as db:
        prepared_transactions.lock_purchases(db)
        known = prepared_transactions.get_prepared_transaction(db, str(handed_in.transaction_id))
        if known:
            return known, False
        for nft in purchase.nfts:
            _require_newest(db, nft, purchase.present)
        fees.require_within_limits(db, purchase)
        row = _log_and_insert(db, request, purchase, handed_in.transaction_id, transaction)
    count("purchases", outcome="signed")
    return row, True


def _require_current(handed_in: "SignedBody") -> None:
    """Require an id, and a node, as prepare() gives them, and that nodes still take the transaction."""
    id, now = handed_in.transaction_id, times.now()
    is_ours = id.account_id == current_app.config["ACCOUNT_ID"]
    is_early = id.valid_start > now + MOST_APART
    if not is_ours or handed_in.node not in nodes.list_nodes() or is_early:
        raise NotAsPrepared(str(id), "purchase")
    if find_expiry(id) <= times.to_iso(now):
        raise TransactionExpired(str(id), "purchase")


def _require_same(handed_in: "SignedBody", buyer_id: str, nfts: Sequence[NftRow]) -> None:
    """Raise NotListed, PriceChanged or NotAsPrepared unless the bytes are those of this purchase now.

    What the bytes parse as decides nothing: other programs may parse them in another way.
    """
    from marketplace.hedera.signatures import find_paid
    from marketplace.hedera.transactions import list_forms

    body = _build_body(nfts, buyer_id, handed_in.transaction_id, handed_in.node)
    if handed_in.body in list_forms(body):
        return
    for nft in nfts:
        if not nft["is_listed"]:
            raise NotListed(nft["token"], nft["serial_no"])
    paid = find_paid(handed_in.body, buyer_id) // TINYBARS
    price = sum(nft["listing_price"] for nft in nfts)
    if 0 < paid != price and len(nfts) == 1:
        raise PriceChanged(nfts[0]["token"], nfts[0]["serial_no"], paid, price)
    raise NotAsPrepared(str(handed_in.transaction_id), "purchase")


def _find_buyers_signatures(handed_in: "SignedBody", buyer: LedgerAccount) -> "list[KeySignature]":
    """The signatures by which the buyer's key has signed. Raises SignatureInvalid if it has not."""
    from marketplace.hedera import transactions
    from marketplace.hedera.signatures import find_signers

    # In the sandbox, the first key that signs for an account becomes its key.
    first = transactions.make_public_key(handed_in.pairs[0].prefix)
    key = transactions.make_key(*buyer.key) if buyer.key else first
    of_buyer = find_signers(key, handed_in.pairs, handed_in.body)
    if of_buyer is None:
        raise SignatureInvalid(buyer.id)
    return of_buyer


def _add_signature(
    signer: Signer, body: bytes, of_buyer: "Sequence[KeySignature]", payer: LedgerAccount
) -> bytes:
    """The transaction with the buyer's signatures and ours: the bytes of a TransactionList."""
    from marketplace.hedera import signatures

    public_key, signature = signer.sign(body)
    account_key.compare(public_key, payer)
    ours = signatures.KeySignature.of_key(public_key, signature)
    # The buyer may have the same key.
    others = [pair for pair in of_buyer if pair.prefix != public_key]
    return signatures.write(body, [ours, *others])


def _log_and_insert(
    db: Connection,
    request: MarketRequest,
    purchase: Purchase,
    transaction_id: TransactionId,
    transaction: bytes,
) -> PreparedTransactionRow:
    sold = [
        PreparedNft(nft["token"], nft["serial_no"], nft["listing_price"], nft["owner"])
        for nft in purchase.nfts
    ]
    current_app.logger.info(
        "Signed the purchase of %s by %s: %s, fees of at most %s tinybars (access token %s, end user %s)",
        ", ".join(
            f"{nft.token} #{nft.serial_no} for {nft.price} HBAR from {nft.seller}" for nft in sold
        ),
        request.account_id,
        transaction_id,
        purchase.fee,
        quote(request.caller.token),
        quote(request.caller.end_user),
    )
    row = insert(
        db,
        "purchase",
        request,
        sold,
        transaction_id,
        prepared_at=times.now(),
        fee=purchase.fee,
        signed=transaction,
    )
    assert row  # noqa: S101 - the caller has looked for it
    return row


def _submit(row: PreparedTransactionRow, node: str, is_new: bool) -> None:
    """Submit the stored bytes to the node that they name.

    If no node has taken a new purchase, deletes it. Of one that was left, an earlier request may have
    submitted it: then only the ledger tells.
    """
    try:
        nodes.submit(bytes(row["signed"] or b""), node, row["transaction_id"], "purchase")
    except MarketplaceError:
        if is_new:
            with write() as db:
                prepared_transactions.delete_purchase(db, row["transaction_id"])
            raise
