"""The service's state, its network, and the body of every error."""

from marshmallow import fields

from marketplace.api.fields import CamelCaseSchema, Digits
from marketplace.api.schemas.common import integer, moment, nested, show, text, total, word
from marketplace.settings import NETWORKS
from marketplace.version import __version__


def presence_field(description: str) -> fields.String:
    metadata = {"description": description}
    return fields.String(load_default=None, allow_none=True, metadata=metadata)


class StatusQuery(CamelCaseSchema):
    """The flags alive and ready are present or absent. Their value is ignored."""

    alive = presence_field("Only check that the service answers: the database is not used")
    ready = presence_field("Answer 503 also if a disk is full, or maxAge is exceeded")
    max_age = Digits(
        "With ready: the most seconds since the ledger was last followed; 0: any number",
        600,
        low=0,
        load_default=0,
    )


class ExchangeRateSchema(CamelCaseSchema):
    """A number of HBAR, and their value in US cents."""

    hbar = integer("A number of HBAR", 30_000, minimum=1)
    cents = integer("The value of these HBAR in US cents", 300_000, minimum=1)
    date = moment("When the rate was read")


class NetworkSchema(CamelCaseSchema):
    """The network."""

    network = word("The Hedera network", "sandbox", [*NETWORKS])
    account_id = text("The marketplace's account", "0.0.9001")
    exchange_rate = nested(
        ExchangeRateSchema,
        "The ledger's exchange rate; null until it is first read",
        allow_none=True,
    )


class EndingTokenSchema(CamelCaseSchema):
    """An access token that expires soon."""

    name = text("The token's name", "shop")
    expires_at = moment("When the token stops working")


class ServiceStatusSchema(CamelCaseSchema):
    """The state of the service."""

    version = text("The service's version", __version__)
    network = word("The Hedera network", "sandbox", [*NETWORKS])
    database = word(
        "reachable, or not asked. If the database does not answer, the response is a 503",
        "reachable",
        ["reachable", "not asked"],
    )
    mirror_node_rate = integer(
        "Requests per second that this machine may send to the mirror node",
        40,
    )
    last_sync = moment(
        "Every stored NFT is current as of this time; null before the first comparison",
        nullable=True,
    )
    newest_block_age = total(
        "Seconds since the end of the newest block that the watcher saw; null if it saw none",
        4,
        nullable=True,
    )
    watcher = word(
        "running: a watcher followed the ledger, or tried to, in the last minute, on any machine. silent:"
        " none did. Or not asked",
        "running",
        ["running", "silent", "not asked"],
    )
    nodes_gone = fields.List(
        fields.String(),
        required=True,
        metadata={"description": "The nodes of NODE_ACCOUNT_IDS that the network no longer has"},
    )
    tokens_ending = fields.List(
        fields.Nested(EndingTokenSchema),
        required=True,
        allow_none=True,
        metadata={
            "description": "Access tokens that expire within 14 days and were not replaced; null if the"
            " request's token lacks the scope metrics"
        },
    )
    signing_off = text(
        "Why purchases cannot be signed; null if they can, or if the request's token lacks the scope metrics",
        "it signs with the key 3b6a..., but that of 0.0.9001 is 8f21...",
        nullable=True,
    )
    network_reset = text(
        "Why the mirror node seems to show another ledger, so that the watcher follows nothing; otherwise"
        " null",
        None,
        nullable=True,
    )


def wrong_fields(place: str) -> fields.Dict:
    """What is wrong with each field of a place, by the field's name."""
    sentences = fields.List(fields.String())
    metadata = {"description": f"What is wrong with each field of the {place}"}
    return fields.Dict(keys=fields.String(), values=sentences, metadata=metadata)


class LedgerErrorSchema(CamelCaseSchema):
    """The ledger's refusal, or the one that is to be expected."""

    result = fields.List(
        fields.String(),
        required=True,
        metadata={
            "description": "The ledger's result code",
            "example": ["INSUFFICIENT_ACCOUNT_BALANCE"],
        },
    )


class ErrorDetailsSchema(CamelCaseSchema):
    """What is wrong, by place. A place where nothing is wrong is missing."""

    path = wrong_fields("path")
    query = wrong_fields("query")
    headers = wrong_fields("headers")
    json = wrong_fields("body")
    nfts = fields.Dict(
        keys=fields.String(),
        values=fields.List(fields.String()),
        metadata={"description": "What is wrong with each of several NFTs, by 0.0.5001:7"},
    )
    ledger = fields.Nested(
        LedgerErrorSchema,
        metadata={"description": "The ledger refused the transaction, or would refuse it"},
    )


class ApiErrorSchema(CamelCaseSchema):
    """The one shape of every error."""

    code = show(fields.Integer, "HTTP status code", 404)
    status = text("HTTP status name", "Not Found")
    message = text(
        "What is wrong, and what to do", "0.0.5001 #999 is not stored: POST /v1/add it first"
    )
    reason = text(
        "The kind of error, a word that never changes. The list of errors may grow",
        "NFT_NOT_STORED",
    )
    errors = fields.Nested(
        ErrorDetailsSchema,
        metadata={"description": "The wrong fields, or the ledger's result code"},
    )
