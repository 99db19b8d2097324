"""Listing, withdrawing and buying an NFT: prepare a transaction, and report that it was signed."""

from typing import Any

from marshmallow import Schema, ValidationError, fields, post_load, validates_schema

from marketplace import errors
from marketplace.api.authentication import make_request, require_scope
from marketplace.api.errors import Answer, answer_marketplace_error
from marketplace.api.fields import (
    Base64Bytes,
    CamelCaseSchema,
    EntityId,
    Milliseconds,
    NftObjects,
    TransactionIdField,
    WholeNumber,
)
from marketplace.api.http import Blueprint
from marketplace.api.nfts import AddNftSchema
from marketplace.api.paging import documented
from marketplace.api.schemas import (
    DATE_EXAMPLE,
    Form,
    NftsSchema,
    PreparedOfferSchema,
    PreparedTransactionSchema,
    RequestSchema,
    SigningMetadataSchema,
    WalletPathSchema,
    account_name_field,
    serial_no_field,
    serial_nos_field,
    show,
    token_field,
    word,
)
from marketplace.hedera.ids import MAX_HBAR, MAX_NFT_TRANSFERS, NftId
from marketplace.market import listing, report
from marketplace.market.buying import purchase
from marketplace.market.prepared import PreparedTransaction
from marketplace.market.report_rule import ReportAnswer

OF_A_WALLET = (errors.NftNotStored, errors.NotFound)
OF_MODERATION = (errors.Hidden, errors.AccountBlocked)
OF_THE_OWNER = (*OF_A_WALLET, errors.NftGone, errors.NotTheOwner)
# Of a listing's purchase, and of an offer.
OF_A_SALE = (
    *OF_MODERATION,
    errors.BuyerIsOwner,
    errors.AccountIsMarketplace,
    errors.BuyerBalanceTooLow,
    errors.BuyerNotAssociated,
    errors.PurchaseImpossible,
    errors.NothingLeftForSeller,
    errors.FeesChangeable,
    errors.FeesInTokens,
    errors.LedgerUndecided,
)
OF_A_PURCHASE = (
    errors.PriceChanged,
    errors.NotListed,
    *OF_A_SALE,
    errors.CollectionsMixed,
    errors.FeesChanged,
    errors.PurchaseInProgress,
    errors.TooManyFailed,
    errors.BuyingOff,
    errors.BuyingPaused,
)
RETRY_AFTER_SECONDS = 3  # about the delay of mirror nodes


def expected_price_field() -> WholeNumber:
    return WholeNumber(
        "The price in HBAR that the buyer saw. If the price has changed, the purchase is refused",
        60,
        high=MAX_HBAR,
    )


class PrepareListingSchema(AddNftSchema):
    forms = (Form("PrepareListing", "serial_no"), Form("PrepareListings", "serial_nos"))
    account_id = account_name_field("The account that lists the NFTs and signs")
    listing_price = WholeNumber("Price of each NFT in HBAR", 250, high=MAX_HBAR, required=True)


class PrepareWithdrawalSchema(AddNftSchema):
    forms = (Form("PrepareWithdrawal", "serial_no"), Form("PrepareWithdrawals", "serial_nos"))
    account_id = account_name_field("The account that withdraws the NFTs and signs")
    # Not the NFT in the example of a report: a report without id is about the newest transaction.
    serial_no = serial_no_field(example=19, required=False)
    serial_nos = serial_nos_field(example=(19, 20))


class NftToReportSchema(RequestSchema):
    token = token_field()
    serial_no = serial_no_field()


class NftToBuySchema(NftToReportSchema):
    expected_price = expected_price_field()


