"""Random sales of new seeds, so that each run tries others than the last."""

import random

import pytest

from tests.market.test_custom_fees import Market, assert_right


@pytest.mark.once("what is asked of the database is asked by other tests")
def test_sales_of_new_seeds(tmp_path):
    assert_right(Market(tmp_path), random.SystemRandom().randrange(10**9), 300)
