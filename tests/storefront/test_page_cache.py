"""Pages that are the same for everybody are cached until something changes, here and by caches before us."""

import gzip
import re

import pytest

from harness.apps import on_testnet, write_sql
from harness.cast import SHOP, TOKEN
from marketplace.hedera import times
from marketplace.storefront import head
from tests.engines import both_engines

COLLECTION = "INSERT INTO collection (token, name, retry_at) VALUES (:token, 'x', '9999')"


@pytest.fixture
def shop(tmp_path):
    app = on_testnet(tmp_path, **SHOP)
    app.test_client().get("/")  # the first page of all stores the visitors' secret
    return app


def get(app, path="/", **headers):
    return app.test_client().get(path, headers=headers)


def made_at(page):
    """The millisecond in which it was made: that of a cached page stays the same."""
    return re.search('data-now="([0-9]+)"', page.text)[1]


@both_engines
def test_a_page_is_made_again_after_a_commit(shop):
    for path in ("/", "/collections", "/activity?kind=sales", "/account/0.0.1001"):
        # PostgreSQL counts commits of all its databases: also those of other tests.
        assert any(made_at(get(shop, path)) == made_at(get(shop, path)) for _ in range(20)), path
    before = made_at(get(shop))
    write_sql(shop, COLLECTION, token=TOKEN)
    assert made_at(get(shop)) != before


def test_shared_caches_may_keep_it_and_ask_whether_it_is_valid(shop):
    first = get(shop)
    assert first.headers["Cache-Control"] == "public, no-cache"
    assert first.headers["Vary"] == "Accept-Encoding"
    again = get(shop, If_None_Match=first.headers["ETag"])
    assert (again.status_code, again.data) == (304, b"")
    for name in ("Cache-Control", "Content-Security-Policy", "Referrer-Policy", "Vary"):
        assert again.headers[name] == first.headers[name], name
    packed = get(shop, Accept_Encoding="gzip")
    assert gzip.decompress(packed.data).decode().count("<h1") == 1
    assert packed.headers["ETag"] != first.headers["ETag"]


def test_it_is_as_old_as_its_words_of_time_allow(shop, monkeypatch):
    before, now = made_at(get(shop)), times.now()
    monkeypatch.setattr(times, "now", lambda: now + 21 * times.SECOND)
    assert made_at(get(shop)) != before
    monkeypatch.setattr(times, "now", lambda: now + times.HOUR)
    assert made_at(get(shop)) != before


def test_one_request_makes_it_again_for_all(shop, monkeypatch):
    before, now = made_at(get(shop)), times.now()
    monkeypatch.setattr(times, "now", lambda: now + 21 * times.SECOND)
    make, during = head.describe, []

    def ask_meanwhile(*values):
        monkeypatch.setattr(head, "describe", make)
        during.append(made_at(get(shop)))
        return make(*values)

    monkeypatch.setattr(head, "describe", ask_meanwhile)
    after = made_at(get(shop))
    assert during == [before] and after != before
    assert made_at(get(shop)) == after


def test_each_host_has_its_own(shop):
    assert made_at(get(shop, Host="a.example")) != made_at(get(shop, Host="b.example"))


def test_a_refusal_is_not_kept(shop):
    page = get(shop, "/nft/0.0.5001/7")
    assert page.status_code == 404
    assert made_at(get(shop, "/nft/0.0.5001/7")) != made_at(page)


def test_what_a_host_lets_one_user_see_is_not_shared(tmp_path):
    app = on_testnet(tmp_path, **SHOP, authenticate=lambda request, scope: "alice")
    page = get(app)
    assert page.headers["Cache-Control"] == "private, no-cache"
    assert made_at(get(app)) != made_at(page)
