"""The ledger, as the mirror node shows it."""

from collections.abc import Mapping
from typing import Any

from requests.adapters import BaseAdapter

from marketplace.hedera import times
from marketplace.ledger.http import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.mirror import Count, MirrorNode
from marketplace.ledger.rate import MirrorRate

__all__ = ["ALLOWED_LAG", "UNHURRIED_SECONDS", "Deadline", "from_config"]

# A mirror node has several replicas, and each answer may come from a different one. By the ledger's clock, a
# replica lags at most this much. docs/watcher.md says what depends on this limit, and what happens beyond it.
ALLOWED_LAG = 90 * times.SECOND


def from_config(
    config: Mapping[str, Any], adapters: Mapping[str, BaseAdapter], count: Count
) -> MirrorNode:
    """Make the client of the mirror node. ``adapters``: see http.HttpSession."""
    rate = MirrorRate(config["DATA_DIR"], config["MIRROR_NODE_RATE"])
    return MirrorNode(adapters, rate, config["MIRROR_NODE_URL"], count)
