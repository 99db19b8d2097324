"""A wallet of WalletConnect's own library, in a process of its own, and its user."""

import json
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from harness.serving import ROOT

FOLDER = ROOT / "sandbox/tests/system/relay"
needs_packages = pytest.mark.skipif(
    not shutil.which("node") or not (FOLDER / "node_modules").exists(),
    reason="needs WalletConnect's packages (make tools, with npm)",
)


class Wallet:
    """The program desk.mjs."""

    def __init__(self, process):
        self._process = process

    def say(self, line):
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def read(self):
        return json.loads(self._process.stdout.readline())

    def has(self, outcome):
        """Wait for the next request; return whether it ended so."""
        return self.read()["outcome"] == outcome


@contextmanager
def open_wallet(**settings):
    """``settings``: those of desk.mjs."""
    command = ["node", str(FOLDER / "desk.mjs"), json.dumps(settings)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, **pipes)
    try:
        own = Wallet(process)
        assert own.read()["method"] == "start"
        yield own
    finally:
        process.kill()
        process.communicate()
