"""NFTs by account and by id: what is stored, for sale or not."""

import pytest

from harness.cast import ALICE, BOB, KEYS, TOKEN
from marketplace.watcher.sweep import sync
from tests.answers import assert_error
from tests.api.pages import follow, page_of
from tests.engines import both_engines

OTHER = "0.0.7002"


def add(client, token, serial_no, account_id=ALICE):
    body = KEYS | {"tokenId": token, "serialNo": serial_no, "accountId": account_id}
    assert client.post("/v1/add", json=body).status_code == 200


def ids(r):
    assert r.status_code == 200, r.text
    return [nft and (nft["token"], nft["serialNo"]) for nft in r.json]


def held(client, account_id=ALICE, **query):
    return client.get(f"/v1/user/{account_id}/nfts", query_string=query)


def find(client, *nft_ids):
    return client.get("/v1/nfts", query_string={"id": nft_ids})


def test_an_account_holds_what_is_listed_and_what_is_not(app, client, lister, ledger):
    lister((TOKEN, 7))
    for serial_no in (12, 3, 9):
        add(client, TOKEN, serial_no)
    add(client, OTHER, 1)
    add(client, OTHER, 2, BOB)
    assert ids(held(client)) == [(TOKEN, 3), (TOKEN, 7), (TOKEN, 9), (TOKEN, 12), (OTHER, 1)]
    assert held(client).json[1] == client.get(f"/v1/nft/{TOKEN}/7").json
    assert held(client).headers["X-Events-Cursor"]
    ledger.hand_over((TOKEN, 7), BOB)
    ledger.delete_token(OTHER)
    with app.app_context():
        sync()
    assert ids(held(client)) == [(TOKEN, 3), (TOKEN, 9), (TOKEN, 12)]
    assert ids(held(client, BOB)) == [(TOKEN, 7)]
    assert ids(held(client, "0.0.999999")) == []


def test_its_pages_lead_on(client):
    for token, serial_no in ((TOKEN, 1), (TOKEN, 2), (OTHER, 1)):
        add(client, token, serial_no)
    pages = [ids(r) for r in follow(client, f"/v1/user/{ALICE}/nfts?limit=1")]
    assert pages == [[(TOKEN, 1)], [(TOKEN, 2)], [(OTHER, 1)]]


@both_engines
def test_an_accounts_nfts_of_a_collection(client):
    for token, serial_no in ((TOKEN, 1), (TOKEN, 2), (OTHER, 1), (OTHER, 3)):
        add(client, token, serial_no)
    for token, serials in ((TOKEN, (1, 2)), (OTHER, (1, 3)), ("0.0.9", ())):
        rows = follow(client, f"/v1/user/{ALICE}/nfts?limit=1&tokenId={token}")
        assert [nft for r in rows for nft in ids(r)] == [(token, serial) for serial in serials]
    page = page_of(held(client, limit=1))
    assert_error(held(client, tokenId=OTHER, page=page), 422, "page must be")


def test_it_refuses_the_page_of_another_list(client, lister):
    lister((TOKEN, 1))
    lister((TOKEN, 2))
    page = page_of(client.get("/v1/orderbook?limit=1"))
    assert_error(held(client, page=page), 422, "page must be a page token from this list")


def test_it_finds_nfts_in_the_order_asked(client, nft):
    add(client, OTHER, 5)
    r = find(client, f"{OTHER}:5", f"{TOKEN}:999", f"{TOKEN}:7", f"{OTHER}:5")
    assert ids(r) == [(OTHER, 5), None, (TOKEN, 7), (OTHER, 5)]
    assert r.json[2] == client.get(f"/v1/nft/{TOKEN}/7").json


@pytest.mark.parametrize(
    ("nft_ids", "message"),
    [
        ([], "id is required"),
        ([f"{TOKEN}:7"] * 101, "id must be given 1 to 100 times"),
        *(([value], "must be a token id, a colon and a serial number") for value in
          ("", TOKEN, f"{TOKEN}:0", f"{TOKEN}:07", f"{TOKEN}#7", f"{TOKEN}:{2**63}", f"0.0.{2**63}:1")),
    ],
)  # fmt: skip
def test_it_rejects(idle_client, nft_ids, message):
    assert_error(find(idle_client, *nft_ids), 422, message)


def test_a_hundred_ids_in_one_request(client, nft):
    r = find(client, *(f"{TOKEN}:{serial_no}" for serial_no in range(1, 101)))
    assert [nft is not None for nft in r.json] == [n == 7 for n in range(1, 101)]
