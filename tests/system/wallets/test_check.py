"""The wallet check, with wallets of the official libraries: docs/wallets.md has what is recorded of it.

If this fails, run python -m tests.system.wallets.check, then make docs.
"""

import json

import pytest

from harness.desk import serve_desk
from tests.system.wallets.check import (
    KINDS,
    OFFICIAL,
    RECORDED,
    RELAY,
    WALLETS,
    bundle_official,
    read_results,
    run_check,
)
from tests.system.wallets.programs import find_versions, needs_wallets

pytestmark = [
    needs_wallets,
    pytest.mark.skipif(not (RELAY / "node_modules").exists(), reason="needs make tools"),
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    with serve_desk(tmp_path_factory.mktemp("desk")) as service:
        yield service


@pytest.mark.parametrize("wallet", WALLETS)
def test_the_page_has_what_it_found(desk, tmp_path, wallet):
    official = bundle_official(tmp_path)
    found = {kind: run_check(desk, official, wallet, kind, wait_seconds=1) for kind in KINDS}
    rows = json.loads(RECORDED.read_text())["rows"]
    assert read_results(found) == {row["id"]: row["results"][wallet] for row in rows}


def test_the_official_wallet_is_the_one_that_is_installed():
    assert OFFICIAL.endswith(find_versions()["@hashgraph/hedera-wallet-connect"])
