"""A short soak, started as the command ``python -m stress.soak``, which usually runs for much longer."""

import sys

import pytest

from harness.serving import ROOT, environment, run_program


@pytest.mark.alone
def test_among_all_that_happens_nothing_is_lost_or_wrong():
    soak = ["-m", "stress.soak", "--seconds", "15", "--pause", "2", "--seed", "1"]
    done = run_program(sys.executable, *soak, cwd=ROOT, env=environment(), check=True)
    assert "\n0 findings" in done.stdout
