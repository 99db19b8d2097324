"""The order book is a function of the ledger: random stories, told to the service and to a model.

``make lives`` tells more of them.
"""

import random

import pytest

from tests import lives

SECONDS = 8  # for the stories of each kind of seeds


@pytest.mark.parametrize(
    "seed", [1, random.SystemRandom().randrange(10**9)], ids=["fixed", "fresh"]
)
def test_whatever_happens_the_next_round_makes_it_right(tmp_path, monkeypatch, seed):
    lives.make_mortal(monkeypatch.setattr)
    world = lives.World(tmp_path)
    played, failure = lives.tell(world, seed, SECONDS, most=10_000)
    assert failure is None, failure
    assert played > 0
