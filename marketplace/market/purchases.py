"""Buying NFTs: the transaction that the marketplace signs, and pays for, before the buyer signs it."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from flask import current_app

from marketplace.errors import (
    BalanceTooLow,
    BuyerIsMarketplace,
    BuyerIsOwner,
    BuyingOff,
    FeesSpent,
    LedgerUndecided,
    MarketplaceError,
    NotListed,
    OperatorNeeded,
    PriceChanged,
    SignerFailed,
    shown,
)
from marketplace.hedera import times
from marketplace.hedera.hbar import to_hbar
from marketplace.hedera.ids import NftId, TransactionId
from marketplace.ledger import Deadline
from marketplace.market import (
    account_key,
    buyer_checks,
    custom_fees,
    fee_budget,
    mirror_turns,
    purchase_fees,
    reconciler,
    transfer_limits,
)
from marketplace.market.add_nft import find_account_id, require_nfts
from marketplace.market.memos import basket_memo, purchase_memo
from marketplace.market.moderation import require_all_shown, require_not_blocked
from marketplace.market.nodes import next_node
from marketplace.market.prepare import (
    START_BEFORE_NOW,
    Draft,
    PreparedNft,
    PreparedTransaction,
    TransactionRequest,
    insert,
)
from marketplace.market.purchase_fees import VALID_SECONDS, Payer
from marketplace.market.recheck_queue import What, is_final
from marketplace.market.reconciler import Reconciliation
from marketplace.market.several import for_each
from marketplace.market.signer import Signer
from marketplace.market.throttled_log import warn_once_a_minute
from marketplace.market.valid_start import find_present
from marketplace.metrics import count
from marketplace.services import mirror_node, services
from marketplace.store import following, nfts, prepared_transactions
from marketplace.store.database import read, write
from marketplace.store.rows import Connection, NftRow, PreparedTransactionRow

HANDED_OUT_SECONDS = 15  # an open purchase is returned again if it stays valid for this long
NOTHING: Mapping[NftId, int] = {}


class Cost(NamedTuple):
    """The highest cost of a purchase, and the account that pays it."""

    fee: int  # tinybars
    payer: Payer
    associated: Sequence[str]  # the tokens with which the purchase associates the buyer


def prepare(
    request: TransactionRequest, expected_prices: Mapping[NftId, int] = NOTHING
) -> PreparedTransaction:
    """Build, reserve and sign the transaction by which an account buys NFTs for their current prices.

    A caller who repeats a request gets the same transaction while it can still be signed in time. Another
    caller gets a separate one, since anybody can use up a transaction by submitting it unsigned.

    ``expected_prices``: in HBAR. An NFT with another price is refused.

    Raises BuyingOff, Hidden, AccountBlocked, AccountNotOnLedger; NftNotStored, NotListed, BuyerIsOwner,
    BuyerIsMarketplace, PriceChanged, CollectionsMixed, PurchaseImpossible, AssociationNotPaid,
    BasketTooExpensive; LedgerBehind, LedgerUndecided and the ledger's errors; LedgerBusy,
    TooManyPurchases, FeesSpent, OperatorNeeded; SignerFailed. Then nothing is reserved.
    """
    try:
        prepared = _prepare(request, expected_prices)
    except MarketplaceError as error:
        count("purchases", outcome=type(error).__name__)
        if isinstance(error, FeesSpent | OperatorNeeded):
            warn_once_a_minute(
                "Refused to sign a purchase for %s (access token %s, end user %s): %s",
                request.account_id,
                *map(shown, request.caller),
                error,
            )
        raise
    count("purchases", outcome="signed")
    return prepared


def _prepare(
    request: TransactionRequest, expected_prices: Mapping[NftId, int]
) -> PreparedTransaction:
    signer = _signer()
    require_all_shown(request.nft_ids)
    require_nfts(request.nft_ids)
    with mirror_turns.take(request.caller, len(request.nft_ids)) as deadline:
        request = request._replace(account_id=find_account_id(request.account_id, deadline))
        require_not_blocked(request.account_id)
        if not _find_open(read(), request):  # refuse before the ledger is asked
            fee_budget.require_room(read(), request, purchase_fees.max_fee(len(request.nft_ids)))
        # Read this before the prices, so that they were in force after the purchase became valid.
        present = find_present(deadline)
        nfts = _find_for_sale(request, expected_prices, deadline)
        cost = _look_up(request, nfts, deadline)
    row = _reserve(request, nfts, cost, present)
    if not row["signed"]:
        row = _sign(signer, request, row, nfts, cost.payer)
    signed = bytes(row["signed"] or b"")
    return PreparedTransaction(request.account_id, signed, row["transaction_id"], VALID_SECONDS)


def _signer() -> Signer:
    signer = services().signer
    if signer is None or not current_app.config["SALE_FEE_BUDGET"]:
        raise BuyingOff(has_signer=signer is not None)
    return signer


def _find_open(
    db: Connection, request: TransactionRequest, nfts: Sequence[NftRow] = ()
) -> PreparedTransactionRow | None:
    """Find an equal request's open purchase that can still be signed in time.

    ``nfts``: the request's stored NFTs. Without them, prices and sellers may differ.
    """
    until = times.to_iso(times.now() + HANDED_OUT_SECONDS * times.SECOND)
    rows = prepared_transactions.list_open_purchases(
        db, request.columns(), *request.nft_ids[0], until
    )
    for _, group in groupby(rows, key=itemgetter("transaction_id")):
        of_purchase = [*group]
        sold = {
            PreparedNft(row["token"], row["serial_no"], row["price"], row["seller"])
            for row in of_purchase
        }
        is_same = (
            sold == {*_sold(nfts)} if nfts else {nft[:2] for nft in sold} == {*request.nft_ids}
        )
        if is_same:
            return of_purchase[0]
    return None


def _sold(nfts: Sequence[NftRow]) -> list[PreparedNft]:
    return [
        PreparedNft(nft["token"], nft["serial_no"], nft["listing_price"], nft["owner"])
        for nft in nfts
    ]


def _find_for_sale(
    request: TransactionRequest, expected_prices: Mapping[NftId, int], deadline: Deadline
) -> list[NftRow]:
    """Reconcile the NFTs, and require that each is for sale to the account."""
    reconciled = reconciler.reconcile(request.nft_ids, deadline)

    def find_one(nft_id: NftId) -> NftRow:
        return _require_for_sale(
            request.account_id, nft_id, reconciled[nft_id], expected_prices.get(nft_id)
        )

    return for_each(request.nft_ids, find_one)


def _require_for_sale(
    buyer: str, nft_id: NftId, reconciled: Reconciliation, expected_price: int | None
) -> NftRow:
    if not reconciled.is_decided:
        raise LedgerUndecided(*nft_id, reconciled.reason)
    nft = reconciled.nft
    if nft is None or not nft["is_listed"]:
        raise NotListed(*nft_id)
    if nft["owner"] == buyer:
        raise BuyerIsOwner(buyer, *nft_id)
    if buyer == current_app.config["ACCOUNT_ID"]:
        raise BuyerIsMarketplace(buyer)
    if expected_price not in (None, nft["listing_price"]):
        raise PriceChanged(*nft_id, expected_price, nft["listing_price"])
    return nft


def _look_up(request: TransactionRequest, nfts: Sequence[NftRow], deadline: Deadline) -> Cost:
    """Ask the ledger what the purchase can cost.

    Raises CollectionsMixed, PurchaseImpossible, BalanceTooLow, and the ledger's errors.
    """
    sales = transfer_limits.group_sales(nfts)
    questions = buyer_checks.list_questions(request.account_id, nfts, deadline)
    tokens = len({nft["token"] for nft in nfts})
    fee, payer, *found = mirror_node().ask(
        partial(purchase_fees.find_max_cost, len(nfts), tokens, deadline),
        partial(purchase_fees.find_payer, deadline),
        *questions.values(),
    )
    answers = buyer_checks.Answers(
        request.account_id, dict(zip(questions, found, strict=True)), deadline
    )
    price = sum(nft["listing_price"] for nft in nfts)
    by_id = {NftId(nft["token"], nft["serial_no"]): nft for nft in nfts}
    for_each(by_id, lambda nft_id: buyer_checks.require_able(by_id[nft_id], price, answers))
    for sale in sales:
        custom_fees.require_payable(sale, answers.token(sale.token))
    transfer_limits.require_few_changes(request.account_id, sales, answers.token)
    if payer.balance < fee:
        purchase_fees.note_balance(payer.balance)
        raise BalanceTooLow(to_hbar(payer.balance))
    return Cost(fee, payer, answers.unassociated)


def _reserve(
    request: TransactionRequest, nfts: Sequence[NftRow], cost: Cost, present: int
) -> PreparedTransactionRow:
    """Return an equal request's open purchase, or insert one. The new row reserves the fee."""
    now, payer = times.now(), current_app.config["ACCOUNT_ID"]
    # Not later than the mirror node's last block, and early enough for a node whose clock is a little behind.
    start = min(present, now - START_BEFORE_NOW)
    memo = _write_memo(nfts)
    draft = Draft("purchase", payer, memo, now, start, VALID_SECONDS, cost.fee)
    with write() as db:
        prepared_transactions.lock_purchases(db, cost.payer.balance)
        for nft in nfts:
            _require_newest(db, nft, present)
        if known := _find_open(db, request, nfts):
            return known
        held = fee_budget.require_room(db, request, cost.fee, cost.payer.balance)
        if cost.associated:
            fee_budget.require_association_paid(request, cost.associated, cost.fee, held)
        return insert(db, request, _sold(nfts), draft)


