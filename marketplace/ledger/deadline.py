"""A moment by which work must be done."""

import time

# For questions to the mirror node that no client waits for.
UNHURRIED_SECONDS = 8


class TimeIsUp(Exception):
    """The deadline has passed."""


class Deadline:
    """A moment some seconds from now."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self._at - time.monotonic())

    def remaining(self) -> float:
        """Seconds left. Raises TimeIsUp if there are none."""
        seconds = self.left
        if not seconds:
            raise TimeIsUp
        return seconds
