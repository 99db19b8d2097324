"""The sandbox inside the service: beside its addresses, below /sandbox, and nowhere on a real network."""

import pytest

from harness.apps import authorized_client, on_testnet, settings
from harness.cast import ALICE, KEYS, MARKET, TOKEN
from marketplace import create_app
from marketplace.sandbox import catalogue, wallet
from sandbox.tests.hapi import APPROVE, RECEIPTS
from sandbox.tests.sdk import approval_of_sdk, of_sdk

GRPC_WEB = {"Content-Type": "application/grpc-web+proto"}
EMPTY = bytes(5)  # a frame without content


@pytest.fixture
def post(client):
    return lambda path: client.post(path, data=EMPTY, headers=GRPC_WEB)


@pytest.mark.parametrize("path", ["/", "/market/"])
def test_its_own_node_is_beside_the_service(client, path):
    client.environ_base["SCRIPT_NAME"] = path.rstrip("/")
    assert "grpc-status" in client.post("/", data=b"", headers=GRPC_WEB).headers
    assert client.get("/").status_code == 200
    assert client.post("/", data=b"").status_code == 405
    assert client.options("/").status_code == 200


def test_a_call_is_counted_under_its_path(app, post):
    post(RECEIPTS)
    post("/proto.NobodyService/nothing")
    counted = authorized_client(app, "metrics").get("/metrics").text
    assert f'route="/sandbox{RECEIPTS}"' in counted
    assert "Nobody" not in counted


def test_no_real_network_has_a_node(tmp_path):
    client = on_testnet(tmp_path).test_client()
    assert client.post(APPROVE, data=EMPTY, headers=GRPC_WEB).status_code == 404


@pytest.mark.parametrize("prefix", ["/api", "/api/v1"])
def test_the_marketplace_may_stand_where_the_mirror_node_would(tmp_path, prefix):
    client = create_app(**settings(tmp_path), API_PREFIX=prefix).test_client()
    assert client.get(f"{prefix}/openapi.json").status_code == 200
    assert client.get(f"{prefix}/v1/orderbook").status_code == 401


def test_one_of_the_sample_has_no_attributes(client):
    token, serial_no = catalogue.PLAIN_NFT
    keys = {"accountId": ALICE, "tokenId": token, "serialNo": serial_no}
    client.post("/v1/add", json=keys)
    assert client.get(f"/v1/nft/{token}/{serial_no}").json["stringifiedAttributes"] is None


def test_a_listing_leaves_an_approve_for_all_in_place(client, nft, ledger):
    assert (
        ledger.submit(of_sdk(approval_of_sdk(), key=wallet.private_key(ALICE))).result == "SUCCESS"
    )
    listing = client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": 5})
    ledger.sign_and_submit(listing.json["byteArray"])
    shown = client.get(f"/sandbox/api/v1/accounts/{ALICE}/allowances/nfts").json
    [allowance] = shown["allowances"]
    assert (allowance["spender"], allowance["token_id"]) == (MARKET, TOKEN)


def test_the_desk_signs_a_listing_below_its_path(client, nft):
    listing = client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": 5})
    order = {"accountId": ALICE, "transaction": listing.json["byteArray"]}
    signed = client.post("/sandbox/sign", json=order).json["transaction"]
    r = client.post("/sandbox/transactions", json={"transaction": signed})
    assert r.json["result"] == "SUCCESS"


def test_the_key_of_an_account_is_printed(app):
    run = app.test_cli_runner().invoke
    assert run(args=["sandbox", "key", ALICE]).output.startswith("302e0201")
    for account_id in ("1000", "0.0", "x", "0.0.1\n"):
        refused = run(args=["sandbox", "key", account_id])
        assert refused.exit_code == 2
        assert "is not an account id" in refused.output
