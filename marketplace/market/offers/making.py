"""Makes offers: the marketplace creates a schedule of the sale, which the bidder then signs.

The marketplace pays for the creation. Its signature alone moves nothing: bidder and owner must sign, too.
The mirror node, not a consensus node's answer, says which schedule was created. The schedule's sale is
compared with the requested one before the bidder gets bytes to sign.
"""

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from flask import current_app

from marketplace.errors import (
    LedgerAnswerInvalid,
    OfferTooLow,
    SignerFailed,
    TooManyOffers,
    TransactionRefused,
)
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS, find_credit
from marketplace.hedera.ids import TransactionId
from marketplace.ledger import ALLOWED_LAG, Deadline
from marketplace.ledger.mirror_schemas import LedgerAccount, LedgerKey
from marketplace.market import (
    fee_budget,
    mirror_turns,
    purchase_fees,
)
from marketplace.market.add_nft import find_account_id, require_nfts
from marketplace.market.memos import offer_memo
from marketplace.market.moderation import require_all_shown, require_not_blocked
from marketplace.market.offers import checks, submission
from marketplace.market.offers.checks import Sides
from marketplace.market.offers.reconciler import reconcile_offers
from marketplace.market.offers.submission import VALID_SECONDS, Paid
from marketplace.market.prepare import (
    START_BEFORE_NOW,
    Draft,
    PreparedNft,
    PreparedTransaction,
    TransactionRequest,
    insert,
)
from marketplace.market.unsigned_transactions import prepare_for_offer
from marketplace.market.valid_start import find_present
from marketplace.services import mirror_node, services
from marketplace.store import offers, prepared_transactions
from marketplace.store.database import read, write
from marketplace.store.rows import Connection, OfferRow, PreparedNftRow, PreparedTransactionRow

if TYPE_CHECKING:
    from hiero_sdk_python.hapi.services.basic_types_pb2 import Key

CREATION = "SCHEDULECREATE"
DAY_SECONDS = times.DAY // times.SECOND
# An offer that stays unsigned for this long no longer counts, and is not returned again.
UNSIGNED_SECONDS = 1800
MOST_OF_BIDDER = MOST_OF_CALLER = 20
MOST_OF_NFT = 50  # further ones must be higher than the lowest of these
KEY_CENTS = 1  # added to a schedule creation's price for each key that can delete it
SPARE_CENTS = 1  # the exchange rate may change
MOST_KEYS = 5  # of a bidder: with more, only the marketplace can delete the schedule


class Wanted(NamedTuple):
    """What a bidder wants to offer."""

    price: int  # HBAR
    days: int  # until it expires


def make(request: TransactionRequest, wanted: Wanted) -> PreparedTransaction | None:
    """Create an offer for one NFT, and prepare the bidder's signature of it.

    None: the mirror node did not show the offer in time. A repeated request finds it. Within half an hour,
    the caller's repeated request gets the same offer, while that is unsigned.

    Raises OffersOff, Hidden, AccountBlocked, AccountNotOnLedger, NftNotStored, NftGone; the errors of
    checks.require_possible(); TooManyOffers, OfferTooLow; TooManyPurchases, FeesSpent, OperatorNeeded;
    SignerFailed, NodesUnreachable, TransactionRefused; LedgerBusy, LedgerBehind, LedgerUndecided and the
    ledger's errors. Then nothing was created.
    """
    signer = checks.require_signer()
    require_all_shown(request.nft_ids)
    require_nfts(request.nft_ids)
    [nft_id] = request.nft_ids
    with mirror_turns.take(request.caller) as deadline:
        request = request._replace(account_id=find_account_id(request.account_id, deadline))
        require_not_blocked(request.account_id)
        present = find_present(deadline)
        nft = checks.find_owned(nft_id, deadline)
        require_not_blocked(nft["owner"])
        sides = checks.require_possible(nft, request.account_id, wanted.price, deadline)
        known = _find_known(read(), request, wanted, sides, 0)
        made = known and _find_created(known, request, wanted, deadline)
        if made and made["state"] == "unsigned":
            return _answer(request, made)
        admin_keys = _list_admin_keys(sides)
        fee = mirror_node().find_price(KEY_CENTS * _count(admin_keys) + SPARE_CENTS, deadline)
    row, is_new = _reserve(request, wanted, sides, present, fee)
    if row["signed"] or is_new or submission.is_left(row):
        build = partial(_build, row=row, sides=sides, wanted=wanted, admin_keys=admin_keys)
        submission.hand_over(Paid("createSchedule", row, build, signer, sides.payer))
    look = partial(_find_created, row, request, wanted)
    offer = submission.wait_for(request.caller, look)
    return _answer(request, offer) if offer else None


