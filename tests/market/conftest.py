"""A marketplace with one NFT for sale after the other."""

import pytest

from tests.market.selling import Market


@pytest.fixture
def market(tmp_path):
    return Market(tmp_path)


@pytest.fixture
def make_market(tmp_path):
    """The same, with settings of its own."""
    return lambda **more: Market(tmp_path, **more)
