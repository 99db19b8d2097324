"""The processes that meet strangers: without our environment, and killed when they take too long."""

import multiprocessing
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, TimeoutError
from contextlib import contextmanager
from multiprocessing import forkserver
from typing import Any

from pebble import ProcessExpired, ProcessFuture, ProcessPool
from requests.adapters import BaseAdapter

from marketplace.watcher.strangers import confine, decoding, enrich
from marketplace.watcher.strangers.enrich import Found, Outcome
from marketplace.watcher.strangers.resolver import Resolver

# Past what hosts and the processor are given: a process that is still at it by then is killed.
SPARE_SECONDS = 2
TASKS = (
    100  # of one process; then another begins, without what the first one's silent hosts still hold
)
MAX_DESCRIPTORS = 64
MAX_MORE_BYTES = 200_000_000  # beyond what a process has when it begins
NEEDED = ("ARWEAVE_GATEWAYS", "DATA_DIR", "IPFS_GATEWAYS", "MIRROR_NODE_RATE", "MIRROR_NODE_URL")
# All of their environment: how the operator's gateways are reached, and where our code is.
PASSED_ON = {"http_proxy", "https_proxy", "no_proxy", "all_proxy", "ssl_cert_file", "ssl_cert_dir"}
PASSED_ON |= {"requests_ca_bundle", "curl_ca_bundle", "res_options", "ld_library_path"}

MakeAdapters = Callable[[], Mapping[str, BaseAdapter]]

_resolver: Resolver  # of a process that was begun by begin()


class EnrichmentProcesses:
    """So many processes. Safe to be used by several threads."""

    def __init__(
        self, settings: Mapping[str, Any], make_adapters: MakeAdapters, at_once: int
    ) -> None:
        """The first of all begins the server of forks, without the environment: before there are threads."""
        self._arguments = ({name: settings[name] for name in NEEDED}, make_adapters)
        self._at_once = at_once
        self._pool: ProcessPool | None = None
        self._tasks: set[ProcessFuture[Found]] = set()
        self._is_closed = False
        self._lock = threading.Lock()
        with _clean_environment():
            forkserver.ensure_running()

    def enrich(self, pointer: str, *, is_quick: bool) -> Found:
        """As strangers.enrich.enrich(), in one of the processes."""
        fetching = enrich.QUICK_SECONDS if is_quick else enrich.LONG_SECONDS
        decoding_ = decoding.QUICK_SECONDS if is_quick else 3 * decoding.LONG_SECONDS
        seconds = fetching + decoding_ + SPARE_SECONDS
        task = None
        try:
            task = self._schedule(pointer, is_quick, seconds)
            return task.result(3 * seconds)
        except TimeoutError:
            if task and not task.done():  # nor was it killed: the pool hangs
                self._stop()
            return Found(Outcome.SLOW, "it took too long")
        except CancelledError:
            return Found(Outcome.BUSY, "the watcher ends")
        except ProcessExpired:
            return Found(Outcome.UNREACHABLE, "the process that fetches it was ended")
        except (RuntimeError, OSError) as error:
            # The pool is broken, or the system lacks memory or processes.
            self._stop()
            return Found(Outcome.BUSY, f"nothing can be fetched now: {type(error).__name__}")
        finally:
            self._tasks.discard(task)

    def _schedule(self, pointer: str, is_quick: bool, seconds: float) -> ProcessFuture[Found]:
        with self._lock:
            if self._is_closed:
                raise CancelledError
            if self._pool is None:
                self._pool = ProcessPool(self._at_once, TASKS, begin, self._arguments, _context)
            task = self._pool.schedule(work, (pointer, is_quick), timeout=seconds)
            self._tasks.add(task)
            return task

    def _stop(self) -> ProcessPool | None:
        """Stop the pool and its tasks. The next task starts another pool."""
        with self._lock:
            pool, self._pool = self._pool, None
            tasks, self._tasks = self._tasks, set()
        if pool:
            pool.stop()  # type: ignore[no-untyped-call]
        for task in tasks:
            # A stopped pool would let its thread wait.
            task.cancel()  # type: ignore[no-untyped-call]
        return pool

    def close(self) -> None:
        """End all processes, whatever they do. No other is started."""
        self._is_closed = True
        if pool := self._stop():
            pool.join()


_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])


@contextmanager
def _clean_environment() -> Iterator[None]:
    """Let what is begun meanwhile have no environment of ours: there are passwords in it, and keys."""
    ours = dict(os.environ)
    kept = {name: value for name, value in ours.items() if name.lower() in PASSED_ON}
    kept["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    try:
        os.environ.clear()
        os.environ.update(kept)
        yield
    finally:
        os.environ.clear()
        os.environ.update(ours)


def begin(settings: Mapping[str, Any], make_adapters: MakeAdapters) -> None:
    """Begin one of the processes."""
    global _resolver
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # at once, whatever it waits for
    confine.end_with_parent()
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_DESCRIPTORS, MAX_DESCRIPTORS))
    most = _count_data_bytes() + MAX_MORE_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    _resolver = enrich.make_resolver(settings, make_adapters)


def _count_data_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[5]) * resource.getpagesize()


def work(pointer: str, is_quick: bool) -> Found:
    return enrich.enrich(_resolver, pointer, is_quick=is_quick)
