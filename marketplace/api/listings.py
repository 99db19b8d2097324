"""Listing, withdrawing and buying an NFT: prepare a transaction, and report that it was signed."""

from decimal import Decimal
from typing import Any

from marketplace import errors
from marketplace.api.authentication import caller, require_scope
from marketplace.api.blueprint import Blueprint
from marketplace.api.error_reasons import OF_LEDGER
from marketplace.api.named_nfts import count_named_nfts
from marketplace.api.paging import documented
from marketplace.api.request_schemas import (
    PrepareBasketSchema,
    PrepareListingSchema,
    PrepareListingsSchema,
    PreparePurchaseSchema,
    PrepareWithdrawalSchema,
    PrepareWithdrawalsSchema,
    ReportBasketSchema,
    ReportNftsSchema,
    ReportTransactionSchema,
    WalletPathSchema,
)
from marketplace.api.response_schemas import PreparedTransactionSchema, ResultSchema
from marketplace.errors import NotListed, OwnerIsMarketplace
from marketplace.market import listings, purchases, reports
from marketplace.market.prepare import PreparedTransaction, TransactionRequest

Answer = dict[str, Any]

RETRY_AFTER_SECONDS = 3  # about the delay of mirror nodes

ID = "0.0.1001@1763640000.123456789"
NOT_STORED = errors.NftNotStored("0.0.5001", 999)
UNDECIDED = errors.LedgerUndecided("0.0.5001", 7, "it has just changed")
OF_WALLETS = (
    NOT_STORED,
    errors.WalletUnknown("fastwallet", ("extwallet",)),
    errors.LedgerBehind(130),
    *OF_LEDGER,
)
OF_LISTINGS = (
    *OF_WALLETS,
    errors.NftGone("0.0.5001", 999),
    errors.NotTheOwner("0.0.1001", "0.0.5001", 7, "0.0.1002"),
)
OF_PURCHASES = (
    *OF_WALLETS,
    UNDECIDED,
    errors.PriceChanged("0.0.5001", 7, 250, 300),
    NotListed("0.0.5001", 7),
    errors.BuyerIsOwner("0.0.1002", "0.0.5001", 7),
    errors.BuyerIsMarketplace("0.0.9001"),
    errors.BuyerBalanceTooLow("0.0.1002", Decimal(12), 250),
    errors.BuyerNotAssociated(
        "0.0.1002 is not associated with 0.0.5001: associate it first",
        "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT",
    ),
    errors.AssociationNotPaid("0.0.1002", "0.0.5001"),
    errors.CollectionsMixed("0.0.1001", "0.0.7001 #2"),
    errors.PurchaseImpossible("0.0.5001 is paused by its issuer", "TOKEN_IS_PAUSED"),
    errors.NothingLeftForSeller("0.0.5001", Decimal(260), Decimal(245)),
    errors.FeesChanged("0.0.5001"),
    errors.FeesInTokens("0.0.5001"),
    errors.TooManyPurchases("you", 90),
    errors.BuyingOff(has_signer=False),
    errors.ClockBehind(20),
    errors.BasketTooExpensive(10, Decimal("5.25"), Decimal(3)),
    errors.FeesSpent(90),
    errors.BudgetTooSmall(Decimal(13), Decimal(10)),
    errors.BalanceTooLow(Decimal(0)),
    errors.SignerFailed("no answer"),
)
OF_REPORTS = (
    NOT_STORED,
    *OF_LEDGER,
    errors.NotPrepared("0.0.1001", "0.0.5001", 7, None),
    errors.TransactionExpired(ID, "listing"),
    errors.TransactionRefused(ID, "purchase", "SPENDER_DOES_NOT_HAVE_ALLOWANCE"),
    errors.TransactionAltered(ID, "listing", "CRYPTOTRANSFER"),
    errors.ListingEnded("0.0.5001", 7, "it belongs to 0.0.1002 now"),
    errors.WithdrawalEnded("0.0.5001", 7, "2026-11-20T12:34:56.789012345Z"),
)

blp = Blueprint("Listings", __name__, description="Listing, withdrawing and buying an NFT")


@blp.post("/list/<wallet>")
@require_scope("write")
@blp.path(WalletPathSchema)
@blp.body(PrepareListingSchema, PrepareListingsSchema)
@blp.response(200, PreparedTransactionSchema, description="The transaction to sign")
@blp.refuses(*OF_LISTINGS, OwnerIsMarketplace("0.0.9001"))
def prepare_listing(account_id: str, wallet: str, listing_price: int, **nfts: Any) -> Answer:
    """Prepare a listing transaction

    It is an NFT allowance of exactly this serial from its owner to the marketplace's account, unsigned and
    paid by the owner. With serialNos in place of serialNo, it lists up to 20 NFTs, each for the price, and
    costs the owner no more than one. The wallet signs and submits it: byteArray is base64 of a HAPI
    TransactionList, which Transaction.fromBytes() of the SDKs reads after decoding. It is valid for three
    minutes. You may prepare another one at any time, also with another price.
    """
    request = TransactionRequest(account_id, count_named_nfts(**nfts), wallet, caller())
    return _answer(listings.prepare_listing(request, listing_price))


