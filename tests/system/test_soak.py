"""A short soak, so that ``make soak``, which goes on for as long as it is told, stays fit for use."""

import os
import subprocess
import sys

import pytest

from tests.serving import ROOT

pytestmark = pytest.mark.once("a soak of each engine takes long: make soak")


def test_among_all_that_happens_nothing_is_lost_or_wrong():
    environ = {name: value for name, value in os.environ.items() if "MARKETPLACE" not in name}
    command = [
        sys.executable,
        *["-m", "stress.soak", "--seconds", "15", "--pause", "2", "--seed", "1"],
    ]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n0 findings" in done.stdout
