"""Confines a process that decodes an image: no files, network or privileges, and few system calls.

docs/metadata.md says which of these hold on which system.
"""

import ctypes
import os
import platform
import resource
import signal
import struct

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
SET_MODE_FILTER, ALL_THREADS = 1, 1  # of linux/seccomp.h
NOBODY = 65534
# The system calls that are allowed, by machine: reading, writing, memory, locks, signals, clocks, and exit.
# All others fail with EPERM. Numbers: the kernel's unistd_64.h and asm-generic/unistd.h.
X86_64 = "0 1 3 5 8 9 10 11 12 13 14 15 24 25 28 39 60 96 99 131 202 204 228 230 231 318"
AARCH64 = "57 62 63 64 80 93 94 98 113 115 123 124 132 134 135 139 169 172 179 214 215 216 222 226 233 278"
# The machine's number, the number of the system call seccomp, and the allowed numbers.
ALLOWED = {"x86_64": (0xC000003E, 317, X86_64), "aarch64": (0xC00000B7, 277, AARCH64)}
# Of linux/filter.h and linux/seccomp.h
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050001, 0x80000000
NUMBER, ARCHITECTURE = 0, 4  # offsets in seccomp_data


def is_filtered() -> bool:
    """Tell whether this machine's kernel can refuse system calls, and we know their numbers."""
    return platform.machine() in ALLOWED and os.path.exists("/proc/sys/kernel/seccomp")


def end_with_parent() -> None:
    """Have this process killed when its parent ends, or first if memory is short. It gains no privileges."""
    _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def confine(descriptor: int) -> None:
    """Leave this process only one descriptor: it can open no file, start no process, and connect to no host.

    Later imports fail. Without a free descriptor there is no new socket or file, on any kernel. Root could
    raise that limit again, so root becomes nobody.
    """
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    os.closerange(0, descriptor)
    os.closerange(descriptor + 1, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    if is_filtered():
        _filter(*ALLOWED[platform.machine()])


def _filter(architecture: int, seccomp: int, numbers: str) -> None:
    allowed = [int(number) for number in numbers.split()]
    steps = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_IF_EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        *((JUMP_IF_EQUAL, len(allowed) - i, 0, number) for i, number in enumerate(allowed)),
        (RETURN, 0, 0, REFUSE),
        (RETURN, 0, 0, ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    pointer = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
    program = ctypes.create_string_buffer(pointer)
    _call("syscall", seccomp, SET_MODE_FILTER, ALL_THREADS, ctypes.addressof(program))


def _call(function: str, *arguments: int) -> None:
    """Call a function of the C library. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*map(ctypes.c_ulong, arguments)):
        raise OSError(ctypes.get_errno(), "The process can not be confined")
