"""Nobody who signs nothing stops others from buying: a short run of stress/buying.py."""

import pytest

from stress.buying import DEPLOYMENTS, besiege
from tests.engines import both_engines

pytestmark = both_engines


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_honest_buyers_buy_among_three_visitors_of_two_services(tmp_path, deployment):
    got = besiege(tmp_path, deployment, 2, visitors=3, tries=4)
    assert got.bought == got.tries
    assert got.reserved >= 5
