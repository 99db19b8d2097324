"""Whether the service is well: for its operator, without a token."""

from flask import current_app

from marketplace import __version__
from marketplace.api.blueprint import Blueprint
from marketplace.api.schemas import StatusSchema
from marketplace.market.shares import find_last_sync

blp = Blueprint("Status", __name__, description="For the operator; asks for no token")


@blp.get("/status")
@blp.response(200, StatusSchema, description="The service is up")
def show_status():
    """Show whether the service is up"""
    last_sync = find_last_sync()  # fails where the database does
    return {
        "version": __version__,
        "network": current_app.config["NETWORK"],
        "database": "reachable",
        "mirror_node_rate": current_app.config["MIRROR_NODE_RATE"],
        "last_sync": last_sync,
    }
