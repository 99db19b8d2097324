"""What is looked up before a purchase, and its unsigned transaction. Stores nothing."""

import random
from collections.abc import Mapping, Sequence
from functools import partial

from flask import current_app

from marketplace.errors import (
    AccountIsMarketplace,
    BalanceTooLow,
    BuyerIsOwner,
    BuyingOff,
    LedgerUndecided,
    NotListed,
    PriceChanged,
)
from marketplace.hedera import times
from marketplace.hedera.hbar import to_hbar
from marketplace.hedera.ids import NftId, TransactionId
from marketplace.ledger import Deadline
from marketplace.ledger.objects import LedgerAccount
from marketplace.market import reconciler
from marketplace.market.add_nft import find_account_id, require_nfts
from marketplace.market.buying import checks, fees
from marketplace.market.buying.fees import Purchase
from marketplace.market.buying.signer import Signer
from marketplace.market.listing.memos import basket_memo, purchase_memo
from marketplace.market.listing.prepared import (
    START_BEFORE_NOW,
    VALID_SECONDS,
    PreparedTransaction,
    TransactionRequest,
    find_present,
    take_turn,
)
from marketplace.market.moderation import require_all_shown, require_not_blocked
from marketplace.market.nodes import next_node
from marketplace.market.recheck_queue import What, is_final
from marketplace.market.reconciler import Reconciliation
from marketplace.market.several import for_each
from marketplace.services import mirror_node, services
from marketplace.store import following
from marketplace.store import nfts as stored_nfts
from marketplace.store.connection import Connection
from marketplace.store.database import read
from marketplace.store.decisions import is_withheld
from marketplace.store.nfts import NftRow

NOTHING: Mapping[NftId, int] = {}


def prepare(
    request: TransactionRequest, expected_prices: Mapping[NftId, int] = NOTHING
) -> PreparedTransaction:
    """Build the unsigned transaction by which an account buys NFTs for their current prices.

    ``expected_prices``: in HBAR. An NFT with another price is refused.
    """
    from marketplace.hedera.transactions import write_unsigned

    with fees.refusals_counted(request):
        require_signer()
        require_nfts(request.nft_ids)
        with take_turn(request.caller, len(request.nft_ids)) as deadline:
            buyer = find_account_id(request.account_id, deadline)
            request = request._replace(account_id=buyer)
            purchase = look_up(request, deadline, expected_prices)
        fees.require(read(), purchase)
    transaction_id = _make_id(purchase.present)
    body = build(purchase.nfts, buyer, transaction_id, next_node())
    return PreparedTransaction(buyer, write_unsigned(body), str(transaction_id), returns=True)


def require_signer() -> Signer:
    signer = services().signer
    if signer is None or not current_app.config["SALE_FEE_BUDGET"]:
        raise BuyingOff(has_signer=signer is not None)
    return signer


def look_up(
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
    sales = checks.group_sales(nfts)
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
    for sale in sales:
        checks.require_payable(sale, answers.token(sale.token))
    checks.require_few_changes(request.account_id, sales, answers.token)
    if payer.balance < fee:
        raise BalanceTooLow(to_hbar(payer.balance))
    for nft in nfts:
        require_newest(read(), nft, present)
    return Purchase(buyer, nfts, fee, payer, answers.unassociated, present)


def _find_for_sale(
    request: TransactionRequest, expected_prices: Mapping[NftId, int], deadline: Deadline
) -> list[NftRow]:
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
        raise AccountIsMarketplace(buyer)
    if expected_price not in (None, nft["listing_price"]):
        raise PriceChanged(*nft_id, expected_price, nft["listing_price"])
    return nft


def _require_able(nfts: Sequence[NftRow], answers: checks.Answers) -> LedgerAccount:
    """Require that the ledger would not refuse the NFTs' sale, and return the buyer's account."""
    price = sum(nft["listing_price"] for nft in nfts)
    by_id = {NftId(nft["token"], nft["serial_no"]): nft for nft in nfts}
    return for_each(by_id, lambda nft_id: checks.require_able(by_id[nft_id], price, answers))[0]


def require_newest(db: Connection, nft: NftRow, present: int) -> None:
    """Raise LedgerUndecided if the watcher has stored, or has queued, a newer change of the NFT meanwhile.

    This request's mirror node replica may lag behind the watcher. A listing of several NFTs by the seller
    may include this NFT: its memo does not name them.
    """
    nft_id = NftId(nft["token"], nft["serial_no"])
    for what in (What("nft", *nft_id), What("seller", nft["owner"])):
        queued = following.get_recheck(db, *what)
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


def build(nfts: Sequence[NftRow], buyer: str, transaction_id: TransactionId, node: str) -> bytes:
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
        memo=write_memo(nfts),
        max_fee_tinybars=fees.max_fee(len(nfts)),
        valid_seconds=VALID_SECONDS,
    )


def write_memo(nfts: Sequence[NftRow]) -> str:
    name, price = current_app.config["NAME"], sum(nft["listing_price"] for nft in nfts)
    if len(nfts) > 1:
        return basket_memo(len(nfts), price, name)
    return purchase_memo(nfts[0]["token"], nfts[0]["serial_no"], price, name)
