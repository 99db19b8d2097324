"""The service in the sandbox with a console, for Alice and Bob."""

import pytest

from harness.apps import copy_app
from harness.cast import ALICE, BOB


@pytest.fixture
def make(tmp_path):
    def make(**more):
        own = {"STOREFRONT_OPERATORS": f"{ALICE},{BOB}", "WRITE_LIMIT": "600/m"}
        return copy_app(tmp_path, **own | more)

    return make


@pytest.fixture
def app(make):
    return make()
