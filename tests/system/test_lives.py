"""Random histories of NFTs, given to the service and to a model of the rule. They differ each day."""

from datetime import UTC, datetime

import pytest

from stress import lives
from tests.engines import both_engines

pytestmark = [pytest.mark.alone, both_engines]

SECONDS = 30


def test_whatever_happens_the_next_round_makes_it_right(tmp_path, monkeypatch):
    today = datetime.now(UTC).toordinal()
    lives.make_mortal(monkeypatch.setattr)
    played, failure = lives.play(lives.World(tmp_path), today * 1000, SECONDS, most=10_000)
    assert failure is None, failure
    assert played > 0
