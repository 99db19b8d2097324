"""A file's lock, waited for so long and no longer: who holds it may have been stopped."""

import fcntl
import time

# Between two looks: it is mostly held for microseconds.
FIRST_PAUSE_SECONDS = 0.0005
LONGEST_PAUSE_SECONDS = 0.02


def lock(file: int, patience: float) -> None:
    """Lock an open file for this process alone; closing it unlocks it.

    Raises BlockingIOError, an OSError, where somebody else has kept it for so many seconds.
    """
    patient_until = time.monotonic() + patience
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            left = patient_until - time.monotonic()
            if left <= 0:
                raise
        time.sleep(min(pause, left))
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
