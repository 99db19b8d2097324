"""A purchase: prepares the unsigned transaction, and takes it back when the buyer has signed it.

Nothing of ours is signed, reserved or paid before the buyer's signature has been verified. The signed bytes
are stored before they are submitted. A repeated request submits the same bytes, and the network takes a
transaction id once: so a killed process, a lost answer or two requests at once cause no second charge.
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
from marketplace.market import nodes, reconciler
from marketplace.market.buying import account_key, checks, fees
from marketplace.market.buying.fees import Purchase
from marketplace.market.buying.signer import Signer
from marketplace.market.listing.memos import basket_memo, purchase_memo
from marketplace.market.listing.prepare import (
    MOST_APART,
    START_BEFORE_NOW,
    VALID_SECONDS,
    PreparedNft,
    PreparedTransaction,
    find_expiry,
    find_present,
    insert,
)
from marketplace.market.nfts import (
    TransactionRequest,
    find_account_id,
    for_each,
    require_all_shown,
    require_nfts,
    require_not_blocked,
    take_turn,
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
from marketplace.text import shown

if TYPE_CHECKING:  # the SDK takes 70 MB
    from marketplace.hedera.signed import KeySignature, Signed

# Longer than a submission takes: then no other request is submitting the purchase any more.
SUBMITTING = 10 * times.SECOND
NOTHING: Mapping[NftId, int] = {}


def prepare(
    request: TransactionRequest, expected_prices: Mapping[NftId, int] = NOTHING
) -> PreparedTransaction:
    """Build the unsigned transaction by which an account buys NFTs for their current prices.

    ``expected_prices``: in HBAR. An NFT with another price is refused.
    """
    from marketplace.hedera.transactions import write_unsigned

    with fees.refusals_counted(request):
        _require_signer()
        require_nfts(request.nft_ids)
        with take_turn(request.caller, len(request.nft_ids)) as deadline:
            buyer = find_account_id(request.account_id, deadline)
            request = request._replace(account_id=buyer)
            purchase = _look_up(request, deadline, expected_prices)
        fees.require(read(), purchase)
    transaction_id = _make_id(purchase.present)
    body = _build(purchase.nfts, buyer, transaction_id, nodes.next_node())
    return PreparedTransaction(
        buyer, write_unsigned(body), str(transaction_id), return_transaction=True
    )


def _require_signer() -> Signer:
    signer = services().signer
    if signer is None or not current_app.config["SALE_FEE_BUDGET"]:
        raise BuyingOff(has_signer=signer is not None)
    return signer


def _look_up(
    request: TransactionRequest,
    deadline: Deadline,
    expected_prices: Mapping[NftId, int] = NOTHING,
    buyer: LedgerAccount | None = None,
) -> Purchase:
    """Reconcile the NFTs, and ask the ledger for all that could make the purchase fail at consensus.

    ``buyer``: the buyer's account, if the ledger has just shown it.
    """
    require_all_shown(request.nft_ids)
    require_not_blocked(request.account_id)
    # Read this before the prices, so that they were in force after the purchase became valid.
    present = find_present(deadline)
    nfts = _find_for_sale(request, expected_prices, deadline)
    lots = checks.group_by_seller(nfts)
    questions = checks.list_questions(request.account_id, nfts, deadline)
    if buyer:
        questions["account", buyer.id] = lambda: buyer
    tokens = len({nft["token"] for nft in nfts})
    fee, payer, *found = mirror_node().ask(
        partial(fees.find_max_cost, len(nfts), tokens, deadline),
        partial(fees.find_payer, deadline),
        *questions.values(),
    )
    answers = checks.Answers(request.account_id, dict(zip(questions, found, strict=True)), deadline)
    buyer = _require_able(nfts, answers)
    for lot in lots:
        checks.require_payable(lot, answers.token(lot.token))
    checks.require_few_changes(request.account_id, lots, answers.token)
    if payer.balance < fee:
        raise BalanceTooLow(to_hbar(payer.balance))
    for nft in nfts:
        _require_newest(read(), nft, present)
    return Purchase(buyer, nfts, fee, payer, answers.unassociated, present)


def _find_for_sale(
    request: TransactionRequest, expected_prices: Mapping[NftId, int], deadline: Deadline
) -> list[NftRow]:
    reconciled = reconciler.reconcile(request.nft_ids, deadline)
    buyer = request.account_id

    def require_for_sale(nft_id: NftId) -> NftRow:
        nft, expected_price = reconciled[nft_id].nft, expected_prices.get(nft_id)
        if not reconciled[nft_id].is_decided:
            raise LedgerUndecided(*nft_id, reconciled[nft_id].reason)
        if nft is None or not nft["is_listed"]:
            raise NotListed(*nft_id)
        if nft["owner"] == buyer:
            raise BuyerIsOwner(buyer, *nft_id)
        if buyer == current_app.config["ACCOUNT_ID"]:
            raise AccountIsMarketplace(buyer)
        if expected_price not in (None, nft["listing_price"]):
            raise PriceChanged(*nft_id, expected_price, nft["listing_price"])
        return nft

    return for_each(request.nft_ids, require_for_sale)


def _require_able(nfts: Sequence[NftRow], answers: checks.Answers) -> LedgerAccount:
    """Require that the ledger would not refuse the NFTs' sale, and return the buyer's account."""
    price = sum(nft["listing_price"] for nft in nfts)
    by_id = {NftId(nft["token"], nft["serial_no"]): nft for nft in nfts}
    return for_each(by_id, lambda nft_id: checks.require_able(by_id[nft_id], price, answers))[0]


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


def _build(nfts: Sequence[NftRow], buyer: str, transaction_id: TransactionId, node: str) -> bytes:
    """Build the body of the purchase of NFTs for their current prices. The same for the same parameters."""
    from marketplace.hedera.transactions import SoldNft, build_purchase

    return build_purchase(
        nfts=[
            SoldNft(nft["token"], nft["serial_no"], nft["owner"], nft["listing_price"])
            for nft in nfts
        ],
        buyer=buyer,
        fee_basis_points=current_app.config["SALE_FEE_BASIS_POINTS"],
        node_account_id=node,
        transaction_id=transaction_id,
        memo=_write_memo(nfts),
        max_fee_tinybars=fees.max_fee(len(nfts)),
        valid_seconds=VALID_SECONDS,
    )


def _write_memo(nfts: Sequence[NftRow]) -> str:
    name, price = current_app.config["NAME"], sum(nft["listing_price"] for nft in nfts)
    if len(nfts) > 1:
        return basket_memo(len(nfts), price, name)
    return purchase_memo(nfts[0]["token"], nfts[0]["serial_no"], price, name)


def hand_in(request: TransactionRequest, signed: "Signed") -> tuple[PreparedTransactionRow, bool]:
    """Sign and submit a purchase, or submit it again if it may not have been. Returns whether it is new.

    After an error, nothing is reserved.
    """
    id, is_new = str(signed.transaction_id), False
    row = prepared_transactions.get_prepared_transaction(read(), id)
    if row is None:
        try:
            with fees.refusals_counted(request):
                row, is_new = _sign_new(request, signed)
        except MarketplaceError:
            # An equal request may have been faster.
            row = prepared_transactions.get_prepared_transaction(read(), id)
            if row is None:
                raise
    # The request that was to submit it has ended, and its fee is not known.
    is_left = row["signed"] and row["prepared_at"] < times.to_iso(times.now() - SUBMITTING)
    if is_new or is_left:
        _submit(row, signed, is_new)
    return row, is_new


def _sign_new(request: TransactionRequest, signed: "Signed") -> tuple[PreparedTransactionRow, bool]:
    """Check, sign and store a purchase. Returns its row, and whether it is new."""
    signer = _require_signer()
    stored = require_nfts(request.nft_ids)
    _require_current(signed)
    if not signed.pairs:
        raise SignatureInvalid(request.account_id)
    with take_turn(request.caller, len(request.nft_ids)) as deadline:
        request = request._replace(account_id=find_account_id(request.account_id, deadline))
        # Refuse what nobody prepared, or the buyer has not signed, before the ledger is asked for the rest.
        _require_same(signed, request, [*stored.values()])
        account = mirror_node().find_account(request.account_id, deadline)
        buyer = checks.require_buyer(request.account_id, account)
        pairs = _require_signed(signed, buyer)
        purchase = _look_up(request, deadline, buyer=buyer)
    _require_same(signed, request, purchase.nfts)
    fees.require(read(), purchase, str(signed.transaction_id))
    transaction = _sign(signer, signed, pairs, purchase)
    with write() as db:
        prepared_transactions.lock_purchases(db)
        known = prepared_transactions.get_prepared_transaction(db, str(signed.transaction_id))
        if known:
            return known, False
        for nft in purchase.nfts:
            _require_newest(db, nft, purchase.present)
        fees.require(db, purchase)
        row = _insert(db, request, purchase, signed, transaction)
    count("purchases", outcome="signed")
    return row, True


def _require_current(signed: "Signed") -> None:
    """Require an id, and a node, as prepare() gives them, and that nodes still take the transaction."""
    start, now, id = signed.transaction_id.valid_start, times.now(), str(signed.transaction_id)
    is_ours = signed.transaction_id.account_id == current_app.config["ACCOUNT_ID"]
    if not is_ours or signed.node not in nodes.list_nodes() or start > now + MOST_APART:
        raise NotAsPrepared(id, "purchase")
    if find_expiry(start) <= times.to_iso(now):
        raise TransactionExpired(id, "purchase")


def _require_same(signed: "Signed", request: TransactionRequest, nfts: Sequence[NftRow]) -> None:
    """Raise NotListed, PriceChanged or NotAsPrepared unless the bytes are those of this purchase now.

    What the bytes parse as decides nothing: other programs may parse them in another way.
    """
    from marketplace.hedera.signed import find_paid
    from marketplace.hedera.transactions import list_forms

    body = _build(nfts, request.account_id, signed.transaction_id, signed.node)
    if signed.body in list_forms(body):
        return
    for nft in nfts:
        if not nft["is_listed"]:
            raise NotListed(nft["token"], nft["serial_no"])
    paid = find_paid(signed.body, request.account_id) // TINYBARS
    price = sum(nft["listing_price"] for nft in nfts)
    if 0 < paid != price and len(nfts) == 1:
        raise PriceChanged(nfts[0]["token"], nfts[0]["serial_no"], paid, price)
    raise NotAsPrepared(str(signed.transaction_id), "purchase")


def _require_signed(signed: "Signed", buyer: LedgerAccount) -> "list[KeySignature]":
    """The buyer's signatures. Raises SignatureInvalid."""
    from marketplace.hedera import transactions
    from marketplace.hedera.signed import find_signers

    # In the sandbox, the first key that signs for an account becomes its key.
    first = transactions.make_public_key(signed.pairs[0].prefix)
    key = transactions.make_key(*buyer.key) if buyer.key else first
    pairs = find_signers(key, signed.pairs, signed.body)
    if pairs is None:
        raise SignatureInvalid(buyer.id)
    return pairs


