"""The network, for front ends: the marketplace's account, and the exchange rate of HBAR."""

import json
from typing import Any

from flask import current_app

from marketplace.api.authentication import require_scope
from marketplace.api.cache import cached_query
from marketplace.api.http import Blueprint
from marketplace.api.schemas.status import NetworkSchema
from marketplace.store import properties

blp = Blueprint("Network", __name__, description="The network, and its exchange rate")


@blp.get("/network")
@require_scope("read")
@blp.response(200, NetworkSchema, description="The network")
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
