"""Detects a network reset: the mirror node shows a different ledger than the one followed so far."""

import time

from marketplace.errors import NetworkReset
from marketplace.hedera import times
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.services import mirror_node, read, write
from marketplace.store import nft_collections, properties
from marketplace.store.following import FollowRow

BACK = times.HOUR  # more than replicas lag
CHECKED_SECONDS = 600  # between two looks whether stored tokens are known
TOKENS = 3


class ResetCheck:
    """The check of one watcher, before each page that it follows."""

    def __init__(self) -> None:
        self._asked_at = float("-inf")

    def require_same_network(self, present: int, state: FollowRow) -> None:
        """Raise NetworkReset, and store why, if the mirror node shows another ledger."""
        reason = _find_older_block(present, state) or self._find_unknown_tokens()
        stored = properties.get_property(read(), properties.NETWORK_RESET)
        value = reason and reason.encode()
        if value != stored:
            with write() as db:
                if value:
                    properties.mark_property(db, properties.NETWORK_RESET, value)
                else:
                    properties.delete_property(db, properties.NETWORK_RESET)
        if reason:
            raise NetworkReset(reason)

    def _find_unknown_tokens(self) -> str | None:
        if time.monotonic() < self._asked_at + CHECKED_SECONDS:
            return None
        deadline = Deadline(UNHURRIED_SECONDS)
        tokens = nft_collections.list_some_read(read(), TOKENS)
        if not tokens or any(mirror_node().find_token(token, deadline) for token in tokens):
            self._asked_at = time.monotonic()
            return None
        return f"it knows no token of {', '.join(tokens)}, which were read from it before"


def _find_older_block(present: int, state: FollowRow) -> str | None:
    if present >= times.to_nanoseconds(state["cursor_at"]) - BACK:
        return None
    newest, followed = (
        times.to_second(date) for date in (times.to_iso(present), state["cursor_at"])
    )
    return f"its newest block is of {newest}, but transactions were followed up to {followed}"
