"""What readers notice of clients and hosts that want to cost everybody else something: in short."""

import shutil

import pytest

from stress import attack

pytestmark = pytest.mark.skipif(not shutil.which("wrk"), reason="wrk is not installed: make tools")


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
    assert measured["add"].statuses.get("200", 0) <= 5
    assert measured["add"].statuses.get("429", 0) > 5
