"""Takes a purchase that its buyer has signed: compares and checks it, then signs and submits it.

Nothing of ours is signed, reserved or paid before the buyer's signature has been verified. The signed bytes
are stored before they are submitted. A repeated request submits the same bytes, and the network takes a
transaction id once: so a killed process, a lost answer or two requests at once cause no second charge.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flask import current_app

from marketplace.errors import (
    MarketplaceError,
    NotAsPrepared,
    NotListed,
    PriceChanged,
    SignatureInvalid,
    TransactionExpired,
)
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS
from marketplace.ledger import Deadline
from marketplace.ledger.objects import LedgerAccount
from marketplace.market import nodes
from marketplace.market.add_nft import find_account_id, require_nfts
from marketplace.market.buying import account_key, fees
from marketplace.market.buying.checks import require_buyer
from marketplace.market.buying.fees import Purchase
from marketplace.market.buying.purchase import (
    build,
    look_up,
    require_newest,
    require_signer,
    write_memo,
)
from marketplace.market.buying.signer import Signer
from marketplace.market.listing.prepared import (
    MOST_APART,
    PreparedNft,
    PreparedTransaction,
    TransactionRequest,
    insert_purchase,
    take_turn,
)
from marketplace.market.nodes import list_nodes
from marketplace.metrics import count
from marketplace.services import mirror_node
from marketplace.store import prepared_transactions
from marketplace.store.connection import Connection
from marketplace.store.database import read, write
from marketplace.store.nfts import NftRow
from marketplace.store.prepared_transactions import PreparedTransactionRow
from marketplace.text import shown

if TYPE_CHECKING:  # the SDK takes 70 MB
    from marketplace.hedera.signed import Pair, Signed

# Longer than a submission takes: then no other request is submitting the purchase any more.
SUBMITTING = 10 * times.SECOND


def hand_in(request: TransactionRequest, signed: "Signed") -> tuple[PreparedTransactionRow, bool]:
    """Sign and submit a purchase, or submit it again if it may not have been. Returns whether it is new.

    After an error, nothing is reserved.
    """
    row, is_new = _find(read(), signed), False
    if row is None:
        try:
            with fees.refusals_counted(request):
                row, is_new = _take(request, signed)
        except MarketplaceError:
            row = _find(read(), signed)  # of an equal request, which was faster
            if row is None:
                raise
    if is_new or _is_left(row):
        _submit(row, signed, is_new)
    return row, is_new


def _find(db: Connection, signed: "Signed") -> PreparedTransactionRow | None:
    return prepared_transactions.get_prepared_transaction(db, str(signed.transaction_id))


def _is_left(row: PreparedTransactionRow) -> bool:
    """Whether the request that was to submit a purchase has ended, and its fee is not known."""
    return row["signed"] is not None and row["prepared_at"] < times.to_iso(times.now() - SUBMITTING)


def _take(request: TransactionRequest, signed: "Signed") -> tuple[PreparedTransactionRow, bool]:
    """Check, sign and store a purchase. Returns its row, and whether it is new."""
    signer = require_signer()
    stored = require_nfts(request.nft_ids)
    _require_current(signed)
    if not signed.pairs:
        raise SignatureInvalid(request.account_id)
    with take_turn(request.caller, len(request.nft_ids)) as deadline:
        request = request._replace(account_id=find_account_id(request.account_id, deadline))
        # Refuse what nobody prepared, or the buyer has not signed, before the ledger is asked for the rest.
        _require_same(signed, request, [*stored.values()])
        buyer = _find_buyer(request.account_id, deadline)
        pairs = _require_signed(signed, buyer)
        purchase = look_up(request, deadline, buyer=buyer)
    _require_same(signed, request, purchase.nfts)
    fees.require(read(), purchase, str(signed.transaction_id))
    transaction = _sign(signer, signed, pairs, purchase)
    with write() as db:
        prepared_transactions.lock_purchases(db)
        if known := _find(db, signed):
            return known, False
        for nft in purchase.nfts:
            require_newest(db, nft, purchase.present)
        fees.require(db, purchase)
        row = _insert(db, request, purchase, signed, transaction)
    count("purchases", outcome="signed")
    return row, True


def _require_current(signed: "Signed") -> None:
    """Require an id, and a node, as prepare() gives them, and that nodes still take the transaction."""
    start, now, id = signed.transaction_id.valid_start, times.now(), str(signed.transaction_id)
    is_ours = signed.transaction_id.account_id == current_app.config["ACCOUNT_ID"]
    if not is_ours or signed.node not in list_nodes() or start > now + MOST_APART:
        raise NotAsPrepared(id, "purchase")
    if PreparedTransaction("", b"", id).expires_at <= times.to_iso(now):
        raise TransactionExpired(id, "purchase")


def _require_same(signed: "Signed", request: TransactionRequest, nfts: Sequence[NftRow]) -> None:
    """Raise NotListed, PriceChanged or NotAsPrepared unless the bytes are those of this purchase now.

    What the bytes parse as decides nothing: other programs may parse them in another way.
    """
    from marketplace.hedera.messages import list_forms
    from marketplace.hedera.signed import find_paid

    body = build(nfts, request.account_id, signed.transaction_id, signed.node)
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


def _find_buyer(account_id: str, deadline: Deadline) -> LedgerAccount:
    return require_buyer(account_id, mirror_node().find_account(account_id, deadline))


def _require_signed(signed: "Signed", buyer: LedgerAccount) -> "list[Pair]":
    """The buyer's signatures. Raises SignatureInvalid."""
    from marketplace.hedera import messages
    from marketplace.hedera.signed import find_signers

    # In the sandbox, the first key that signs for an account becomes its key.
    first = messages.public_key(signed.pairs[0].prefix)
    key = messages.key(*buyer.key) if buyer.key else first
    pairs = find_signers(key, signed.pairs, signed.body)
    if pairs is None:
        raise SignatureInvalid(buyer.id)
    return pairs


def _sign(signer: Signer, signed: "Signed", pairs: "Sequence[Pair]", purchase: Purchase) -> bytes:
    """The transaction with the buyer's signatures and ours: the bytes of a TransactionList."""
    from marketplace.hedera.signed import ECDSA_BYTES, Pair, write

    public_key, signature = signer.sign(signed.body)
    account_key.compare(public_key, purchase.payer.account)
    ours = Pair(public_key, signature, len(public_key) == ECDSA_BYTES)
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
    memo = write_memo(purchase.nfts)
    return insert_purchase(
        db, request, sold, signed.transaction_id, memo, purchase.fee, transaction
    )


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
