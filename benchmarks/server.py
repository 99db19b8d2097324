"""Server processes: started on a core of their own, waited for, looked at, and always ended."""

import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

START_SECONDS = 60
STOP_SECONDS = 10
DIE_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG


class Server(NamedTuple):
    port: int


@cache  # before a process of ours is pinned itself
def cores() -> tuple[int, int]:
    """One core for servers, another for the load."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[-1], allowed[0]


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@contextmanager
def running(command: list[str], environ: dict, cwd: Path, core: int, log: Path) -> Iterator[Server]:
    """Run a server until the end of the block; ``{port}`` in its command becomes a free port."""
    port = free_port()
    words = [word.replace("{port}", str(port)) for word in command]
    environ = environ | {"PORT": str(port)}
    libc = ctypes.CDLL(None)

    def before_exec():
        os.sched_setaffinity(0, {core})
        libc.prctl(DIE_WITH_PARENT, signal.SIGTERM)

    with open(log, "wb") as output:
        process = subprocess.Popen(
            words,
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=before_exec,
        )
    try:
        _wait_until_it_answers(process, port, log)
        yield Server(port)
    finally:
        stop(process)


def stop(process: subprocess.Popen) -> None:
    """End a process and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(STOP_SECONDS)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _wait_until_it_answers(process: subprocess.Popen, port: int, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
                sock.sendall(b"GET /nowhere HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
                if sock.recv(1):
                    return
        except OSError:
            pass
        time.sleep(0.05)
    said = log.read_text(errors="replace")[-2000:]
    raise SystemExit(f"A server did not start: {' '.join(map(str, process.args))}\n{said}")
