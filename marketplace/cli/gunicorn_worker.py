"""gunicorn's worker of threads, which looks at an idle connection once more before it closes it."""

import time
from collections.abc import Sequence
from typing import Any

from gunicorn.workers.gthread import ThreadWorker


class Worker(ThreadWorker):
    """Answers a request that came while the worker was stalled for longer than a connection may be idle.

    gunicorn closes what is idle for too long by the clock alone. epoll does not look either, if it was
    interrupted and its time is over. The client's request is then lost, and its connection is reset.
    """

    def murder_keepalived(self, force: bool = False) -> None:
        if not force:
            self._dispatch_if_expired(self.keepalived_conns)
        super().murder_keepalived(force)

    def murder_pending(self) -> None:
        self._dispatch_if_expired(self.pending_conns)
        super().murder_pending()

    def _dispatch_if_expired(self, connections: Sequence[Any]) -> None:
        if connections and connections[0].timeout <= time.monotonic():
            self.wait_for_and_dispatch_events(timeout=0)
