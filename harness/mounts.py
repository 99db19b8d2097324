"""Runs a program in a mount namespace of its own: no other process sees what it mounts."""

import os
import subprocess
import sys
import tempfile

IS_OWN = "OWN_MOUNT_NAMESPACE"  # in the environment of a program that runs in one


def are_own() -> bool:
    return IS_OWN in os.environ


def enter_namespace(module: str) -> None:
    """Start ``python -m module`` again, with the same arguments, in a mount namespace of its own.

    Returns if it is in one already, or if this machine or user has none: then are_own() is false.
    """
    if not are_own() and os.getuid() == 0 and _may_mount():
        command = ["unshare", "--mount", sys.executable, "-m", module, *sys.argv[1:]]
        os.execvpe(command[0], command, os.environ | {IS_OWN: "1"})


def _may_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        mount = f"mount -t tmpfs none {folder}"
        done = subprocess.run(["unshare", "--mount", "sh", "-c", mount], capture_output=True)
        return done.returncode == 0
