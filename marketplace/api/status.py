"""The service's state, for its operator; and its network, for front ends."""

import json
from collections.abc import Sequence
from typing import Any

from flask import current_app
from marshmallow import fields

from marketplace.api.authentication import is_allowed, require_scope
from marketplace.api.cache import cached_query
from marketplace.api.fields import CamelCaseSchema, Digits
from marketplace.api.http import Blueprint
from marketplace.api.schemas import integer, moment, nested, text, total, word
from marketplace.errors import STATUS, TryAgain, answered_by
from marketplace.hedera import times
from marketplace.market import freshness, nodes
from marketplace.market.buying import account_key
from marketplace.services import read
from marketplace.settings import NETWORKS
from marketplace.store import access_tokens, disks, properties
from marketplace.version import __version__

MIN_FREE_BYTES = 16 * 1024 * 1024  # a database that grows takes some of it at once


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


blp = Blueprint("Status", __name__, description="For the operator; needs no token")
network_blp = Blueprint("Network", __name__, description="The network, and its exchange rate")


@blp.get("/status")
@blp.arguments(StatusQuery, location="query")
@blp.response(200, ServiceStatusSchema, description="The service is up")
@blp.refuses(*answered_by(STATUS))
def show_status(alive: str | None, ready: str | None, max_age: int) -> dict[str, Any]:
    """Get the service's status

    Returns the version, the network, how current the data is, and whether a watcher is running. The answer is
    a 503 if the database does not answer. With a token of the scope `metrics`, operators see more.
    """
    if alive is not None:
        return _describe("not asked", None, "not asked")
    last_sync = freshness.find_last_sync()  # raises an error if the database does not answer
    if ready is not None:
        _require_recent(freshness.find_followed(), max_age)
        _require_room()
    watcher = "running" if freshness.is_watched() else "silent"
    gone, age = nodes.list_gone_nodes(), freshness.find_block_age()
    described = _describe("reachable", last_sync, watcher, gone, age, freshness.find_reset())
    return described | _find_for_operator() if is_allowed("metrics") else described


def _find_for_operator() -> dict[str, Any]:
    return {
        "tokens_ending": access_tokens.find_ending(read()),
        "signing_off": account_key.find_reason(),
    }


def _describe(
    database: str,
    last_sync: str | None,
    watcher: str,
    nodes_gone: Sequence[str] = (),
    newest_block_age: int | None = None,
    reset: str | None = None,
) -> dict[str, Any]:
    config = current_app.config
    return {
        "version": __version__,
        "network": config["NETWORK"],
        "database": database,
        "mirror_node_rate": config["MIRROR_NODE_RATE"],
        "last_sync": last_sync,
        "newest_block_age": newest_block_age,
        "watcher": watcher,
        "nodes_gone": nodes_gone,
        "tokens_ending": None,
        "signing_off": None,
        "network_reset": reset,
    }


def _require_recent(followed: str | None, max_age: int) -> None:
    """Refuse if the ledger was last followed more than ``max_age`` seconds ago."""
    if not max_age:
        return
    if followed is None:
        raise _not_ready("the ledger was never followed")
    age = times.now() // times.SECOND - int(times.from_iso(followed))
    if age > max_age:
        raise _not_ready(f"the ledger was last followed {age} s ago, not within {max_age} s")


def _require_room() -> None:
    """Refuse if the disk of the database or of the images is full."""
    for name, free in disks.find_free().items():
        if free < MIN_FREE_BYTES:
            raise _not_ready(f"the disk of MARKETPLACE_{name} is full")


def _not_ready(reason: str) -> TryAgain:
    return TryAgain(f"Not ready: {reason}", retry_after=30)


@network_blp.get("/network")
@require_scope("read")
@network_blp.response(200, NetworkSchema, description="The network")
def show_network() -> dict[str, Any]:
    """Get the network and its exchange rate

    The ledger charges fees at this exchange rate. The watcher reads it every ten minutes.
    """
    stored = cached_query(properties.get_property, properties.EXCHANGE_RATE)
    return {
        "network": current_app.config["NETWORK"],
        "account_id": current_app.config["ACCOUNT_ID"],
        "exchange_rate": json.loads(stored) if stored else None,
    }
