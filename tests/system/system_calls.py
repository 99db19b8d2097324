"""Applies a unit's SystemCallFilter= to this process, as systemd would, and then reads an image.

    python -m tests.system.system_calls UNIT

systemd-analyze says which system calls the names of a filter stand for, and libseccomp applies the filter.
"""

import base64
import ctypes
import json
import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from harness.images import encoded, small
from marketplace.settings import load
from marketplace.watcher.enrichment_processes import EnrichmentProcesses
from marketplace.watcher.enrichment_result import LONG

KILL, ALLOW = 0x80000000, 0x7FFF0000  # of seccomp.h


def sets():
    """The sets of system calls that systemd knows by name."""
    listed = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True)
    return {
        block.split()[0]: re.findall(r"^    ([@\w-]+)$", block, re.MULTILINE)
        for block in re.split(r"\n(?=@)", listed.stdout)
        if block.startswith("@")
    }


def expand(names, known):
    for name in names:
        yield from expand(known[name], known) if name.startswith("@") else [name]


def allowed(unit):
    known = sets()
    calls = set(expand(["@default"], known))
    for line in re.findall(r"^SystemCallFilter=(.*)$", unit, re.MULTILINE):
        named = set(expand(line.lstrip("~").split(), known))
        calls = calls - named if line.startswith("~") else calls | named
    return calls


def apply(calls):
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(KILL))
    for call in calls:
        number = library.seccomp_syscall_resolve_name(call.encode())
        if number >= 0:
            assert not library.seccomp_rule_add(context, ALLOW, number, 0), call
    assert not library.seccomp_load(context)


if __name__ == "__main__":
    calls = allowed(Path(sys.argv[1]).read_text())
    if os.geteuid() == 0:  # the unit's user is not root
        calls |= {"setuid", "setgid", "setgroups"}
    apply(calls)
    image = base64.b64encode(encoded(small(), "PNG")).decode()
    pointer = json.dumps({"name": "A", "image": f"data:;base64,{image}"})
    with closing(EnrichmentProcesses(load({"NETWORK": "sandbox"}, {}), dict)) as processes:
        print(processes.enrich(pointer, LONG).outcome)
