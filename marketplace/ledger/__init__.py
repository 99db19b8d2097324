"""The ledger, as the mirror node shows it."""

from collections.abc import Mapping
from typing import Any

from requests.adapters import BaseAdapter

from marketplace.hedera import times
from marketplace.ledger.deadline import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.mirror import Count, MirrorNode

__all__ = ["ALLOWED_LAG", "UNHURRIED_SECONDS", "Deadline", "from_config"]

# A mirror node is several replicas, and each answer may come from another one. What happened so long ago, by
# the ledger's clock, all of them show. docs/watcher.md says what depends on it, and what happens beyond.
ALLOWED_LAG = 90 * times.SECOND


def from_config(
    config: Mapping[str, Any], adapters: Mapping[str, BaseAdapter], count: Count
) -> MirrorNode:
    """Make the client of the mirror node. ``adapters``: see http_client.Session."""
    # Not above: strangers' reader, which has a client of its own, loads no SQLite.
    from marketplace.ledger.mirror_rate_limit import MirrorRateLimit

    rate_limit = MirrorRateLimit(config["DATA_DIR"], config["MIRROR_NODE_RATE"])
    return MirrorNode(adapters, rate_limit, config["MIRROR_NODE_URL"], count)
