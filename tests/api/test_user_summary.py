"""What an account owns, sold and bought."""

import pytest

from harness.cast import ALICE, BOB, TOKEN
from marketplace.market import moderation
from marketplace.market.moderation import Ruling, Subject
from tests.actions import tell
from tests.engines import both_engines

OTHER = "0.0.7002"
NOTHING = {
    "nfts": 0, "listed": 0, "sales": 0, "salesVolume": 0, "purchases": 0, "purchasesVolume": 0,
}  # fmt: skip


def summary(client, account_id=ALICE):
    r = client.get(f"/v1/user/{account_id}/summary")
    assert r.status_code == 200, r.text
    return r.json


@both_engines
def test_it_works(app, client, lister, mirror):
    lister((TOKEN, 7), listing_price=20)
    lister((TOKEN, 8), listing_price=30)
    sold = {"price": 250, "from_account": ALICE, "to_account": BOB}
    tell(
        app,
        sold,
        sold | {"token": OTHER, "price": 5},
        sold | {"kind": "TRANSFERRED", "price": None},
    )
    tell(app, {"price": 7, "from_account": BOB, "to_account": ALICE, "serial_no": 8})
    name = client.get(f"/v1/collection/{TOKEN}").json["name"]
    of_token = {
        "token": TOKEN, "name": name, "nfts": 2, "listed": 2, "floorPrice": 20, "sales": 1,
        "salesVolume": 250, "purchases": 1, "purchasesVolume": 7,
    }  # fmt: skip
    of_other = {"token": OTHER, "name": None, "floorPrice": None} | NOTHING
    assert summary(client) == {
        "accountId": ALICE, "nfts": 2, "listed": 2, "floorValue": 40, "sales": 2, "salesVolume": 255,
        "purchases": 1, "purchasesVolume": 7,
        "collections": [of_token, of_other | {"sales": 1, "salesVolume": 5}],
    }  # fmt: skip
    assert summary(client, BOB)["purchasesVolume"] == 255


@both_engines
def test_hidden_nfts_do_not_count(app, client, lister):
    lister((TOKEN, 7))
    tell(app, {"price": 250, "from_account": ALICE})
    with app.app_context():
        moderation.hide(Subject(TOKEN, 7), Ruling("for the test"))
    assert summary(client) == {"accountId": ALICE, "floorValue": 0, "collections": []} | NOTHING


@pytest.mark.parametrize("account_id", ["1001", "0.0.x"])
def test_it_rejects(client, account_id):
    assert client.get(f"/v1/user/{account_id}/summary").status_code == 422
