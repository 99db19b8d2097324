"""An account may be named by its EVM address in a body. The ledger says which account that is."""

import json
import time

import pytest
from werkzeug.wrappers import Response

from harness.cast import ALICE, KEYS
from marketplace.market import reconciler
from tests.answers import assert_error

ADDRESS = "0x" + "00" * 18 + "03E9"  # 0.0.1001, by its number
UNKNOWN = "0x" + "ab" * 20
POSTS = [
    ("/v1/add", {}),
    ("/v1/list/extwallet", {"listingPrice": 250}),
    ("/v1/delist/extwallet", {}),
    ("/v1/buy/extwallet", {}),
    ("/v1/comingsoon", {}),
]


def test_it_works(client, nft, mirror):
    body = KEYS | {"accountId": ADDRESS, "listingPrice": 250}
    r = client.post("/v1/list/extwallet", json=body)
    assert r.status_code == 200
    assert r.json["metadata"]["accountToSign"] == ALICE
    assert f"/accounts/{ADDRESS}" in mirror.asked
    assert_error(client.post("/v1/buy/extwallet", json=body), 409)


@pytest.mark.parametrize(
    ("answer", "status"),
    [({"account": ALICE, "balance": None}, 200), ({"account": None}, 502), ({}, 502)],
)
def test_the_mirror_nodes_account_of_an_evm_address_is_taken(client, nft, mirror, answer, status):
    mirror.answer(f"/accounts/{UNKNOWN}", Response(json.dumps(answer)))
    body = KEYS | {"accountId": UNKNOWN, "listingPrice": 250}
    r = client.post("/v1/list/extwallet", json=body)
    assert r.status_code == status
    assert status != 200 or r.json["metadata"]["accountToSign"] == ALICE


@pytest.mark.parametrize(("path", "more"), POSTS)
def test_it_handles_an_address_of_nobody(client, nft, path, more):
    r = client.post(path, json=KEYS | {"accountId": UNKNOWN} | more)
    assert_error(r, 404, f"No account on the ledger has the EVM address {UNKNOWN}")
    assert r.json["reason"] == "ACCOUNT_NOT_ON_LEDGER"


def test_it_handles_a_ledger_that_is_down(client, nft, mirror):
    mirror.fail("/accounts/0x")
    assert_error(client.post("/v1/add", json=KEYS | {"accountId": ADDRESS}), 503)


def test_one_deadline_bounds_all_requests_of_an_add(client, mirror, monkeypatch):
    monkeypatch.setattr(reconciler, "LEDGER_SECONDS", 1)
    mirror.before("/", lambda environ: time.sleep(0.6))
    assert_error(client.post("/v1/add", json=KEYS | {"accountId": ADDRESS}), 503)
    assert mirror.count("/accounts/0x") == 1
