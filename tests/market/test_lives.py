"""The order book is a function of the ledger: random stories, played by the service and by a model.

tests/system/test_lives.py and ``python -m stress.lives`` play more of them.
"""

from math import inf

from stress import lives
from tests.engines import both_engines

pytestmark = both_engines

STORIES = 5


def test_random_lives_agree_with_a_model_after_a_sync(tmp_path, monkeypatch):
    lives.make_mortal(monkeypatch.setattr)
    assert lives.play(lives.World(tmp_path), 1, inf, most=STORIES) == (STORIES, None)