class PreparePurchaseSchema(NftsSchema):
    """It is loaded with ``expected_prices``, too: those that the buyer saw."""

    forms = (
        Form("PreparePurchase", "serial_no", required=("token",), optional=("expected_price",)),
        Form("PrepareBasket", "nfts"),
    )
    instead = {"serialNos": "nfts"}
    account_id = account_name_field("The account that buys the NFTs and signs", "0.0.1002")
    token = token_field(required=False)
    serial_no = serial_no_field(required=False)
    expected_price = expected_price_field()
    nfts = NftObjects(
        NftToBuySchema,
        f"Up to {MAX_NFT_TRANSFERS} NFTs; from one seller, only NFTs of one token",
        most=MAX_NFT_TRANSFERS,
    )

    @post_load
    def name_nfts(self, loaded: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        prices = [nft.get("expected_price") for nft in loaded.get("nfts", [loaded])]
        loaded.pop("expected_price", None)
        loaded = super().name_nfts(loaded)
        pairs = zip(loaded["nft_ids"], prices, strict=True)
        return loaded | {"expected_prices": {nft_id: price for nft_id, price in pairs if price}}


class ReportTransactionSchema(NftsSchema):
    forms = (
        Form("ReportTransaction", "serial_no", required=("token",)),
        Form("ReportNfts", "serial_nos", required=("token",)),
        Form("ReportBasket", "nfts"),
        Form("ReportOffer", "offer_id", is_of_several=False),
    )
    account_id = account_name_field(
        "The account that signed the transaction: the owner or the buyer"
    )
    token = token_field(required=False)
    serial_no = serial_no_field(required=False)
    serial_nos = serial_nos_field()
    nfts = NftObjects(
        NftToReportSchema,
        f"The NFTs that were bought, up to {MAX_NFT_TRANSFERS}",
        most=MAX_NFT_TRANSFERS,
    )
    offer_id = EntityId("The offer that was accepted or withdrawn", "0.0.8001")
    transaction_id = TransactionIdField(
        "The signed transaction's ID. Without it, the newest one prepared for this account and each NFT",
        "0.0.1001@1763640000.123456789",
        allow_none=True,
    )
    signed_transaction = Base64Bytes(
        "What the wallet returned, to be submitted: a HAPI TransactionList or Transaction in base64. With"
        " signatureMap: the unchanged byteArray"
    )
    signature_map = Base64Bytes("The HAPI SignatureMap that the wallet returned, in base64")
    instead = {"byteArray": "signedTransaction"}

    @validates_schema
    def require_transaction(self, report: dict[str, Any], **kwargs: Any) -> None:
        """Raise ValidationError for signatures of nothing."""
        if "signature_map" in report and "signed_transaction" not in report:
            raise ValidationError("is required with signatureMap", "signedTransaction")


class ReportResultSchema(CamelCaseSchema):
    """The result of reporting a transaction. Fields that don't apply are missing."""

    result = word("OK once the ledger shows the transaction", "OK", ["OK", "PENDING"])
    listing_price = fields.Integer(
        metadata={
            "description": "For a listing that is OK: the price of each NFT in HBAR, as the ledger has it",
            "example": 250,
            "format": "int64",
        }
    )
    offer_id = fields.String(
        metadata={"description": "For an offer that is OK: its ID", "example": "0.0.8001"}
    )
    expires_at = Milliseconds(
        allow_none=True,
        metadata={
            "description": "While PENDING: the time in UTC until which the transaction can be submitted",
            "example": DATE_EXAMPLE,
            "format": "date-time",
        },
    )

    def dump(self, obj: Any, *, many: bool | None = None) -> Any:
        """Dump a ReportAnswer of market/report_rule.py."""
        if obj.is_pending:
            return Schema.dump(self, {"result": "PENDING", "expires_at": obj.expires_at})
        effect = {"listing_price": obj.listing_price, "offer_id": obj.offer_id}
        known = {name: value for name, value in effect.items() if value}
        return Schema.dump(self, {"result": "OK"} | known)


class ListingMetadataSchema(SigningMetadataSchema):
    seller_receives = show(
        fields.String,
        "What the seller receives for each NFT in tinybars: the price without the marketplace's part and the"
        " collection's royalties and fees. null if the ledger did not answer",
        "24250000000",
        nullable=True,
    )


class PreparedListingSchema(PreparedTransactionSchema):
    metadata = fields.Nested(ListingMetadataSchema, required=True)


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
) -> ReportAnswer | tuple[ReportAnswer, int, dict[str, str]]:
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
        answer = report.hand_in(request, signed_transaction, signature_map, offer_id)
    else:
        answer = report.answer(request, transaction_id, offer_id)
    if answer.is_pending:
        return answer, 202, {"Retry-After": str(RETRY_AFTER_SECONDS)}
    return answer


@blp.errorhandler(errors.OfferNotExecuted)
def answer_not_executed(error: errors.OfferNotExecuted) -> Answer:
    """Show the withdrawal in the error, as the answer to withdrawoffer has it."""
    error.errors = {"withdrawal": PreparedOfferSchema().dump(error.withdrawal)}
    return answer_marketplace_error(error)
