"""Notifies systemd, where it started this process: ready, status, alive."""

import logging

from gunicorn.systemd import sd_notify

from marketplace.errors import printable

_logger = logging.getLogger(__name__)


def notify(*states: str) -> None:
    """Tell states as sd_notify(3) writes them, such as READY=1. Does nothing where nobody listens."""
    # A state is a line: what a stranger wrote, and a status repeats, adds none.
    sd_notify("\n".join(printable(state).replace("\n", " ") for state in states), _logger)


def notify_alive() -> None:
    """Give a sign of life, WATCHDOG=1. Call it where work has got on, and never from a timer.

    systemd restarts a service that gives none for WatchdogSec=.
    """
    notify("WATCHDOG=1")