def _write_memo(nfts: Sequence[NftRow]) -> str:
    name, price = current_app.config["NAME"], sum(nft["listing_price"] for nft in nfts)
    if len(nfts) > 1:
        return basket_memo(len(nfts), price, name)
    return purchase_memo(nfts[0]["token"], nfts[0]["serial_no"], price, name)


def _require_newest(db: Connection, nft: NftRow, present: int) -> None:
    """Raise LedgerUndecided if the watcher has stored, or has queued, a newer change of the NFT meanwhile.

    This request's mirror node replica may lag behind the watcher. A listing of several NFTs by the seller
    may include this NFT: its memo does not name them.
    """
    nft_id = NftId(nft["token"], nft["serial_no"])
    for what in (What("nft", *nft_id), What("seller", nft["owner"])):
        queued = following.get_recheck(db, *what)
        if queued and not is_final(queued, nft["ledger_at"], present):
            raise LedgerUndecided(*nft_id, "it does not show a later transaction yet")
    stored = nfts.get_nft(db, *nft_id)
    if stored and not stored["is_listed"]:
        raise NotListed(*nft_id)
    state = nft["ledger_at"], nft["ledger_state"]
    if stored is None or (stored["ledger_at"], stored["ledger_state"]) != state:
        raise LedgerUndecided(*nft_id, "it has just changed")


