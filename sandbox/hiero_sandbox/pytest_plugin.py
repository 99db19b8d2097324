"""Fixtures for pytest: a sandbox in its own process, reset for each test."""

from collections.abc import Iterator

import pytest

from hiero_sandbox.testing import Sandbox, serving


@pytest.fixture(scope="session")
def hiero_sandbox_process() -> Iterator[Sandbox]:
    """The sandbox of all tests, on ports that were free."""
    with serving() as sandbox:
        yield sandbox


@pytest.fixture
def hiero_sandbox(hiero_sandbox_process: Sandbox) -> Sandbox:
    """A sandbox whose ledger has the known accounts alone."""
    hiero_sandbox_process.reset()
    return hiero_sandbox_process
