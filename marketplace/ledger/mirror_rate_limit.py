"""Limits the requests a second to the mirror node, over all processes of this machine."""

import time

from marketplace.counts import count
from marketplace.ledger.deadline import Deadline, TimeIsUp
from marketplace.machine_file import ERRORS, MachineFile

# next_at: the moment from which the next request may go. One far ahead is not a queue but a clock that was
# set back. A turn that would come too late is not taken: then there is no row.
_TAKE_TURN = """
    INSERT INTO mirror_turn (id, next_at) VALUES (1, unixepoch('subsec') + :gap)
    ON CONFLICT (id) DO UPDATE SET next_at = :gap + CASE
        WHEN next_at BETWEEN unixepoch('subsec') AND unixepoch('subsec') + 60 THEN next_at
        ELSE unixepoch('subsec')
    END
    WHERE next_at NOT BETWEEN unixepoch('subsec') + :timeout AND unixepoch('subsec') + 60
    RETURNING max(0, next_at - :gap - unixepoch('subsec'))
"""


class MirrorRateLimit:
    """Gives each request a moment to go, evenly spaced. All processes share it."""

    def __init__(self, folder: str, per_second: int) -> None:
        self._file = MachineFile(folder, "the mirror node is not asked")
        self._gap = 1 / per_second

    def acquire(self, deadline: Deadline) -> None:
        """Wait for a turn. Raises TimeIsUp if it would come too late: then it is not taken."""
        try:
            turns = self._file.execute(_TAKE_TURN, gap=self._gap, timeout=deadline.remaining())
        except ERRORS:  # the log says which
            raise TimeIsUp from None
        if not turns:
            raise TimeIsUp
        [(pause,)] = turns
        count("mirror_node_wait_seconds", pause)
        time.sleep(pause)
