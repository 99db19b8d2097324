"""Prepared transactions and their reports: bodies and responses."""

from typing import Any

from flask import current_app
from marshmallow import Schema, ValidationError, fields, post_load, validates_schema

from marketplace.api.fields import (
    Base64,
    Base64Bytes,
    CamelCaseSchema,
    EntityId,
    Milliseconds,
    NftObjects,
    TransactionIdField,
    WholeNumber,
)
from marketplace.api.schemas.common import (
    DATE_EXAMPLE,
    Form,
    NftsSchema,
    RequestSchema,
    account_name_field,
    expected_price_field,
    moment,
    serial_no_field,
    serial_nos_field,
    show,
    text,
    token_field,
    word,
)
from marketplace.api.schemas.nfts import AddNftSchema
from marketplace.hedera.ids import MAX_HBAR, MAX_NFT_TRANSFERS
from marketplace.settings import NETWORKS


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

    dump = Schema.dump

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


class SigningMetadataSchema(CamelCaseSchema):
    """Instructions for the wallet."""

    account_id = text("The account that must sign the transaction", "0.0.1001", key="accountToSign")
    return_transaction = show(
        fields.Boolean,
        "Whether the wallet must return the transaction. false: the wallet submits the transaction itself",
        False,
    )
    transaction_id = text("The transaction's ID", "0.0.1001@1763640000.123456789")
    expires_at = moment("The time in UTC until which the transaction can be submitted")
    network = word("The Hedera network on which the transaction is valid", "sandbox", [*NETWORKS])


class PreparedTransactionSchema(CamelCaseSchema):
    """A transaction to be signed."""

    transaction = show(
        Base64,
        "The transaction, not yet signed by accountToSign: a HAPI TransactionList in base64",
        "CkEqPwo7Cg8KCAiA98TVBhAFEgMY6Qc...",
        key="byteArray",
    )
    metadata = fields.Nested(SigningMetadataSchema, required=True)

    def dump(self, obj: Any, *, many: bool | None = None) -> Any:
        """Dump a PreparedTransaction of market/prepared.py."""
        network = current_app.config["NETWORK"]
        metadata = vars(obj) | {"expires_at": obj.expires_at, "network": network}
        return super().dump({"transaction": obj.transaction, "metadata": metadata})


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
