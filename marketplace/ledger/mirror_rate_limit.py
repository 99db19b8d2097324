"""Limits the requests a second to the mirror node, over all processes of this machine."""

import os
import struct
import time
from pathlib import Path

from marketplace.counts import count
from marketplace.errors import StartRefused
from marketplace.file_lock import lock
from marketplace.ledger.deadline import Deadline, TimeIsUp

NEXT_AT = struct.Struct("d")  # the moment, in Unix time, from which the next request may go


class MirrorRateLimit:
    """Gives each request a moment to go, evenly spaced. All processes share its file."""

    def __init__(self, folder: Path, per_second: int) -> None:
        """Raises StartRefused for a folder that can not be written."""
        path = folder / "mirror-rate-limit"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.touch()
        except OSError as error:
            raise StartRefused(
                f"MARKETPLACE_DATA_DIR={folder} can not be written: {error}"
            ) from error
        self._path = path
        self._gap = 1 / per_second

    def acquire(self, deadline: Deadline) -> None:
        """Wait for a turn. Raises TimeIsUp if it would come too late: then it is not taken."""
        pause = max(self._take_turn(deadline.remaining()), 0)
        count("mirror_node_wait_seconds", pause)
        time.sleep(pause)

    def _take_turn(self, patience: float) -> float:
        """Take the next turn, and return in how many seconds it is."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            lock(file, patience)
            stored = os.pread(file, NEXT_AT.size, 0)
            now = time.time()
            turn = max(now, NEXT_AT.unpack(stored)[0]) if len(stored) == NEXT_AT.size else now
            # A moment far ahead is not a queue but a clock that was set back.
            turn = turn if turn < now + 60 else now
            if turn - now > patience:
                raise TimeIsUp
            os.pwrite(file, NEXT_AT.pack(turn + self._gap), 0)
            return turn - now
        except BlockingIOError:
            raise TimeIsUp from None
        finally:
            os.close(file)
