"""Whether the service is well: for its operator, without a token."""

from flask import current_app

from marketplace import __version__, times
from marketplace.api.blueprint import Blueprint
from marketplace.api.requests import StatusQuery
from marketplace.api.schemas import ServiceStatusSchema
from marketplace.errors import NotReady
from marketplace.market.shares import find_last_sync

blp = Blueprint("Status", __name__, description="For the operator; asks for no token")


@blp.get("/status")
@blp.query(StatusQuery)
@blp.response(200, ServiceStatusSchema, description="The service is up")
@Blueprint.doc(responses={503: "Unavailable"})
def show_status(alive, ready):
    """Show whether the service is up

    Its version and its network, and when the order book was last compared with the ledger. A 503 where the
    database does not answer.
    """
    if alive is not None:
        return _describe("not asked", None)
    last_sync = find_last_sync()  # fails where the database does
    if ready is not None:
        _require_recent(last_sync)
    return _describe("reachable", last_sync)


def _describe(database: str, last_sync: str | None) -> dict:
    config = current_app.config
    return {
        "version": __version__,
        "network": config["NETWORK"],
        "database": database,
        "mirror_node_rate": config["MIRROR_NODE_RATE"],
        "last_sync": last_sync,
    }


def _require_recent(last_sync: str | None) -> None:
    """Raise NotReady where the order book may no longer be what the ledger shows."""
    seconds = current_app.config["READY_SYNC_SECONDS"]
    if not seconds:
        return
    if last_sync is None:
        raise NotReady("the watcher was never through with everything", seconds)
    age = times.now() // times.SECOND - int(times.from_iso(last_sync))
    if age > seconds:
        raise NotReady(f"the watcher was last through with everything {age} s ago", seconds)
