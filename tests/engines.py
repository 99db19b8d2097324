"""The engines that a test runs on."""

import pytest

from harness.engines import ENGINES

# A test runs on SQLite; with this, or with this as its module's pytestmark, on PostgreSQL, too.
both_engines = pytest.mark.parametrize("engine", ENGINES, indirect=True)
