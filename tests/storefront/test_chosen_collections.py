"""A shop that shows only some collections."""

import re

import pytest

from harness.apps import on_testnet, write_sql
from harness.cast import ALICE, SHOP
from tests.engines import both_engines

MINE, OTHER = "0.0.5001", "0.0.5002"
DATE = "2026-11-20T12:00:00.000000000Z"
NFT = """
    INSERT INTO nft (
        token, serial_no, name, file_type, owner, is_for_sale, is_listed, listing_price, ledger_at
    )
    VALUES (:token, :serial_no, :name, 'x', :owner, 1, 1, :price, :date)
"""
COLLECTION = """
    INSERT INTO collection (token, name, sort_name, retry_at, listed, is_verified)
    VALUES (:token, :name, 'tides', '9999', 2, :is_verified)
"""
DECISION = """
    INSERT INTO decision (kind, id, reason, since, is_public)
    VALUES ('verified', :token, 'ours', :date, 0)
"""
WORD = "INSERT INTO collection_word (word, token) VALUES ('tides', :token)"
EVENT = """
    INSERT INTO event (id, kind, token, serial_no, from_account, price, seen_at)
    VALUES (:id, 'LISTED', :token, 1, :owner, 5, :date)
"""


@pytest.fixture
def make(tmp_path):
    def make(collections):
        app = on_testnet(tmp_path, **SHOP, STOREFRONT_COLLECTIONS=collections)
        write_sql(app, DECISION, token=MINE, date=DATE)
        for id, token in enumerate((MINE, OTHER), 1):
            name = f"Tides {token}"
            write_sql(app, COLLECTION, token=token, name=name, is_verified=int(token == MINE))
            write_sql(app, WORD, token=token)
            write_sql(app, EVENT, id=id, token=token, owner=ALICE, date=DATE)
            for serial_no, price in ((1, 50), (2, 20)):
                row = {"token": token, "serial_no": serial_no, "price": price, "owner": ALICE}
                write_sql(app, NFT, **row, name=f"{name} #{serial_no}", date=DATE)
        return app.test_client()

    return make


def cards(page):
    return re.findall(r'<li class="card" data-key="([^"]*)"', page.text)


@both_engines
def test_verified_collections_alone_may_be_shown(make):
    assert_shows_mine_alone(make("verified"))


def test_or_those_of_a_list(make):
    assert_shows_mine_alone(make(MINE))


def assert_shows_mine_alone(client):
    for path in (
        "/",
        "/collections",
        "/activity",
        "/search?q=tides",
        f"/account/{ALICE}",
        "/sitemap.xml",
    ):
        page = client.get(path)
        assert page.status_code == 200
        assert MINE in page.text and OTHER not in page.text, path
    assert cards(client.get("/?sort=price")) == [f"{MINE}/2", f"{MINE}/1"]
    assert cards(client.get(f"/?collection={MINE}&sort=-price")) == [f"{MINE}/1", f"{MINE}/2"]
    assert client.get("/?minPrice=x").status_code == 422
    for path in (
        f"/collection/{OTHER}",
        f"/collection/{OTHER}/owners",
        f"/nft/{OTHER}/1",
        f"/?collection={OTHER}",
        f"/activity?collection={OTHER}",
        f"/sitemap/{OTHER}/0.xml",
    ):
        assert client.get(path).status_code == 404, path
    assert client.get(f"/nft/{MINE}/1").status_code == 200


def test_the_api_has_all_unless_it_is_asked_for_what_is_shown(make):
    client = make(MINE)
    headers = {"Authorization": f"Bearer {client.get('/visitor-token').json['token']}"}

    def tokens(path):
        found = client.get(f"/v1/{path}", headers=headers).json
        return [one["token"] for one in (found["collections"] if "search" in path else found)]

    for path in ("orderbook?", "collections?", "search?q=tides&"):
        assert {*tokens(path)} == {MINE, OTHER}
        assert {*tokens(path + "shown=true")} == {MINE}


@both_engines
@pytest.mark.parametrize("collections", ["verified", MINE])
def test_the_front_page_leads_to_all_that_is_shown(make, collections):
    client = make(collections)
    for token, serial_no in [(MINE, n) for n in range(3, 53)] + [(OTHER, n) for n in range(3, 53)]:
        row = {"token": token, "serial_no": serial_no, "price": 9, "owner": ALICE}
        write_sql(client.application, NFT, **row, name="x", date=DATE)
    shown, path = [], "/?sort=price"
    while path:
        page = client.get(path)
        shown += cards(page)
        more = re.search('rel="next" href="([^"]*)"', page.text)
        path = more and more[1].replace("&amp;", "&")
    assert sorted(shown) == sorted(f"{MINE}/{serial_no}" for serial_no in range(1, 53))


def test_older_activity_is_found_behind_what_is_not_shown(make):
    client = make(MINE)
    for id in range(3, 43):
        write_sql(client.application, EVENT, id=id, token=OTHER, owner=ALICE, date=DATE)
    page = client.get("/activity")
    assert MINE not in page.text
    older = re.search('rel="next" href="([^"]*)"', page.text)[1]
    assert MINE in client.get(older).text


def test_nothing_is_shown_before_something_is_verified(make):
    client = make("0.0.9")
    assert cards(client.get("/")) == []
    assert "Nothing for sale right now" in client.get("/").text
