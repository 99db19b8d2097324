"""Listing an NFT: the transaction to sign, and the report that it was signed."""

import base64

from flask import current_app

from marketplace.api.authentication import require_scope
from marketplace.api.blueprint import Blueprint
from marketplace.api.schemas import (
    ListingTransactionSchema,
    PrepareSchema,
    ReportSchema,
    ResultSchema,
    WalletPathSchema,
)
from marketplace.errors import WalletUnknown
from marketplace.market import reports, sales

RETRY_AFTER_SECONDS = 3  # about what mirror nodes lag behind
RETRY_AFTER_HEADER = {"Retry-After": {"description": "Seconds", "schema": {"type": "integer"}}}

blp = Blueprint("Listings", __name__, description="Listing an NFT")


@blp.post("/list/<wallet>")
@require_scope("write")
@blp.path(WalletPathSchema)
@blp.body(PrepareSchema)
@blp.response(200, ListingTransactionSchema, description="The transaction to sign")
@blp.refuses(404, "0.0.5001 #999 is not stored: POST /v1/add it first")
@blp.refuses(409, "0.0.5001 #7 belongs to 0.0.1002, not to 0.0.1001")
def prepare_listing(wallet, **listing):
    """Prepare a listing transaction

    An NFT allowance of exactly this serial from its owner to the marketplace's account, unsigned, paid by
    the owner. The wallet signs and submits it: byteArray is base64 of a HAPI TransactionList, what
    Transaction.fromBytes() of the SDKs reads once decoded. It stays valid for three minutes (unless the
    operator set another time), and may be asked for again at any time, for another price too.
    """
    if wallet not in current_app.config["WALLETS"]:
        raise WalletUnknown(wallet, current_app.config["WALLETS"])
    prepared = sales.prepare(wallet=wallet, **listing)
    return prepared._asdict() | {"transaction": base64.b64encode(prepared.transaction).decode()}


@blp.post("/comingsoon")
@require_scope("write")
@blp.body(ReportSchema)
@blp.response(
    200, ResultSchema, description="The ledger shows the listing: it is in the order book"
)
@blp.alt_response(
    202,
    schema=ResultSchema,
    example={"result": "PENDING"},
    headers=RETRY_AFTER_HEADER,
    description="The ledger does not show it yet: report again",
    success=True,
)
@blp.refuses(404, "No listing was prepared here for 0.0.1001 and 0.0.5001 #7")
@blp.refuses(
    409, "0.0.1001@1763640000.123456789 did not list the NFT: the ledger says INVALID_TOKEN_ID"
)
def report_listing(**report):
    """Report that a listing was signed

    The ledger decides, not the report: when it shows the approval, the NFT is listed at the price that its
    owner signed, whichever id the wallet gave the transaction. May be repeated. A refusal carries the
    ledger's own result code. Without transactionId, 200 says that the NFT is listed: name the transaction to
    report a new price.
    """
    if reports.answer(**report):
        return {"result": "OK"}
    return {"result": "PENDING"}, 202, {"Retry-After": str(RETRY_AFTER_SECONDS)}
