"""Limits the processes that meet strangers. docs/metadata.md says what they can still do."""

import ctypes
import errno
import os
import platform
import resource
import signal
import struct
from contextlib import suppress

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38  # of linux/prctl.h
NOBODY = 65534
MAX_READER_BYTES = 400_000_000  # addresses: also of libraries, most of which are never in memory
MAX_MORE_BYTES = 220_000_000  # for a decoder, in addition to what the reader has


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

    It gets no further descriptors, so it can open no file and no socket, on any kernel. It can start threads,
    but no process. Its own bytes count toward its memory limit. Root could raise the limits again, so root
    becomes nobody. In a user namespace without another user, root stays, but cannot raise them. Later imports
    fail.
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
    _forbid_processes()
    # At the first limit comes SIGXCPU, which tells us why it ended; at the second one, SIGKILL.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    _require_final_limits()


# The machine's number in linux/audit.h, clone() and all other system calls that start a process or a program.
SYSTEM_CALLS = {
    "x86_64": (0xC000003E, 56, (57, 58, 59, 322)),
    "aarch64": (0xC00000B7, 220, (221, 281)),
}
CLONE3, X32 = 435, 0x40000000  # X32: the first number of another set of system calls
CLONE_THREAD = 0x10000
LOAD, IS, IS_NOT_BELOW, HAS_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # of linux/bpf_common.h
NUMBER, MACHINE, FLAGS = 0, 4, 16  # where seccomp_data has them
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000  # of linux/seccomp.h
SECCOMP_MODE_FILTER = 2


def _forbid_processes() -> None:
    """Have the kernel refuse new processes and programs. Later threads inherit this.

    A limit of their number would also refuse threads, with which libvips and libwebp work.
    """
    machine, clone, refused = SYSTEM_CALLS[platform.machine()]
    rules = [(LOAD, 0, 0, MACHINE), (IS, 1, 0, machine), (RETURN, 0, 0, KILL), (LOAD, 0, 0, NUMBER)]
    for number in refused:
        rules += [(IS, 0, 1, number), (RETURN, 0, 0, REFUSE | errno.EPERM)]
    rules += [
        (IS_NOT_BELOW, 0, 1, X32),
        (RETURN, 0, 0, KILL),
        (IS, 0, 1, CLONE3),  # its flags are out of sight: without it, clone() is called
        (RETURN, 0, 0, REFUSE | errno.ENOSYS),
        (IS, 0, 3, clone),
        (LOAD, 0, 0, FLAGS),
        (HAS_BITS, 1, 0, CLONE_THREAD),
        (RETURN, 0, 0, REFUSE | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    with suppress(OSError):  # some emulators and kernels have no filters: the limits remain
        filter_system_calls(rules)


def filter_system_calls(rules: list[tuple[int, int, int, int]]) -> None:
    """Apply a filter to this process, as seccomp(2) says. Raises OSError."""
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *rule) for rule in rules))
    both = struct.pack("@HP", len(rules), ctypes.addressof(program))
    length_and_program = ctypes.create_string_buffer(both)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(length_and_program))


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


def _prctl(option: int, *values: int) -> None:
    """Call prctl() of the C library. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, *map(ctypes.c_ulong, (*values, 0, 0, 0, 0)[:4])):
        raise OSError(ctypes.get_errno(), "prctl() failed")
