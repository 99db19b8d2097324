"""Interrupts waits for strangers' hosts: a host that sends headers byte by byte outlasts every timeout."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from marketplace.ledger.http import Deadline, TimeIsUp

AT_ONCE = 1e-6  # seconds: 0 would set no timer


@contextmanager
def interrupt_at(deadline: Deadline) -> Iterator[None]:
    """Raise TimeIsUp in the block when the deadline passes.

    Only a main thread can be interrupted: a reader has no other.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGALRM, _raise)
    try:
        signal.setitimer(signal.ITIMER_REAL, deadline.left or AT_ONCE)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _raise(*_: object) -> None:
    raise TimeIsUp
