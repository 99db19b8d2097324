"""Limits log lines that any client can cause: each is logged at most once a minute."""

import time

from flask import current_app

from marketplace.services import services

PAUSE_SECONDS = 60


def warn_once_a_minute(message: str, *values: object) -> None:
    """Log a warning, unless this process has logged one with the same message in the last minute."""
    warned_at = services().warned_at
    now = time.monotonic()
    if now - warned_at.get(message, -PAUSE_SECONDS) >= PAUSE_SECONDS:
        warned_at[message] = now
        current_app.logger.warning(message, *values)
