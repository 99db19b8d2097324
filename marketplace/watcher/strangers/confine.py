"""Limits the processes that meet strangers. docs/metadata.md says what they can still do."""

import ctypes
import os
import resource
import signal
from contextlib import suppress

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38  # of linux/prctl.h
NOBODY = 65534
MAX_READER_BYTES = 400_000_000  # addresses: also of libraries, most of which are never in memory
MAX_MORE_BYTES = 200_000_000  # for a decoder, in addition to what the reader has


def end_with_parent() -> None:
    """Have the kernel kill this process when its starting thread ends. Changing the user undoes this."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def limit() -> None:
    """Give this process no new privileges, and fewer resources than the service has.

    The service takes precedence, and the kernel kills this process first if memory is short.
    """
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_AS, MAX_READER_BYTES)
    os.nice(5)
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def confine(seconds: int, answer: int, parent: int, own_bytes: int = 0) -> None:
    """Leave this process one descriptor, for its answer, and a number of seconds of processor time.

    It gets no further descriptors, so it can open no file and no socket, on any kernel. It can start no
    process. Its own bytes count toward its memory limit. Root could raise the limits again, so root becomes
    nobody. In a user namespace without another user, root stays, but cannot raise them. Later imports fail.
    """
    if os.geteuid() == 0:
        with suppress(OSError):
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
    end_with_parent()
    if os.getppid() != parent:  # it has ended already
        os._exit(1)
    _set_limit(resource.RLIMIT_AS, _count_bytes() + MAX_MORE_BYTES - own_bytes)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    os.closerange(0, answer)
    os.closerange(answer + 1, most)
    _set_limit(resource.RLIMIT_NOFILE, 0)
    _set_limit(resource.RLIMIT_NPROC, 0)
    # At the first limit comes SIGXCPU, which tells us why it ended; at the second one, SIGKILL.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    _require_final_limits()


def _require_final_limits() -> None:
    """End this process if it could raise its limits again."""
    with suppress(ValueError, OSError):  # the kernel does not allow it
        _set_limit(resource.RLIMIT_NOFILE, 1)
        os._exit(1)


def _set_limit(number: int, limit: int) -> None:
    resource.setrlimit(number, (limit, limit))


def _count_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _prctl(option: int, value: int) -> None:
    """Call prctl() of the C library. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0))):
        raise OSError(ctypes.get_errno(), "prctl() failed")
