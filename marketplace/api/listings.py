"""Listing, withdrawing and buying an NFT: the transaction to sign, and the report that it was signed."""

from typing import Any

from marketplace.api.authentication import caller, require_scope
from marketplace.api.blueprint import Blueprint
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

RETRY_AFTER_SECONDS = 3  # about what mirror nodes lag behind
RETRY_AFTER_HEADER = {"Retry-After": {"description": "Seconds", "schema": {"type": "integer"}}}

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

    An NFT allowance of exactly this serial from its owner to the marketplace's account, unsigned, paid by
    the owner. The wallet signs and submits it: byteArray is base64 of a HAPI TransactionList, what
    Transaction.fromBytes() of the SDKs reads once decoded. It stays valid for three minutes, and may
    be asked for again at any time, for another price too.
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

    Deletes the allowance of exactly this serial; unsigned, paid by the owner, and handed to the wallet as a
    listing is. The NFT leaves the order book once the ledger shows it, reported or not. It ends the approval
    of this serial. Where the owner also gave an approval for all of the token, a purchase signed within the
    last minute may still go through. While the ledger can not be asked, the stored owner gets it all the
    same.
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

    One atomic transfer: the NFT from its owner to the buyer, and its price from the buyer to the owner, less
    the marketplace's part. The marketplace has signed it, and pays for it; the buyer's wallet adds its
    signature (it must not freeze it anew) and submits it within a minute. The price (send expectedPrice, the
    one that was shown), the buyer's balance and association are checked before.
    The same request again is answered with the same transaction, until its last 15 seconds. Each caller
    has a share of what the marketplace pays in fees (429): sign and submit what you ask for.
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
    headers=RETRY_AFTER_HEADER,
    description="The ledger does not show it yet: report again",
    success=True,
)
@blp.refuses(NotPrepared("0.0.1001", "0.0.5001", 7, None))
@blp.refuses(TransactionRefused("0.0.1001@1763640000.123456789", "listing", "INVALID_TOKEN_ID"))
def report_transaction(**report: Any) -> Answer | tuple[Answer, int, dict[str, str]]:
    """Report that a listing, a withdrawal or a purchase was signed

    The ledger decides, not the report: when it shows the approval, the NFT is listed at the price that its
    owner signed, whichever id the wallet gave the transaction; it leaves the order book when its owner has
    withdrawn it, or somebody bought it (after a withdrawal, too, within a minute, where the owner also gave
    an approval for all). May be repeated. A refusal carries the ledger's own result code.
    Without transactionId it is about the newest transaction that this caller prepared for the account and the
    NFT, and no other: of a listing, 200 then says that the NFT is listed; name the transaction to report a
    new price.
    """
    if reports.answer(**report, caller=caller()):
        return {"result": "OK"}
    return {"result": "PENDING"}, 202, {"Retry-After": str(RETRY_AFTER_SECONDS)}
