"""GET /status: the state of the service, for its operator, without a token."""

from collections.abc import Sequence
from typing import Any

from flask import current_app

from marketplace.api.authentication import is_allowed
from marketplace.api.http import Blueprint
from marketplace.api.schemas.status import ServiceStatusSchema, StatusQuery
from marketplace.errors import STATUS, TryAgain, answered_by
from marketplace.hedera import times
from marketplace.market import freshness, nodes
from marketplace.market.buying import account_key
from marketplace.services import read
from marketplace.store import access_tokens, disks
from marketplace.version import __version__

MIN_FREE_BYTES = 16 * 1024 * 1024  # a database that grows takes some of it at once

blp = Blueprint("Status", __name__, description="For the operator; needs no token")


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
