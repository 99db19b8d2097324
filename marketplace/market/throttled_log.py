"""Limits log lines that any client can cause: each is logged at most once a minute."""

import time

from flask import current_app

PAUSE_SECONDS = 60
# In the application's extensions, by message: when it was last logged, on the monotonic clock, and how many
# lines were left out since.
WARNED = "marketplace.warned"


def warn_once_a_minute(message: str, *values: object) -> None:
    """Log a warning, unless this process has logged one with the same message in the last minute.

    The next one says how many were left out.
    """
    warned, now = current_app.extensions.setdefault(WARNED, {}), time.monotonic()
    warned_at, left_out = warned.get(message, (-PAUSE_SECONDS, 0))
    if now - warned_at < PAUSE_SECONDS:
        warned[message] = warned_at, left_out + 1
        return
    warned[message] = now, 0
    more = f" ({left_out} more since the last such line)" if left_out else ""
    current_app.logger.warning(f"{message}{more}", *values)
