"""Nobody who signs nothing stops others from buying: a short run of stress/buying.py."""

import pytest

from stress.buying import DEPLOYMENTS, besiege

FIRST, *_ = DEPLOYMENTS


@pytest.mark.parametrize(
    ("engine", "deployment"),
    [("postgresql", FIRST), *(("sqlite", each) for each in DEPLOYMENTS)],
    indirect=["engine"],
)
def test_honest_buyers_buy_among_three_visitors_of_two_services(tmp_path, deployment):
    got = besiege(tmp_path, deployment, 2, visitors=3, tries=4)
    assert got.bought == got.tries
    assert got.reserved >= 5
