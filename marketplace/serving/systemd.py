"""Notifies systemd, if it started this process: ready, status, alive."""

import logging

from gunicorn.systemd import sd_notify

from marketplace.text import printable

_logger = logging.getLogger(__name__)


def notify(*states: str) -> None:
    """Send states of sd_notify(3), such as READY=1. Does nothing if systemd does not listen."""
    # Each state is one line: a stranger's text in a status must not add another.
    sd_notify("\n".join(printable(state).replace("\n", " ") for state in states), _logger)


def notify_alive() -> None:
    """Send WATCHDOG=1. Call it after progress, and never from a timer.

    systemd restarts a service that does not send it within WatchdogSec=.
    """
    notify("WATCHDOG=1")
