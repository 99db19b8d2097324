"""The wire format: the only module that knows a field's name in a request or a response.

Inside names are the database's columns; wire names stand in data_key, in the contract's order.
"""

import re

from flask import current_app
from marshmallow import EXCLUDE, Schema, fields

from marketplace.errors import shown
from marketplace.ids import (
    ENTITY_ID,
    MAX_HBAR,
    MAX_INT64,
    TRANSACTION_ID,
    TransactionId,
    is_entity_id,
)

ORDERBOOK_LIMIT = 20
USER_LIMIT = 10
DIGITS = re.compile("0|[1-9][0-9]{0,18}")


def _example(description, example, **more):
    return {"description": description, "example": example, **more}


# Fields


class Strict:
    """A field whose refusals name the value and the way out."""

    default_error_messages = {
        "required": "is required",
        "null": "must not be null",
        "expected": "must be {expected}, not {value}",
    }
    expected = ""

    def refuse(self, value):
        raise self.make_error("expected", expected=self.expected, value=shown(value))


class EntityId(Strict, fields.String):
    """A token id or an account id. Contract, section 1."""

    expected = "three integers joined by dots, such as 0.0.1234"

    def __init__(self, description, example, **kwargs):
        metadata = _example(description, example, pattern=f"^{ENTITY_ID}$")
        super().__init__(required=True, metadata=metadata, **kwargs)

    def _deserialize(self, value, attr, data, **kwargs):
        if not isinstance(value, str) or not is_entity_id(value):
            self.refuse(value)
        return value


class WholeNumber(Strict, fields.Integer):
    """A JSON integer within bounds: not "1", 1.0 or true."""

    def __init__(self, description, example, *, low, high, **kwargs):
        metadata = _example(description, example, minimum=low, maximum=high, format="int64")
        super().__init__(metadata=metadata, **kwargs)

    @property
    def expected(self):
        return f"a whole number from {self.metadata['minimum']} to {self.maximum}"

    @property
    def maximum(self):
        return self.metadata["maximum"]

    def _deserialize(self, value, attr, data, **kwargs):
        if type(value) is not int or not self.metadata["minimum"] <= value <= self.maximum:
            self.refuse(value)
        return value


class Digits(WholeNumber):
    """A whole number within bounds, written in a path or a query: ASCII digits, no leading zero."""

    def _deserialize(self, value, attr, data, **kwargs):
        if not DIGITS.fullmatch(value):
            self.refuse(value)
        return super()._deserialize(int(value), attr, data, **kwargs)


class UserLimit(Digits):
    """How many listings of a user are wanted: the operator sets the maximum."""

    @property
    def maximum(self):
        return current_app.config["USER_LIMIT_MAX"]


class TransactionIdField(Strict, fields.String):
    """A transaction id as wallets or as mirror nodes write it; read into the wallets' form."""

    expected = "a transaction id, such as 0.0.1001@1763640000.123456789"

    def __init__(self, description, example, **kwargs):
        metadata = _example(description, example, pattern=f"^{TRANSACTION_ID}$")
        super().__init__(metadata=metadata, **kwargs)

    def _deserialize(self, value, attr, data, **kwargs):
        parsed = TransactionId.parse(value) if isinstance(value, str) else None
        if parsed is None:
            self.refuse(value)
        return str(parsed)


class Flag(fields.Boolean):
    """A 0 or 1 of the database."""

    def _serialize(self, value, attr, obj, **kwargs):
        return value == 1


class Milliseconds(fields.String):
    """A date of the database, cut from nanoseconds to 2026-11-20T12:34:56.789Z."""

    def _serialize(self, value, attr, obj, **kwargs):
        return None if value is None else f"{value[:23]}Z"


class MediaUrl(fields.String):
    """The absolute address of an image in our media store."""

    def _serialize(self, value, attr, obj, **kwargs):
        return current_app.extensions["media"].url(value)


def token_field():
    return EntityId("Token id of the collection", "0.0.5005", data_key="tokenId")


def serial_no_field(kind=WholeNumber):
    return kind(
        "Serial number of the NFT within the token",
        7,
        low=1,
        high=MAX_INT64,
        required=True,
        data_key="serialNo",
    )


def account_id_field(description):
    return EntityId(description, "0.0.1001", data_key="accountId")


# Requests


class RequestSchema(Schema):
    error_messages = {"type": "must be a JSON object"}

    class Meta:
        unknown = EXCLUDE


class NftPathSchema(RequestSchema):
    token = token_field()
    serial_no = serial_no_field(Digits)


class CollectionPathSchema(RequestSchema):
    token = token_field()


class AccountPathSchema(RequestSchema):
    account_id = account_id_field("Account whose listings are asked for")


class WalletPathSchema(RequestSchema):
    wallet = fields.String(
        required=True,
        metadata=_example("Name of the wallet that is to sign", "extwallet"),
    )


def offset_field():
    return Digits("Number of entries to skip", 0, low=0, high=MAX_INT64, load_default=0)


def page_field():
    return fields.String(
        load_default=None,
        metadata={
            "description": "Where a page begins, from the Link header of the page before; beats offset",
        },
    )


class OrderbookQuerySchema(RequestSchema):
    limit = Digits(
        "Number of NFTs wanted at most",
        ORDERBOOK_LIMIT,
        low=1,
        high=ORDERBOOK_LIMIT,
        load_default=ORDERBOOK_LIMIT,
    )
    offset = offset_field()
    page = page_field()


class UserQuerySchema(RequestSchema):
    limit = UserLimit(
        "Number of NFTs wanted at most; the operator sets the maximum (1000 unless told)",
        USER_LIMIT,
        low=1,
        high=MAX_INT64,
        load_default=USER_LIMIT,
    )
    offset = offset_field()
    page = page_field()


