"""Processes that fetch from strangers: one for each try, without our environment, and with a time limit."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from marketplace.watcher.found import (
    MAX_MESSAGE_BYTES,
    QUICK,
    Found,
    Limits,
    MakeAdapters,
    Outcome,
    read_message,
)
from marketplace.watcher.strangers import fork_server

# The function that a process runs. The watcher itself does not import it: Pillow takes 8 MB.
RUN = "marketplace.watcher.strangers.enrich:run"

# Beyond the limits for hosts and processor. Then the watcher gives the process up, and it is killed.
SPARE_SECONDS = 2
KILLED_AFTER_SECONDS = 1  # beyond all that: also ends our wait for the rest of a message
IDLE_SECONDS = 30  # then the fork server ends, and frees 30 MB
NEEDED = ("ARWEAVE_GATEWAYS", "DATA_DIR", "IPFS_GATEWAYS", "MIRROR_NODE_RATE", "MIRROR_NODE_URL")
# The only variables of their environment: proxies, certificates, and where our code is.
PASSED_ON = {"http_proxy", "https_proxy", "no_proxy", "all_proxy", "ssl_cert_file", "ssl_cert_dir"}
PASSED_ON |= {"requests_ca_bundle", "curl_ca_bundle", "res_options", "ld_library_path"}
# Freed memory goes back to the system at once.
ALLOCATOR = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
# Signals that the image did not cause: the system is out of memory, or is stopping us.
ENDED_BY_OTHERS = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP)


class EnrichmentProcesses:
    """Starts a process for each try, through a fork server. Several threads may use it."""

    def __init__(self, settings: Mapping[str, Any], make_adapters: MakeAdapters) -> None:
        self._arguments = {name: settings[name] for name in NEEDED}, make_adapters
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._messages = socket.socket()  # to the fork server

    def enrich(self, pointer: str, limits: Limits) -> Found:
        """Find the metadata and the image of an NFT."""
        seconds = _seconds(limits) + KILLED_AFTER_SECONDS
        (ours, theirs), (ended, ending) = Pipe(), Pipe(duplex=False)
        with ours, ended:
            try:
                with theirs, ending:
                    self._send([theirs.fileno(), ending.fileno()])
                ours.send((RUN, seconds, (pointer, limits, *self._arguments)))
            except OSError as error:
                return Found(Outcome.BUSY, f"nothing can be fetched now: {type(error).__name__}")
            return receive(ours, ended, limits)

    def _send(self, descriptors: Iterable[int]) -> None:
        """Send descriptors to the fork server. Start one if none is running. Raises OSError."""
        with self._lock:
            try:
                socket.send_fds(self._messages, [b"."], descriptors)
            except OSError:
                self._start_server()
                socket.send_fds(self._messages, [b"."], descriptors)

    def _start_server(self) -> None:
        """Start a fork server without our environment, which may hold passwords and keys."""
        self._messages.close()
        self._messages, theirs = socket.socketpair()
        kept = {name: value for name, value in os.environ.items() if name.lower() in PASSED_ON}
        kept["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
        imported = RUN.partition(":")[0], self._arguments[1].__module__
        command = [sys.executable, "-m", fork_server.__name__, str(IDLE_SECONDS), *imported]
        with theirs:
            self._server = subprocess.Popen(  # noqa: S603
                command, stdin=theirs.fileno(), env=kept | ALLOCATOR, start_new_session=True
            )
        threading.Thread(target=self._server.wait, daemon=True).start()

    def close(self) -> None:
        """Kill all processes."""
        with self._lock:
            self._messages.close()
            if self._server and self._server.poll() is None:
                os.killpg(self._server.pid, signal.SIGKILL)


def receive(answers: Connection, ended: Connection, limits: Limits) -> Found:
    """Read the messages of a process until it ends, or its time is up."""
    found = None
    until = time.monotonic() + _seconds(limits)
    outcome, reason = Outcome.SLOW, "it took too long"
    try:
        while answers.poll(max(0, until - time.monotonic())):
            read = read_message(answers.recv_bytes(MAX_MESSAGE_BYTES))
            # The second message comes from the image's decoder, so only what it says about the image counts.
            found = (
                found._replace(outcome=read.outcome, reason=read.reason, image=read.image)
                if found
                else read
            )
    except EOFError:
        if time.monotonic() < until:
            outcome, reason = _explain_end(_read_exit_code(ended), found, limits)
    except (OSError, ValueError, TypeError):  # a message that is too long, or invalid
        outcome, reason = Outcome.UNUSABLE, "it breaks the image decoder"
    if found is None:
        return Found(outcome, reason)
    if found.image or found.outcome is not Outcome.COMPLETE:
        return found
    return found._replace(outcome=outcome, reason=reason)


def _seconds(limits: Limits) -> float:
    return limits.fetching + 3 * limits.decoding + SPARE_SECONDS


def _read_exit_code(ended: Connection) -> int:
    try:
        return int(ended.recv())
    except EOFError:  # the keeper, which sends the code, was killed, too
        return -signal.SIGKILL


def _explain_end(code: int, found: Found | None, limits: Limits) -> tuple[Outcome, str]:
    if code == -signal.SIGPROF and limits is QUICK:
        return Outcome.SLOW, "it takes longer to decode: it is tried again with more time"
    if code == -signal.SIGPROF:
        return Outcome.UNUSABLE, "it takes too long to decode"
    if code in ENDED_BY_OTHERS:
        return Outcome.BUSY, "the process that reads it was killed"
    if found is None:
        return Outcome.UNREACHABLE, "it breaks the process that fetches it"
    return Outcome.UNUSABLE, "it breaks the image decoder"
