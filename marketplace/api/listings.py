"""Listing, withdrawing and buying an NFT: prepare a transaction, and report that it was signed."""

from typing import Any

from marketplace.api.authentication import caller, require_scope
from marketplace.api.blueprint import Blueprint
from marketplace.api.paging import documented
from marketplace.api.request_schemas import (
    PrepareListingSchema,
    PreparePurchaseSchema,
    PrepareWithdrawalSchema,
    ReportTransactionSchema,
    WalletPathSchema,
)
from marketplace.api.response_schemas import PreparedTransactionSchema, ResultSchema
from marketplace.errors import (
    BuyingOff,
    NftNotStored,
    NotListed,
    NotPrepared,
    NotTheOwner,
    PriceChanged,
    TransactionRefused,
)
from marketplace.market import listings, purchases, reports
from marketplace.market.prepare import Ask, PreparedTransaction

Answer = dict[str, Any]

RETRY_AFTER_SECONDS = 3  # about the delay of mirror nodes

blp = Blueprint("Listings", __name__, description="Listing, withdrawing and buying an NFT")


@blp.post("/list/<wallet>")
@require_scope("write")
@blp.path(WalletPathSchema)
@blp.body(PrepareListingSchema)
@blp.response(200, PreparedTransactionSchema, description="The transaction to sign")
@blp.refuses(NftNotStored("0.0.5001", 999))
@blp.refuses(NotTheOwner("0.0.1001", "0.0.5001", 7, "0.0.1002"))
def prepare_listing(listing_price: int, **listing: Any) -> Answer:
    """Prepare a listing transaction

    It is an NFT allowance of exactly this serial from its owner to the marketplace's account, unsigned and
    paid by the owner. The wallet signs and submits it: byteArray is base64 of a HAPI TransactionList, which
    Transaction.fromBytes() of the SDKs reads after decoding. It is valid for three minutes. You may prepare
    another one at any time, also with another price.
    """
    return _answer(listings.prepare_listing(Ask(**listing, caller=caller()), listing_price))


@blp.post("/delist/<wallet>")
@require_scope("write")
@blp.path(WalletPathSchema)
@blp.body(PrepareWithdrawalSchema)
@blp.response(200, PreparedTransactionSchema, description="The transaction to sign")
@blp.refuses(NftNotStored("0.0.5001", 999))
@blp.refuses(NotListed("0.0.5001", 7))
def prepare_withdrawal(**withdrawal: Any) -> Answer:
    """Prepare a transaction that withdraws a listing

    It deletes the allowance of exactly this serial, unsigned and paid by the owner; the wallet signs and
    submits it like a listing. The NFT leaves the order book once the ledger shows the withdrawal, reported
    or not. It ends only the approval of this serial: if the owner has also approved all NFTs of the token, a
    purchase signed within the last minute may still succeed. If the ledger can not be reached, the stored
    owner still gets the transaction.
    """
    return _answer(listings.prepare_withdrawal(Ask(**withdrawal, caller=caller())))


@blp.post("/buy/<wallet>")
@require_scope("write")
@blp.path(WalletPathSchema)
@blp.body(PreparePurchaseSchema)
@blp.response(200, PreparedTransactionSchema, description="The transaction to sign")
@blp.refuses(NftNotStored("0.0.5001", 999))
@blp.refuses(PriceChanged("0.0.5001", 7, 250, 300))
@blp.refuses(BuyingOff(has_signer=False))
def prepare_purchase(**purchase: Any) -> Answer:
    """Prepare a purchase

    It is one atomic transfer: the NFT from its owner to the buyer, and its price from the buyer to the owner,
    minus the marketplace's fee. The marketplace has signed it, and pays for it. The buyer's wallet adds its
    signature (it must not freeze the transaction again) and submits it within a minute. The service first
    checks the price (send expectedPrice, the price that the buyer saw), the buyer's balance and association.
    The same request again returns the same transaction, until its last 15 seconds. Each caller has a share
    of the marketplace's budget for fees (429): sign and submit what you ask for.
    """
    return _answer(purchases.prepare(Ask(**purchase, caller=caller())))


def _answer(prepared: PreparedTransaction) -> Answer:
    metadata = {"account_id": prepared.account_id, "return_transaction": False}
    return {"transaction": prepared.transaction, "metadata": metadata}


@blp.post("/comingsoon")
@require_scope("write")
@blp.body(ReportTransactionSchema)
@blp.response(200, ResultSchema, description="The ledger shows it: the order book has followed")
@blp.alt_response(
    202,
    schema=ResultSchema,
    example={"result": "PENDING"},
    headers=documented("Retry-After", "Seconds", "integer"),
    description="The ledger does not show it yet: report again",
    success=True,
)
@blp.refuses(NotPrepared("0.0.1001", "0.0.5001", 7, None))
@blp.refuses(TransactionRefused("0.0.1001@1763640000.123456789", "listing", "INVALID_TOKEN_ID"))
def report_transaction(**report: Any) -> Answer | tuple[Answer, int, dict[str, str]]:
    """Report that a listing, a withdrawal or a purchase was signed

    The ledger decides, not the report. Once it shows the approval, the NFT is listed at the price that its
    owner signed, whatever id the wallet gave the transaction. The NFT leaves the order book when its owner
    withdraws it, or somebody buys it (up to a minute after a withdrawal, if the owner has also approved all
    NFTs of the token). You may repeat a report. A refusal has the ledger's own result code.
    Without transactionId, the report is about the newest transaction that this caller prepared for the
    account and the NFT. For a listing, 200 then says that the NFT is listed; send transactionId to report a
    new price.
    """
    if reports.answer(**report, caller=caller()):
        return {"result": "OK"}
    return {"result": "PENDING"}, 202, {"Retry-After": str(RETRY_AFTER_SECONDS)}
