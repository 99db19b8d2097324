"""What readers notice of clients and hosts that want to cost everybody else something: in short."""

import shutil

import pytest

from harness.engines import ENGINES
from stress import attack, sequences

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not shutil.which("wrk"), reason="wrk is not installed: make tools"),
]


@pytest.mark.parametrize("name", ["metadata drips", "the mirror node is silent", "a foreign lock"])
def test_reads_are_answered_while_writes_wait(name):
    measured = attack.attack(name, seconds=6, clients=50, WRITE_LIMIT="off")
    assert set(measured["order book"].statuses) == {200}
    assert set(measured["status"].statuses) == {200}
    # Who is beyond the bound is refused at once, so most of them are.
    assert measured["add"].statuses.get("503", 0) > 10
    assert set(measured["add"].statuses) <= {"200", "503"}


def test_a_flood_of_writes_is_limited():
    measured = attack.attack("nothing but a flood", seconds=4, clients=20, WRITE_LIMIT="5/h")
    assert measured["add"].statuses.get("200", 0) <= 5 * attack.WORKERS  # each counts by itself
    assert measured["add"].statuses.get("429", 0) > 5


@pytest.mark.parametrize("engine", ENGINES)
def test_silent_visitors_hold_nothing_and_keep_nobody_out(engine):
    """Each preparation reserved its fee until the hour's budget was used up."""
    got = attack.besiege(engine, seconds=8, clients=50)
    assert {status for status, _ in got.answers} <= {200, 202}
    assert len(got.answers) >= 2
    assert (got.held, got.tinybars) == (0, 0)
    assert got.visitors[0]["statuses"].get("200", 0) > 10


@pytest.mark.parametrize("engine", ENGINES)
def test_nobody_loses_by_what_an_attacker_signs(engine):
    steps = (
        "fees are changed after signing",
        "offers crowd",
        "a verified collection is renamed",
        "purchases are killed",
    )
    assert sequences.run(engine, steps) == 0
