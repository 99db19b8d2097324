"""No image costs more memory than was promised. tests/system/test_bombs.py tries the whole corpus."""

import pytest

from harness.images import CORPUS
from tests.watcher.bombs import REFUSED, assert_bounded, cost


@pytest.mark.parametrize("name", REFUSED)
def test_memory_is_given_as_the_reason(name):
    found = cost(CORPUS[name]())
    assert_bounded(found)
    assert "memory" in found.outcome
