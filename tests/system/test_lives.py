"""Stories of new seeds, so that each run tells others than the last."""

import random

from tests.market.test_lives import assert_told


def test_stories_of_new_seeds(tmp_path, monkeypatch):
    assert_told(tmp_path, monkeypatch, random.SystemRandom().randrange(10**9), 20)
