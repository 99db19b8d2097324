"""Waits for the processes of ``make run``, and ends all where a signal comes or one of them ends: run.py.

    python -I -S supervise.py web=123 watcher=124

They are children of this process, which leads none of their sessions. It imports little: it takes 5 MB.
"""

import os
import signal
import sys
import time
from contextlib import suppress

SECONDS = 1.3  # that processes have to end
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # SIGHUP: the terminal was closed


def supervise(processes: dict[int, str]) -> int:
    """Wait until a signal comes, or a process ends; then end all. Returns the exit code."""
    ended, number = [], signal.SIGCHLD  # which comes, too, where a process stops for a while
    while number not in ENDING and not ended:
        ended = [name for pid, name in processes.items() if has_ended(pid)]
        number = number if ended else signal.sigwait((*ENDING, signal.SIGCHLD))
    end(processes)
    if number in ENDING:
        return 0
    print("Ended, and all with it:", *ended, file=sys.stderr)
    return 1


def has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def end(processes: dict[int, str]) -> None:
    """Ask processes to end, and kill those that do not, with all that they have begun."""
    for pid in processes:
        os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + SECONDS
    while not all(map(has_ended, processes)) and (rest := until - time.monotonic()) > 0:
        signal.sigtimedwait((signal.SIGCHLD,), rest)
    for pid in processes:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


if __name__ == "__main__":
    words = (word.partition("=") for word in sys.argv[1:])
    sys.exit(supervise({int(pid): name for name, _, pid in words}))
