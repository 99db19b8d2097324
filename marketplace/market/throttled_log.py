"""Log lines that anybody can cause as often as he likes: each is written once a minute at most."""

import time

from flask import current_app

PAUSE_SECONDS = 60


def warn_once_a_minute(message: str, *values: object) -> None:
    """Log a warning, unless this process has logged one with the same message in the last minute."""
    written = current_app.extensions.setdefault("warnings", {})
    now = time.monotonic()
    if now - written.get(message, -PAUSE_SECONDS) >= PAUSE_SECONDS:
        written[message] = now
        current_app.logger.warning(message, *values)
