"""The processes that meet strangers: one for each try, without our environment, and killed in the end."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

from marketplace.watcher.strangers import enrich
from marketplace.watcher.strangers.enrich import LONG, QUICK, Found, Limits, MakeAdapters, Outcome

# Past what hosts and the processor are given: a process that is still at it by then is killed.
SPARE_SECONDS = 2
KILLED_AFTER_SECONDS = 1  # past all that: where it has left half a message, for which we wait
NEEDED = ("ARWEAVE_GATEWAYS", "DATA_DIR", "IPFS_GATEWAYS", "MIRROR_NODE_RATE", "MIRROR_NODE_URL")
# All of their environment: how the operator's gateways are reached, and where our code is.
PASSED_ON = {"http_proxy", "https_proxy", "no_proxy", "all_proxy", "ssl_cert_file", "ssl_cert_dir"}
PASSED_ON |= {"requests_ca_bundle", "curl_ca_bundle", "res_options", "ld_library_path"}
# Freed memory goes back to the system at once.
ALLOCATOR = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
# Imported once, and not by each process: what it needs, what the sandbox's gateway needs, and the command.
PRELOADED = [enrich.__name__, "marketplace.sandbox.gateway", "flask.cli"]
# Ends of a process that are not the image's doing: the system is out of memory, or is stopping us.
ENDED_BY_OTHERS = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP)


class EnrichmentProcesses:
    """Begins a process for each try. Safe to be used by several threads."""

    def __init__(self, settings: Mapping[str, Any], make_adapters: MakeAdapters) -> None:
        """The first of all begins the server of forks, without the environment: before there are threads."""
        self._arguments = {name: settings[name] for name in NEEDED}, make_adapters
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        self._processes: set[ForkServerProcess] = set()
        with _clean_environment():
            forkserver.ensure_running()
            self._server = self._find_server()

    def _find_server(self) -> int:
        """The process id of the server of forks, which is the parent of all that it forks."""
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_send_parent, args=(theirs,))
        process.start()
        pid: int = ours.recv()
        process.join()
        return pid

    def _require_server(self) -> None:
        """End this program where the server of forks has ended: a new one would have our environment."""
        with suppress(ChildProcessError):
            if os.waitid(os.P_PID, self._server, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                return
        os.kill(os.getpid(), signal.SIGTERM)
        raise EOFError("the server of forks has ended")

    def enrich(self, pointer: str, *, is_quick: bool) -> Found:
        """Find the metadata and the image of an NFT."""
        limits = QUICK if is_quick else LONG
        ours, theirs = self._context.Pipe(duplex=False)
        arguments = theirs, pointer, limits, *self._arguments
        process = self._context.Process(target=enrich.run, args=arguments, daemon=True)
        with ours:
            try:
                with theirs:
                    self._require_server()
                    process.start()
            except (OSError, EOFError) as error:
                return Found(Outcome.BUSY, f"nothing can be fetched now: {type(error).__name__}")
            self._processes.add(process)
            # A decoder that a stranger has taken over may send half a message, or end its pipe and stay.
            killer = threading.Timer(_seconds(limits) + KILLED_AFTER_SECONDS, process.kill)
            killer.daemon = True
            try:
                killer.start()
                return receive(ours, process, limits)
            except RuntimeError as error:  # no thread can be started
                return Found(Outcome.BUSY, f"nothing can be fetched now: {error}")
            finally:
                killer.cancel()
                process.kill()
                process.join()
                self._processes.discard(process)

    def close(self) -> None:
        """End all processes, whatever they do."""
        for process in [*self._processes]:
            process.kill()


def _send_parent(answers: Connection) -> None:
    answers.send(os.getppid())


def receive(answers: Connection, process: ForkServerProcess, limits: Limits) -> Found:
    """Read the messages of a process until it ends, or its time is up."""
    found = None
    until = time.monotonic() + _seconds(limits)
    outcome, reason = Outcome.SLOW, "it took too long"
    try:
        while answers.poll(max(0, until - time.monotonic())):
            read = enrich.read_message(answers.recv_bytes(enrich.MAX_MESSAGE_BYTES))
            # The image's decoder may say what it likes, but only of the image.
            found = (
                found._replace(outcome=read.outcome, reason=read.reason, image=read.image)
                if found
                else read
            )
    except EOFError:
        process.join()
        if time.monotonic() < until:
            outcome, reason = _explain_end(process.exitcode, found, limits)
    except (OSError, ValueError, TypeError):  # a message that is too long, or none
        outcome, reason = Outcome.UNUSABLE, "it breaks what decodes images"
    if found is None:
        return Found(outcome, reason)
    if found.image or found.outcome is not Outcome.COMPLETE:
        return found
    return found._replace(outcome=outcome, reason=reason)


def _seconds(limits: Limits) -> float:
    return limits.fetching + 3 * limits.decoding + SPARE_SECONDS


def _explain_end(code: int | None, found: Found | None, limits: Limits) -> tuple[Outcome, str]:
    if code == -signal.SIGPROF and limits is QUICK:
        return Outcome.SLOW, "it takes longer to decode: it is made later"
    if code == -signal.SIGPROF:
        return Outcome.UNUSABLE, "it takes too long to decode"
    if code in ENDED_BY_OTHERS:
        return Outcome.BUSY, "the process that reads it was ended"
    if found is None:
        return Outcome.UNREACHABLE, "it breaks what fetches it"
    return Outcome.UNUSABLE, "it breaks what decodes images"


@contextmanager
def _clean_environment() -> Iterator[None]:
    """Let what is begun meanwhile have no environment of ours: there are passwords in it, and keys."""
    ours = dict(os.environ)
    kept = {name: value for name, value in ours.items() if name.lower() in PASSED_ON}
    kept["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    try:
        os.environ.clear()
        os.environ.update(kept | ALLOCATOR)
        yield
    finally:
        os.environ.clear()
        os.environ.update(ours)