class AddSchema(RequestSchema):
    account_id = account_id_field("Account that wants to list the NFT")
    token = token_field()
    serial_no = serial_no_field()


class PrepareSchema(RequestSchema):
    account_id = account_id_field("Account that lists the NFT, and signs")
    token = token_field()
    serial_no = serial_no_field()
    listing_price = WholeNumber(
        "Price in HBAR", 250, low=1, high=MAX_HBAR, required=True, data_key="listingPrice"
    )


class ReportSchema(RequestSchema):
    account_id = account_id_field("Account that signed the listing")
    token = token_field()
    serial_no = serial_no_field()
    transaction_id = TransactionIdField(
        "The listing transaction; without it, the newest one prepared for this account and NFT",
        "0.0.1001@1763640000.123456789",
        data_key="transactionId",
        load_default=None,
    )


# Responses


class OwnerSchema(Schema):
    owner = fields.String(
        data_key="accountId",
        required=True,
        metadata=_example("Account id of the owner", "0.0.1001"),
    )


class NftSchema(Schema):
    """An NFT record. Contract, section 2.1."""

    token = fields.String(
        required=True, metadata=_example("Token id of the collection", "0.0.5005")
    )
    serial_no = fields.Integer(
        data_key="serialNo",
        required=True,
        metadata=_example("Serial number of the NFT within the token", 7, format="int64"),
    )
    name = fields.String(required=True, metadata=_example("Name of the NFT", "Tides #7"))
    file_type = fields.String(
        data_key="fileType", required=True, metadata=_example("MIME type of the image", "image/png")
    )
    is_for_sale = Flag(
        data_key="isForSale",
        required=True,
        metadata=_example("True when the NFT is listed for sale", True),
    )
    attributes = fields.String(
        data_key="stringifiedAttributes",
        required=True,
        allow_none=True,
        metadata=_example(
            "JSON text of an array of objects with the strings trait_type and value; null when the NFT"
            " has no attributes",
            '[{"trait_type":"Palette","value":"Dusk"}]',
        ),
    )
    image = MediaUrl(
        data_key="imageUrl",
        required=True,
        metadata=_example(
            "Address of the optimised image", "http://127.0.0.1:8000/media/5f2c.webp"
        ),
    )
    original_image_url = fields.String(
        data_key="originalImageUrl",
        required=True,
        allow_none=True,
        metadata=_example(
            "Address of the original image; null when it is not known",
            "http://127.0.0.1:8000/sandbox/ipfs/bafkqacbqfyyc4njqga2q/7.png",
        ),
    )
    listing_price = fields.Integer(
        data_key="listingPrice",
        required=True,
        metadata=_example("Price in HBAR while listed, otherwise 0", 250, format="int64"),
    )
    last_listed_at = Milliseconds(
        data_key="lastListedDate",
        required=True,
        allow_none=True,
        metadata=_example(
            "When the NFT was last listed (consensus time, UTC); null when not known",
            "2026-11-20T12:34:56.789Z",
            format="date-time",
        ),
    )
    owner = fields.Nested(
        OwnerSchema,
        required=True,
        metadata={"description": "The account that owns the NFT"},
    )

    def get_attribute(self, obj, attr, default):
        # The owner's object is a view of the same row.
        return obj if attr == "owner" else super().get_attribute(obj, attr, default)


class ResultSchema(Schema):
    """The result of adding an NFT or of reporting a listing. Contract, section 2.3."""

    result = fields.String(
        required=True,
        metadata=_example("OK on success", "OK", enum=["OK", "PENDING"]),
    )


class ListingMetadataSchema(Schema):
    account_id = fields.String(
        data_key="accountToSign",
        required=True,
        metadata=_example("Account id that must sign the transaction", "0.0.1001"),
    )
    return_transaction = fields.Boolean(
        data_key="returnTransaction",
        required=True,
        dump_default=False,
        metadata=_example(
            "Whether the wallet shall return the transaction; false: it submits it itself", False
        ),
    )


class ListingTransactionSchema(Schema):
    """A listing transaction to be signed. Contract, section 2.4."""

    transaction = fields.String(
        data_key="byteArray",
        required=True,
        metadata=_example(
            "The unsigned transaction: base64 of the bytes of a HAPI TransactionList",
            "CkEqPwo7Cg8KCAiA98TVBhAFEgMY6Qc...",
        ),
    )
    metadata = fields.Nested(ListingMetadataSchema, required=True)

    def get_attribute(self, obj, attr, default):
        return obj if attr == "metadata" else super().get_attribute(obj, attr, default)


class StatusSchema(Schema):
    version = fields.String(required=True, metadata=_example("Version of this service", "0.1.0"))
    network = fields.String(required=True, metadata=_example("Hedera network", "sandbox"))
    database = fields.String(
        required=True, metadata=_example("Whether the database answers", "reachable")
    )
    last_sync = Milliseconds(
        data_key="lastSync",
        required=True,
        allow_none=True,
        metadata=_example(
            "When all listings were last compared with the ledger; null when never",
            "2026-11-20T12:34:56.789Z",
            format="date-time",
        ),
    )


class ErrorSchema(Schema):
    """The one shape of every error."""

    code = fields.Integer(required=True, metadata=_example("HTTP status code", 404))
    status = fields.String(required=True, metadata=_example("HTTP status name", "Not Found"))
    message = fields.String(
        required=True,
        metadata=_example(
            "What is wrong, and the way out", "0.0.5005 #7 is not stored: POST /v1/add it first"
        ),
    )
    errors = fields.Dict(
        metadata={"description": "What is wrong, by place and field, where there are several"}
    )
