"""Listing, withdrawing and buying an NFT: prepare a transaction, and report that it was signed."""

from typing import Any

from marketplace import errors
from marketplace.api.authentication import make_request, require_scope
from marketplace.api.errors import Answer, answer_marketplace_error
from marketplace.api.http import Blueprint
from marketplace.api.paging import documented
from marketplace.api.schemas.common import WalletPathSchema
from marketplace.api.schemas.listings import (
    PreparedListingSchema,
    PreparedTransactionSchema,
    PrepareListingSchema,
    PreparePurchaseSchema,
    PrepareWithdrawalSchema,
    ReportResultSchema,
    ReportTransactionSchema,
)
from marketplace.api.schemas.offers import PreparedOfferSchema
from marketplace.hedera.ids import NftId
from marketplace.market import listing, report
from marketplace.market.buying import purchase
from marketplace.market.prepared import PreparedTransaction

OF_A_WALLET = (errors.NftNotStored, errors.NotFound)
OF_MODERATION = (errors.Hidden, errors.AccountBlocked)
OF_THE_OWNER = (*OF_A_WALLET, errors.NftGone, errors.NotTheOwner)

OF_A_PURCHASE = (
    *OF_MODERATION,
    errors.LedgerUndecided,
    errors.PriceChanged,
    errors.NotListed,
    errors.BuyerIsOwner,
    errors.AccountIsMarketplace,
    errors.BuyerBalanceTooLow,
    errors.BuyerNotAssociated,
    errors.CollectionsMixed,
    errors.PurchaseImpossible,
    errors.NothingLeftForSeller,
    errors.FeesChangeable,
    errors.FeesChanged,
    errors.FeesInTokens,
    errors.PurchaseInProgress,
    errors.TooManyFailed,
    errors.BuyingOff,
    errors.BuyingPaused,
)

RETRY_AFTER_SECONDS = 3  # about the delay of mirror nodes

blp = Blueprint("Listings", __name__, description="Listing, withdrawing and buying an NFT")


@blp.post("/list/<wallet>")
@require_scope("write")
@blp.arguments(WalletPathSchema, location="path")
@blp.arguments(PrepareListingSchema)
@blp.response(200, PreparedListingSchema, description="The transaction to sign")
@blp.refuses(
    *OF_THE_OWNER,
    errors.AccountIsMarketplace,
    *OF_MODERATION,
    errors.FeesChangeable,
    errors.FeesInTokens,
    errors.NothingLeftForSeller,
)
def prepare_listing(
    account_id: str, nft_ids: list[NftId], listing_price: int
) -> PreparedTransaction:
    """Prepare a listing

    The transaction is an NFT allowance of exactly this serial number, from its owner to the marketplace's
    account. It is unsigned, paid by the owner, and valid for three minutes. The wallet signs and submits it:
    byteArray is the base64 of a HAPI TransactionList, which an SDK's Transaction.fromBytes() reads after
    decoding. You can prepare another listing at any time, also at another price. Send serialNos instead of
    serialNo to list up to 20 NFTs, each at this price. This costs the owner no more than one listing.
    """
    return listing.prepare_listing(make_request(account_id, nft_ids), listing_price)


@blp.post("/delist/<wallet>")
@require_scope("write")
@blp.arguments(WalletPathSchema, location="path")
@blp.arguments(PrepareWithdrawalSchema)
@blp.response(200, PreparedTransactionSchema, description="The transaction to sign")
@blp.refuses(*OF_THE_OWNER, errors.NotListed, errors.LedgerUndecided)
def prepare_withdrawal(account_id: str, nft_ids: list[NftId]) -> PreparedTransaction:
    """Prepare a withdrawal

    The transaction deletes the allowance of exactly this serial number, or of each of serialNos. It is
    unsigned and paid by the owner; the wallet signs and submits it. The NFT leaves the order book once the
    ledger shows the withdrawal, reported or not. If the owner has also approved all NFTs of the token, a
    purchase signed within the last minute may still succeed. If the ledger does not answer, the stored owner
    still gets the transaction.
    """
    return listing.prepare_withdrawal(make_request(account_id, nft_ids))


