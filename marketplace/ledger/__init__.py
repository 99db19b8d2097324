"""The ledger, as the mirror node shows it."""

from collections.abc import Mapping
from typing import Any

from requests.adapters import BaseAdapter

from marketplace.ledger.mirror import Count, MirrorNode
from marketplace.ledger.rate import UNHURRIED_SECONDS, Deadline, MirrorRate

__all__ = ["UNHURRIED_SECONDS", "Deadline", "from_config"]


def from_config(
    config: Mapping[str, Any], adapters: Mapping[str, BaseAdapter], count: Count
) -> MirrorNode:
    """Make the client of the mirror node. ``adapters``: see http.HttpSession."""
    rate = MirrorRate(config["DATA_DIR"], config["MIRROR_NODE_RATE"])
    return MirrorNode(adapters, rate, config["MIRROR_NODE_URL"], count)