def _sign(
    signer: Signer,
    request: TransactionRequest,
    row: PreparedTransactionRow,
    nfts: Sequence[NftRow],
    payer: Payer,
) -> PreparedTransactionRow:
    """Return the signed row, or the row of an equal request that was faster. Raises SignerFailed."""
    try:
        signed = _build_and_sign(signer, row, nfts, payer)
        with write() as db:
            prepared_transactions.lock_purchases(db, payer.balance)
            if known := _find_open(db, request, nfts):
                prepared_transactions.delete_purchase(db, row["transaction_id"])
                return known
            marked = prepared_transactions.mark_signed(db, row["transaction_id"], signed)
        if marked is None:
            raise SignerFailed("the purchase expired before it was signed")
        return marked
    except BaseException:
        with write() as db:
            prepared_transactions.delete_purchase(db, row["transaction_id"])
        raise


def _build_and_sign(
    signer: Signer, row: PreparedTransactionRow, nfts: Sequence[NftRow], payer: Payer
) -> bytes:
    from marketplace.hedera.transactions import SoldNft, build_purchase, write_signed

    body = build_purchase(
        nfts=[
            SoldNft(nft["token"], nft["serial_no"], nft["owner"], nft["listing_price"])
            for nft in nfts
        ],
        buyer=row["account_id"],
        fee_basis_points=current_app.config["SALE_FEE_BASIS_POINTS"],
        node_account_id=next_node(),
        transaction_id=TransactionId.require(row["transaction_id"]),
        memo=row["memo"],
        max_fee_tinybars=purchase_fees.max_fee(len(nfts)),
        valid_seconds=VALID_SECONDS,
    )
    public_key, signature = signer.sign(body)
    account_key.compare(public_key, payer.account)
    signed = write_signed(body, public_key, signature)
    current_app.logger.info(
        "Signed the purchase of %s by %s: %s, fees of at most %s tinybars (access token %s, end user %s)",
        ", ".join(
            f"{nft['token']} #{nft['serial_no']} for {nft['listing_price']} HBAR from {nft['owner']}"
            for nft in nfts
        ),
        row["account_id"],
        row["transaction_id"],
        row["fee_tinybars"],
        shown(row["caller"]),
        shown(row["end_user"]),
    )
    return signed