def _find_known(
    db: Connection, request: TransactionRequest, wanted: Wanted, sides: Sides, shown_to: int
) -> PreparedNftRow | None:
    """Find an equal request's offer that is not signed yet.

    ``shown_to``: a transaction that expired by then is on the mirror node, or never will be.
    """
    since = times.to_iso(times.now() - UNSIGNED_SECONDS * times.SECOND)
    rows = prepared_transactions.list_own_offers(db, request.columns(), *request.nft_ids[0], since)
    for row in rows:
        is_same = (row["price"], row["seller"]) == (wanted.price, sides.nft["owner"])
        if not is_same or _count_days(row) != wanted.days:
            continue
        offer = offers.get_offer_of_transaction(db, row["transaction_id"])
        has_failed = row["is_settled"] == 1 and not row["is_sold"]
        is_lost = offer is None and row["expires_at"] < times.to_iso(shown_to)
        if not has_failed and not is_lost and (offer is None or offer["state"] == "unsigned"):
            return row
    return None


def _count_days(row: PreparedTransactionRow) -> int:
    """An offer's days until its schedule expires, rounded up: the schedule ends some seconds early."""
    start = TransactionId.require(row["transaction_id"]).valid_start
    return -(-(times.to_nanoseconds(row["schedule_expires_at"] or "") - start) // times.DAY)


def _reserve(
    request: TransactionRequest, wanted: Wanted, sides: Sides, present: int, fee: int
) -> tuple[PreparedTransactionRow, bool]:
    """Return an equal request's row, or insert one that reserves the fee; and whether the row is new."""
    now, market, [nft_id] = times.now(), current_app.config["ACCOUNT_ID"], request.nft_ids
    start = min(present, now - START_BEFORE_NOW)
    memo = offer_memo(*nft_id, wanted.price, current_app.config["NAME"])
    draft = Draft("offer", market, memo, now, start, VALID_SECONDS, fee)
    sold = PreparedNft(*nft_id, wanted.price, sides.nft["owner"])
    with write() as db:
        prepared_transactions.lock_purchases(db, sides.payer.balance)
        if known := _find_known(db, request, wanted, sides, present - ALLOWED_LAG):
            return known, False
        _require_few(db, request, wanted, now)
        fee_budget.require_room(db, request, fee, sides.payer.balance)
        taken = prepared_transactions.list_expiries(db, request.account_id, *nft_id)
        expires_at = _find_free(start // times.SECOND + wanted.days * DAY_SECONDS, taken)
        draft = draft._replace(schedule_expires_at=expires_at)
        return insert(db, request, [sold], draft), True


def _find_free(second: int, taken: set[str]) -> int:
    """The last free expiry up to a second: the network refuses two equal schedules with the same expiry."""
    while times.to_iso(second * times.SECOND) in taken:
        second -= 1
    return second * times.SECOND


def _require_few(db: Connection, request: TransactionRequest, wanted: Wanted, now: int) -> None:
    """Raise TooManyOffers or OfferTooLow if bidder, caller or NFT have many offers.

    Anybody may ask for an offer in a bidder's name. So only the caller's own unsigned offers count.
    """
    [nft_id], by = request.nft_ids, (request.caller.token, request.caller.end_user)
    moments = times.to_iso(now), times.to_iso(now - UNSIGNED_SECONDS * times.SECOND)
    if sum(offers.count_of_caller(db, *by, *moments)) >= MOST_OF_CALLER:
        raise TooManyOffers("An end user", MOST_OF_CALLER)
    _, unsigned = offers.count_of_caller(db, *by, *moments, request.account_id)
    if offers.count_of_bidder(db, request.account_id, moments[0]) + unsigned >= MOST_OF_BIDDER:
        raise TooManyOffers(request.account_id, MOST_OF_BIDDER)
    lowest = offers.get_open_price(db, *nft_id, MOST_OF_NFT, moments[0])
    if lowest is not None and wanted.price <= lowest:
        raise OfferTooLow(*nft_id, MOST_OF_NFT, lowest)


def _build(
    node: str,
    *,
    row: PreparedTransactionRow,
    sides: Sides,
    wanted: Wanted,
    admin_keys: "list[Key]",
) -> bytes:
    """Build the schedule's creation, for a node."""
    from marketplace.hedera.scheduled_sale import ScheduledSale
    from marketplace.hedera.transactions import build_offer

    settings, price = current_app.config, wanted.price
    sale = ScheduledSale(
        sides.nft["token"],
        sides.nft["serial_no"],
        sides.nft["owner"],
        row["account_id"],
        price,
        price * TINYBARS - find_credit(price, settings["SALE_FEE_BASIS_POINTS"]),
        settings["ACCOUNT_ID"],
        row["memo"],
        purchase_fees.max_fee(1),
    )
    return build_offer(
        sale=sale,
        expires_at=times.to_nanoseconds(row["schedule_expires_at"] or "") // times.SECOND,
        admin_keys=admin_keys,
        **submission.find_envelope(row, node),
    )


def _list_admin_keys(sides: Sides) -> "list[Key]":
    """The keys that can each delete the schedule: the marketplace's, and the bidder's.

    Leaves out a bidder whose key is unknown, or who has many keys, since the network charges for each. In the
    sandbox, an account without a key uses the demo wallet's.
    """
    from marketplace.hedera import messages

    public_keys = checks.list_market_keys(sides.payer)
    if not public_keys:
        raise SignerFailed("the key of the marketplace's account is not known yet")
    keys = [*map(messages.public_key, public_keys)]
    bidder = _find_key(sides.bidder)
    if bidder and messages.count_keys(key := messages.key(*bidder)) <= MOST_KEYS:
        keys.append(key)
    return keys


def _find_key(account: LedgerAccount) -> LedgerKey | None:
    sandbox = services().sandbox
    if account.key is None and sandbox:
        return LedgerKey("ED25519", sandbox.find_key(account.id))
    return account.key


def _count(keys: "list[Key]") -> int:
    from marketplace.hedera import messages

    return sum(map(messages.count_keys, keys))


def _find_created(
    row: PreparedTransactionRow, request: TransactionRequest, wanted: Wanted, deadline: Deadline
) -> OfferRow | None:
    """Find the created schedule, and require that it is this offer. None: it is not shown yet.

    Raises TransactionRefused if no schedule was created, LedgerAnswerInvalid if the offer differs.
    """
    transaction_id = TransactionId.require(row["transaction_id"])
    rows = mirror_node().list_transactions(transaction_id, deadline)
    created = [each for each in rows if each.name == CREATION and each.is_original]
    if not created:
        return None
    purchase_fees.note_charged(row["transaction_id"], rows)
    success = next((each for each in created if each.result == "SUCCESS"), None)
    if success is None:
        raise TransactionRefused(row["transaction_id"], "offer", created[0].result)
    if success.entity_id is None:
        raise LedgerAnswerInvalid(f"/transactions/{transaction_id.dashed}: it has no entity_id")
    offer = reconcile_offers([success.entity_id], deadline)[success.entity_id]
    made = row["transaction_id"], request.account_id, *request.nft_ids[0], wanted.price
    if offer and _compared(offer) != made:
        raise LedgerAnswerInvalid(f"/schedules/{success.entity_id}: it is another offer")
    return offer


def _compared(offer: OfferRow) -> tuple[str, str, str, int, int]:
    sold = offer["token"], offer["serial_no"], offer["price"]
    return offer["transaction_id"], offer["bidder"], *sold


def _answer(request: TransactionRequest, offer: OfferRow) -> PreparedTransaction:
    """Prepare the bidder's signature."""
    from marketplace.hedera.transactions import build_offer_signature

    memo = offer_memo(
        offer["token"], offer["serial_no"], offer["price"], current_app.config["NAME"]
    )
    return prepare_for_offer("offer_signature", request, offer, memo, build_offer_signature)
