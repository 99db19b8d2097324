"""Baskets of nine NFTs that are asked for at once, and single purchases beside them."""

from stress.baskets import LATE_SECONDS, Shop, crowd


def test_each_is_answered_in_time_and_single_purchases_go_on(tmp_path):
    """A third of three at once failed after four seconds, and so did the single purchases beside eight."""
    of_baskets, of_singles = crowd(Shop(tmp_path), 8, seconds=8)
    assert of_baskets.statuses.keys() == {200, 429}
    assert of_singles.statuses[200] >= 4
    assert of_singles.statuses.keys() <= {200, 429}
    assert max(of_baskets.slowest, of_singles.slowest) < LATE_SECONDS
