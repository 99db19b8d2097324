"""What answers hold: the only module that knows a field's name in one. Requests are in requests.py.

Inside names are the database's columns; wire names stand in data_key, in the contract's order.
"""

import json
from typing import Any

from marshmallow import Schema, fields, pre_dump

from marketplace import __version__
from marketplace.api.fields import (
    Flag,
    MediaUrl,
    Milliseconds,
    OriginalImageUrl,
    described,
)
from marketplace.settings import NETWORKS


class OwnerSchema(Schema):
    owner = fields.String(
        data_key="accountId",
        required=True,
        metadata=described("Account id of the owner", "0.0.1001"),
    )


class NftSchema(Schema):
    """An NFT record. Contract, section 2.1."""

    token = fields.String(
        required=True, metadata=described("Token id of the collection", "0.0.5001")
    )
    serial_no = fields.Integer(
        data_key="serialNo",
        required=True,
        metadata=described("Serial number of the NFT within the token", 7, format="int64"),
    )
    name = fields.String(required=True, metadata=described("Name of the NFT", "Tides #7"))
    file_type = fields.String(
        data_key="fileType",
        required=True,
        metadata=described("MIME type of the image", "image/png"),
    )
    is_for_sale = Flag(
        data_key="isForSale",
        required=True,
        metadata=described("True when the NFT is listed for sale", True),
    )
    attributes = fields.String(
        data_key="stringifiedAttributes",
        required=True,
        allow_none=True,
        metadata=described(
            "JSON text of an array of objects with the strings trait_type and value; null when the NFT"
            " has no attributes",
            '[{"trait_type":"Palette","value":"Ember"},{"trait_type":"Form","value":"Lagoon"}]',
        ),
    )
    image = MediaUrl(
        data_key="imageUrl",
        required=True,
        metadata=described(
            "Address of the optimised image", "http://127.0.0.1:8000/media/5f2c.webp"
        ),
    )
    original_image_url = OriginalImageUrl(
        data_key="originalImageUrl",
        required=True,
        allow_none=True,
        metadata=described(
            "Address of the original image; null when it is not known",
            "http://127.0.0.1:8000/sandbox/ipfs/bafkqacbqfyyc4njqga2q/7.png",
        ),
    )
    listing_price = fields.Integer(
        data_key="listingPrice",
        required=True,
        metadata=described("Price in HBAR while listed, otherwise 0", 60, format="int64"),
    )
    last_listed_at = Milliseconds(
        data_key="lastListedDate",
        required=True,
        allow_none=True,
        metadata=described(
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

    def get_attribute(self, obj: Any, attr: str, default: Any) -> Any:
        # The owner's object is a view of the same row.
        return obj if attr == "owner" else super().get_attribute(obj, attr, default)


class TreasurySchema(Schema):
    account_id = fields.String(
        data_key="accountId",
        required=True,
        metadata=described("Account that NFTs are minted to", "0.0.1000"),
    )


class FallbackFeeSchema(Schema):
    """What a buyer pays to the collector who gives nothing of value for an NFT."""

    amount = fields.Integer(
        required=True,
        metadata=described("Tinybars, or smallest units of the token", 500_000_000, format="int64"),
    )
    token = fields.String(
        required=True,
        allow_none=True,
        metadata=described("Token id of what is paid; null: HBAR", None),
    )


class RoyaltySchema(Schema):
    """A part of an NFT's price, which the network takes at each sale."""

    collector = fields.String(
        data_key="accountId", required=True, metadata=described("Account it is paid to", "0.0.2002")
    )
    numerator = fields.Integer(
        required=True,
        metadata=described("Of the fraction of the price", 5, format="int64", minimum=0),
    )
    denominator = fields.Integer(
        required=True,
        metadata=described("Of the fraction of the price", 100, format="int64", minimum=1),
    )
    fallback = fields.Nested(
        FallbackFeeSchema,
        data_key="fallbackFee",
        required=True,
        allow_none=True,
        metadata={
            "description": "What is paid where an NFT changes hands for nothing; null: nothing"
        },
    )


class FixedFeeSchema(Schema):
    """An amount that an NFT's sender pays at each transfer, and a seller at each sale."""

    collector = fields.String(
        data_key="accountId", required=True, metadata=described("Account it is paid to", "0.0.2002")
    )
    amount = fields.Integer(
        required=True,
        metadata=described("Tinybars, or smallest units of the token", 100_000_000, format="int64"),
    )
    token = fields.String(
        required=True,
        allow_none=True,
        metadata=described("Token id of what is paid; null: HBAR", None),
    )


class CollectionRecordSchema(Schema):
    """A collection: what the ledger said of it last, and what of it is listed here.

    What the ledger has not told yet is null.
    """

    token = fields.String(
        required=True, metadata=described("Token id of the collection", "0.0.5001")
    )
    name = fields.String(
        required=True, allow_none=True, metadata=described("Name; null while not known", "Tides")
    )
    symbol = fields.String(
        required=True, allow_none=True, metadata=described("Symbol; null while not known", "TIDE")
    )
    total_supply = fields.Integer(
        data_key="totalSupply",
        required=True,
        allow_none=True,
        metadata=described(
            "NFTs minted and not burned; null while not known", 30, format="int64", minimum=0
        ),
    )
    treasury = fields.Nested(
        TreasurySchema,
        required=True,
        allow_none=True,
        metadata={"description": "The account that NFTs are minted to; null while not known"},
    )
    royalties = fields.List(
        fields.Nested(RoyaltySchema),
        required=True,
        allow_none=True,
        metadata={"description": "What creators are paid at each sale; null while not known"},
    )
    fixed_fees = fields.List(
        fields.Nested(FixedFeeSchema),
        data_key="fixedFees",
        required=True,
        allow_none=True,
        metadata={"description": "What a seller pays at each sale; null while not known"},
    )
    listed = fields.Integer(
        required=True, metadata=described("NFTs for sale here", 10, format="int64", minimum=0)
    )
    floor_price = fields.Integer(
        data_key="floorPrice",
        required=True,
        allow_none=True,
        metadata=described(
            "Lowest price in HBAR; null where nothing is listed", 15, format="int64"
        ),
    )

    @pre_dump
    def unfold(self, row: Any, **kwargs: Any) -> dict[str, Any]:
        """Make objects of what a row holds as an id and as JSON."""
        treasury, fees = row["treasury"], ("royalties", "fixed_fees")
        return dict(row) | {
            "treasury": treasury and {"account_id": treasury},
            **{kind: row[kind] and json.loads(row[kind]) for kind in fees},
        }


class ResultSchema(Schema):
    """The result of adding an NFT, or of reporting what was signed. Contract, section 2.3."""

    result = fields.String(
        required=True,
        metadata=described("OK on success", "OK", enum=["OK", "PENDING"]),
    )


class SigningMetadataSchema(Schema):
    """What a wallet is told beside the transaction. Contract, section 2.4."""

    account_id = fields.String(
        data_key="accountToSign",
        required=True,
        metadata=described("Account id that must sign the transaction", "0.0.1001"),
    )
    return_transaction = fields.Boolean(
        data_key="returnTransaction",
        required=True,
        dump_default=False,
        metadata=described(
            "Whether the wallet shall return the transaction; false: it submits it itself", False
        ),
    )


class PreparedTransactionSchema(Schema):
    """A transaction to be signed. Contract, section 2.4."""

    transaction = fields.String(
        data_key="byteArray",
        required=True,
        metadata=described(
            "The transaction, which accountToSign has not signed yet: base64 of the bytes of a HAPI"
            " TransactionList",
            "CkEqPwo7Cg8KCAiA98TVBhAFEgMY6Qc...",
        ),
    )
    metadata = fields.Nested(SigningMetadataSchema, required=True)

    def get_attribute(self, obj: Any, attr: str, default: Any) -> Any:
        return obj if attr == "metadata" else super().get_attribute(obj, attr, default)


class ServiceStatusSchema(Schema):
    """How the service is."""

    version = fields.String(
        required=True, metadata=described("Version of this service", __version__)
    )
    network = fields.String(
        required=True, metadata=described("Hedera network", "sandbox", enum=[*NETWORKS])
    )
    database = fields.String(
        required=True,
        metadata=described(
            "reachable, or not asked; a 503 says that it does not answer",
            "reachable",
            enum=["reachable", "not asked"],
        ),
    )
    mirror_node_rate = fields.Integer(
        data_key="mirrorNodeRate",
        required=True,
        metadata=described(
            "Requests a second that this machine may make to the mirror node: its share of the limit",
            40,
        ),
    )
    last_sync = Milliseconds(
        data_key="lastSync",
        required=True,
        allow_none=True,
        metadata=described(
            "Until when the ledger was followed, or when all of it was last compared; null when never",
            "2026-11-20T12:34:56.789Z",
            format="date-time",
        ),
    )
    watcher = fields.String(
        required=True,
        metadata=described(
            "running: one was at work in the last minute, on whatever machine; silent: then nothing follows"
            " the ledger, and no metadata and images are fetched; or not asked",
            "running",
            enum=["running", "silent", "not asked"],
        ),
    )


class ApiErrorSchema(Schema):
    """The one shape of every error."""

    code = fields.Integer(required=True, metadata=described("HTTP status code", 404))
    status = fields.String(required=True, metadata=described("HTTP status name", "Not Found"))
    message = fields.String(
        required=True,
        metadata=described(
            "What is wrong, and the way out", "0.0.5001 #999 is not stored: POST /v1/add it first"
        ),
    )
    errors = fields.Dict(
        metadata={"description": "What is wrong, by place and field, where there are several"}
    )