def _sign(
    signer: Signer, signed: "Signed", pairs: "Sequence[KeySignature]", purchase: Purchase
) -> bytes:
    """The transaction with the buyer's signatures and ours: the bytes of a TransactionList."""
    from marketplace.hedera.signed import ECDSA_BYTES, KeySignature, write

    public_key, signature = signer.sign(signed.body)
    account_key.compare(public_key, purchase.payer.account)
    ours = KeySignature(public_key, signature, len(public_key) == ECDSA_BYTES)
    # The buyer may have the same key.
    return write(signed.body, [ours, *(pair for pair in pairs if pair.prefix != public_key)])


def _insert(
    db: Connection,
    request: TransactionRequest,
    purchase: Purchase,
    signed: "Signed",
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
        signed.transaction_id,
        purchase.fee,
        shown(request.caller.token),
        shown(request.caller.end_user),
    )
    row = insert(
        db,
        "purchase",
        request,
        sold,
        signed.transaction_id,
        _write_memo(purchase.nfts),
        prepared_at=times.now(),
        fee=purchase.fee,
        signed=transaction,
    )
    assert row  # noqa: S101 - the caller has looked for it
    return row


def _submit(row: PreparedTransactionRow, signed: "Signed", is_new: bool) -> None:
    """Submit the stored bytes to the node that they name.

    If no node has taken a new purchase, deletes it. Of one that was left, an earlier request may have
    submitted it: then only the ledger tells.
    """
    try:
        nodes.submit(bytes(row["signed"] or b""), signed.node, row["transaction_id"], "purchase")
    except MarketplaceError:
        if is_new:
            with write() as db:
                prepared_transactions.delete_purchase(db, row["transaction_id"])
            raise
