"""The programs of stress/, and some of benchmarks/, as commands: each understands its options, and ends."""

import re
import shutil
import sys

import pytest

from harness.serving import ROOT, environment, run_program

PROGRAMS = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
    for path in sorted((ROOT / "stress").rglob("*.py"))
    if '__name__ == "__main__"' in path.read_text()
] + ["benchmarks.gets"]
# The shortest run of each program. Those that need other programs or a network of their own have none;
# stress.soak has a test of its own.
SHORT_RUNS = {
    "benchmarks.sizes": [],
    "stress.baskets": ["--seconds", "1", "--at-once", "2"],
    "stress.failover": ["--seconds", "0.5", "--only", "lose_a_standby"],
    "stress.lives": ["--seed", "1", "--stories", "1"],
}
ATTACK = ["--seconds", "4", "--clients", "5"]
needs_wrk = pytest.mark.skipif(not shutil.which("wrk"), reason="wrk is not installed: make tools")


def start(module, *options):
    command = [sys.executable, "-m", module, *options]
    return run_program(*command, cwd=ROOT, env=environment(), timeout=300, check=True).stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_understands_its_options(program):
    assert f"-m {program}" in start(program, "--help") or "usage: " in start(program, "--help")


@pytest.mark.parametrize("program", SHORT_RUNS)
def test_it_runs_to_its_end(program):
    assert start(program, *SHORT_RUNS[program])


@pytest.mark.alone
@needs_wrk
def test_an_attack_is_made():
    """argparse refused the default of its own list of attacks."""
    output = start("stress.attack", *ATTACK, "--only", "a foreign lock")
    assert re.match(r"a foreign lock, 5 clients\n  order book +p50 .*\(200: \d+\)\n", output)


@pytest.mark.alone
@needs_wrk
def test_an_attack_by_a_name_server_is_made_or_said_to_be_impossible():
    output = start(
        "stress.attack", *ATTACK, "--seconds", "9", "--only", "the name server is silent"
    )
    is_made = re.search(
        r"^  order book +p50 .*\(200: \d+\)\n  status .*\n  add .*503", output, re.M
    )
    assert is_made or output.startswith("the name server is silent: not tried: only root can ")