@blp.post("/buy/<wallet>")
@require_scope("write")
@blp.arguments(WalletPathSchema, location="path")
@blp.arguments(PreparePurchaseSchema)
@blp.response(200, PreparedTransactionSchema, description="The transaction to sign")
@blp.refuses(
    errors.NftNotStored,
    errors.NotFound,
    *OF_A_PURCHASE,
)
def prepare_purchase(
    account_id: str, nft_ids: list[NftId], expected_prices: dict[NftId, int]
) -> PreparedTransaction:
    """Prepare a purchase

    The transaction is one atomic transfer: the NFT goes from its owner to the buyer, and the price from the
    buyer to the owner, minus the marketplace's fee. It is unsigned, and valid for three minutes. The buyer's
    wallet signs it unchanged and returns it (returnTransaction): hand it in with POST /v1/comingsoon. Only
    then does the marketplace sign and submit it, and pay the network fee. Send as expectedPrice the price
    that the buyer saw. The service checks the price and the buyer's balance and association first, and
    reserves nothing. Send nfts instead of tokenId and serialNo to buy up to 10 NFTs, all or none; from one
    seller, only NFTs of one collection.
    """
    return purchase.prepare(make_request(account_id, nft_ids), expected_prices)


@blp.post("/comingsoon")
@require_scope("write")
@blp.arguments(ReportTransactionSchema)
@blp.response(
    200, ReportResultSchema, description="The ledger shows it, and the order book is up to date"
)
@blp.alt_response(
    202,
    schema=ReportResultSchema,
    example={"result": "PENDING", "expiresAt": "2026-11-20T12:37:54.789Z"},
    headers=documented("Retry-After", "Seconds", "integer"),
    description="The ledger does not show it yet: report again",
    success=True,
)
@blp.refuses(
    errors.NftNotStored,
    errors.NotPrepared,
    errors.TransactionExpired,
    errors.TransactionRefused,
    errors.ReportOutdated,
    errors.OfferUnknown,
    errors.OfferEnded,
    errors.OfferNotExecuted,
    errors.NeitherBidderNorOwner,
    *OF_A_PURCHASE,
    errors.NotAsPrepared,
    errors.SignatureInvalid,
)
def report_transaction(
    account_id: str,
    nft_ids: list[NftId],
    transaction_id: str | None = None,
    offer_id: str | None = None,
    signed_transaction: bytes = b"",
    signature_map: bytes = b"",
) -> dict[str, Any] | tuple[dict[str, Any], int, dict[str, str]]:
    """Hand in or report a signed transaction

    With signedTransaction: hand in what the wallet signed. The marketplace compares a purchase with the
    listing, verifies the signature, signs and submits it. Anything else is submitted if it is, byte for
    byte, what was prepared here. If an answer is lost, send the same again: the network takes a transaction
    once. Without it: report a listing, a withdrawal, a purchase or an
    offer. The ledger decides, not the report: once it shows the approval, the NFT is listed at the price
    that its owner signed, whatever ID the wallet gave the transaction. You can repeat a report. If the
    ledger refused the transaction, the error has its result code. Without transactionId, the report is
    about the newest transaction that this caller prepared for the account and the NFT. A 200 then means
    only that the NFT is listed: send transactionId to report a new price. With serialNos or nfts, the
    report is about several NFTs: 200 once the ledger shows all of them. A new offer's OK has its offerId.
    With offerId, the report is about this offer: 200 once it is accepted or withdrawn; 409
    OFFER_NOT_EXECUTED if the owner accepted it a minute ago and nothing was sold, with the withdrawal
    prepared. A listing's OK has the listingPrice in force. PENDING has expiresAt: a transaction that was not
    submitted by then never will be. If the wallet refused to sign, stop reporting.
    """
    request = make_request(account_id, nft_ids)
    if signed_transaction:
        answer = report.hand_in(request, signed_transaction, signature_map)
    else:
        answer = report.answer(request, transaction_id, offer_id)
    if answer.is_pending:
        body = {"result": "PENDING", "expires_at": answer.expires_at}
        return body, 202, {"Retry-After": str(RETRY_AFTER_SECONDS)}
    effect = {"listing_price": answer.listing_price, "offer_id": answer.offer_id}
    return {"result": "OK"} | {name: value for name, value in effect.items() if value}


@blp.errorhandler(errors.OfferNotExecuted)
def answer_not_executed(error: errors.OfferNotExecuted) -> Answer:
    """Show the withdrawal in the error, as the answer to withdrawoffer has it."""
    error.errors = {"withdrawal": PreparedOfferSchema().dump(error.withdrawal)}
    return answer_marketplace_error(error)
