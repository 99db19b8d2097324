"""Locks a file within a timeout: the process that holds the lock may have been stopped."""

import fcntl
import time

# Between two tries: the lock is mostly held for microseconds.
FIRST_PAUSE_SECONDS = 0.0005
LONGEST_PAUSE_SECONDS = 0.02


def lock(file: int, timeout: float) -> None:
    """Lock an open file for this process alone; closing it unlocks it.

    Raises BlockingIOError, an OSError, where another process holds it beyond the timeout, in seconds.
    """
    ends_at = time.monotonic() + timeout
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            left = ends_at - time.monotonic()
            if left <= 0:
                raise
        time.sleep(min(pause, left))
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
