"""Limits the requests per second to the mirror node, across all processes of this machine."""

import time

from marketplace.ledger.deadline import Deadline, TimeIsUp
from marketplace.machine_file import ERRORS, NOW, MachineFile

MOST_SECONDS = 4.0  # for which anybody waits for a turn

# next_at: the moment from which the next request may be sent. If that is beyond the longest wait, the clock
# was set back, and the queue begins anew. A turn that would come too late is not taken: no row is returned.
_TAKE_TURN = f"""
    INSERT INTO mirror_turn (id, next_at) VALUES (1, {NOW} + :gap)
    ON CONFLICT (id) DO UPDATE SET next_at = :gap + CASE
        WHEN next_at BETWEEN {NOW} AND {NOW} + {MOST_SECONDS} + :gap THEN next_at
        ELSE {NOW}
    END
    WHERE next_at NOT BETWEEN {NOW} + :timeout AND {NOW} + {MOST_SECONDS} + :gap
    RETURNING max(0, next_at - :gap - {NOW})
"""


class MirrorRateLimit:
    """Gives each request a time to be sent, evenly spaced. All processes share the queue."""

    def __init__(self, folder: str, per_second: int) -> None:
        self._file = MachineFile(folder, "the mirror node is not asked")
        self._gap = 1 / per_second

    def acquire(self, deadline: Deadline) -> float:
        """Wait for a turn; returns the seconds. Raises TimeIsUp if it would come too late, and takes none."""
        timeout = min(deadline.remaining(), MOST_SECONDS)
        try:
            turns = self._file.execute(_TAKE_TURN, gap=self._gap, timeout=timeout)
        except ERRORS:  # logged by MachineFile
            raise TimeIsUp from None
        if not turns:
            raise TimeIsUp
        [(pause,)] = turns
        time.sleep(pause)
        return float(pause)
