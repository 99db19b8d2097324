"""The order book is a function of the ledger: random stories, told to the service and to a model.

tests/system/test_lives.py and ``make lives`` tell more of them.
"""

from stress import lives
from tests.engines import both_engines

pytestmark = both_engines

SECONDS = 2


def test_random_lives_agree_with_a_model_after_a_sync(tmp_path, monkeypatch):
    assert_told(tmp_path, monkeypatch, 1, SECONDS)


def assert_told(folder, monkeypatch, seed, seconds):
    lives.make_mortal(monkeypatch.setattr)
    world = lives.World(folder)
    played, failure = lives.play(world, seed, seconds, most=10_000)
    assert failure is None, failure
    assert played > 0
