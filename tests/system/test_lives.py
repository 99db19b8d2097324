"""Random stories of NFTs, told to the service and to a model of the rule: other ones each day."""

from datetime import UTC, datetime

from tests.engines import both_engines
from tests.market.test_lives import assert_told

pytestmark = both_engines

SECONDS = 30


def test_whatever_happens_the_next_round_makes_it_right(tmp_path, monkeypatch):
    today = datetime.now(UTC).toordinal()
    assert_told(tmp_path, monkeypatch, today * 1000, SECONDS)