@blp.post("/delist/<wallet>")
@require_scope("write")
@blp.path(WalletPathSchema)
@blp.body(PrepareWithdrawalSchema, PrepareWithdrawalsSchema)
@blp.response(200, PreparedTransactionSchema, description="The transaction to sign")
@blp.refuses(*OF_LISTINGS, NotListed("0.0.5001", 7), UNDECIDED)
def prepare_withdrawal(account_id: str, wallet: str, **nfts: Any) -> Answer:
    """Prepare a transaction that withdraws a listing

    It deletes the allowance of exactly this serial, or of each of serialNos, unsigned and paid by the owner;
    the wallet signs and submits it like a listing. The NFT leaves the order book once the ledger shows the
    withdrawal, reported or not. It ends only the approval of this serial: if the owner has also approved all
    NFTs of the token, a purchase signed within the last minute may still succeed. If the ledger can not be
    reached, the stored owner still gets the transaction.
    """
    request = TransactionRequest(account_id, count_named_nfts(**nfts), wallet, caller())
    return _answer(listings.prepare_withdrawal(request))


@blp.post("/buy/<wallet>")
@require_scope("write")
@blp.path(WalletPathSchema)
@blp.body(PreparePurchaseSchema, PrepareBasketSchema)
@blp.response(200, PreparedTransactionSchema, description="The transaction to sign")
@blp.refuses(*OF_PURCHASES)
def prepare_purchase(
    account_id: str, wallet: str, expected_price: int | None = None, **nfts: Any
) -> Answer:
    """Prepare a purchase

    It is one atomic transfer: the NFT from its owner to the buyer, and its price from the buyer to the owner,
    minus the marketplace's fee. With nfts in place of tokenId and serialNo, it buys up to 10 NFTs, all or
    none: from one seller only NFTs of one collection. The marketplace has signed it, and pays for it. The
    buyer's wallet adds its signature (it must not freeze the transaction again) and submits it within a
    minute. The service first checks the price (send expectedPrice, the price that the buyer saw), the buyer's
    balance and association.
    The same request again returns the same transaction, until its last 15 seconds. Each caller has a share
    of the marketplace's budget for fees (429): sign and submit what you ask for.
    """
    request = TransactionRequest(account_id, count_named_nfts(**nfts), wallet, caller())
    seen = nfts.get("nfts", [{"expected_price": expected_price}])
    expected = {
        nft_id: price
        for nft_id, nft in zip(request.nft_ids, seen, strict=True)
        if (price := nft.get("expected_price"))
    }
    return _answer(purchases.prepare(request, expected))


def _answer(prepared: PreparedTransaction) -> Answer:
    metadata = {"account_id": prepared.account_id, "return_transaction": False}
    return {"transaction": prepared.transaction, "metadata": metadata}


@blp.post("/comingsoon")
@require_scope("write")
@blp.body(ReportTransactionSchema, ReportNftsSchema, ReportBasketSchema)
@blp.response(200, ResultSchema, description="The ledger shows it: the order book has followed")
@blp.alt_response(
    202,
    schema=ResultSchema,
    example={"result": "PENDING"},
    headers=documented("Retry-After", "Seconds", "integer"),
    description="The ledger does not show it yet: report again",
    success=True,
)
@blp.refuses(*OF_REPORTS)
def report_transaction(
    account_id: str, transaction_id: str | None = None, **nfts: Any
) -> Answer | tuple[Answer, int, dict[str, str]]:
    """Report that a listing, a withdrawal or a purchase was signed

    The ledger decides, not the report. Once it shows the approval, the NFT is listed at the price that its
    owner signed, whatever id the wallet gave the transaction. The NFT leaves the order book when its owner
    withdraws it, or somebody buys it (up to a minute after a withdrawal, if the owner has also approved all
    NFTs of the token). You may repeat a report. A refusal has the ledger's own result code.
    Without transactionId, the report is about the newest transaction that this caller prepared for the
    account and the NFT. For a listing, 200 then says that the NFT is listed; send transactionId to report a
    new price. With serialNos or nfts, it is about several NFTs: 200 once all are as signed.
    """
    if reports.answer(account_id, count_named_nfts(**nfts), transaction_id, caller()):
        return {"result": "OK"}
    return {"result": "PENDING"}, 202, {"Retry-After": str(RETRY_AFTER_SECONDS)}
