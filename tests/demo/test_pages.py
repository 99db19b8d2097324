"""What the server writes into the demo's pages: the answers of the API, in people's words, and as text."""

import re

import pytest

from harness.apps import write_sql
from harness.cast import TOKEN
from marketplace.demo.past import Past, earned, find_floors
from marketplace.demo.prices import Figure
from marketplace.demo.words import change, dollars, in_words, royalty_share, tinybars

MARKUP = '"><script>alert(1)</script>'


def cards(page):
    return re.findall(r'<li class="card" data-key="([^"]*)"', page.text)


def test_the_order_book_is_in_the_page(app, listed):
    page = app.test_client().get("/")
    assert cards(page) == [f"{TOKEN}/7"]
    assert "1 for sale" in page.text
    assert '<code class="path">/v1/orderbook</code>' in page.text


def test_a_strangers_words_are_text(app, listed):
    write_sql(app, "UPDATE nft SET name = :name, attributes = :traits", name=MARKUP,
              traits='[{"trait_type": "\\"><b>", "value": "<i>"}]')  # fmt: skip
    write_sql(app, "UPDATE collection SET name = :name, symbol = :name", name=MARKUP)
    client = app.test_client()
    for path in ("/", f"/demo/collection/{TOKEN}", f"/demo/nft/{TOKEN}/7", "/demo/activity"):
        page = client.get(path).text
        assert "alert(1)" in page, path
        assert not re.search("<script>|<b>|<i>", page), path


def test_a_collection_is_asked_for_by_its_name(app, listed):
    write_sql(app, "UPDATE collection SET name = 'Blue Hour'")
    client = app.test_client()
    assert cards(client.get("/?collection=blue+hour")) == [f"{TOKEN}/7"]
    assert cards(client.get("/?collection=red+hour")) == []


def test_what_is_wrong_stands_at_its_field(app):
    page = app.test_client().get("/?minPrice=1.5").text
    said = re.search(r'id="wrong-minPrice">([^<]*)<', page)[1]
    assert said.startswith("It must be a whole number from 0 to 50,000,000,000")
    assert 'role="alert"' in page


def test_a_trait_that_leads_to_nothing_is_not_offered(app, listed):
    write_sql(app, "UPDATE nft SET is_for_sale = 0, listing_price = 0")
    client = app.test_client()
    trait = re.search(r'\?trait=([^"]*)"', client.get(f"/demo/nft/{TOKEN}/7").text)[1]
    assert 'type="checkbox"' not in client.get(f"/demo/collection/{TOKEN}").text
    chosen = client.get(f"/demo/collection/{TOKEN}?trait={trait}").text
    assert len(re.findall('type="checkbox"', chosen)) == 1, "what is chosen can be taken back"


def test_an_accounts_nfts_are_valued_and_chosen(app, listed):
    client = app.test_client()
    owner = client.get("/").text
    owner = re.search(r'data-not-for="([^"]*)"', owner)[1]
    page = client.get(f"/demo/account/{owner}").text
    assert re.search(r"Worth at floor prices</dt><dd>\d+ HBAR", page)
    assert cards(client.get(f"/demo/account/{owner}?show=listed")) == [f"{TOKEN}/7"]
    assert cards(client.get(f"/demo/account/{owner}?collection=0.0.99")) == []


def test_the_pages_are_compressed_for_whoever_accepts_it(app):
    client = app.test_client()
    for path in ("/", "/demo/style.css", "/demo/static/parts.js"):
        with (
            client.get(path, headers={"Accept-Encoding": "identity"}) as plain,
            client.get(path, headers={"Accept-Encoding": "gzip"}) as packed,
        ):
            assert "Content-Encoding" not in plain.headers
            assert packed.headers["Content-Encoding"] == "gzip"
            assert len(packed.data) < len(plain.data) / 2
    with client.get(path, headers={"If-None-Match": packed.headers["ETag"]}) as again:
        assert again.status_code == 304


def event(kind, day, price=None, serial_no=1):
    accounts = {"from": {"accountId": "0.0.1"}, "to": {"accountId": "0.0.2"}}
    date = f"2025-01-0{day}T00:00:00Z"
    return {"kind": kind, "date": date, "price": price, "serialNo": serial_no} | accounts


def test_a_collections_floor_is_that_of_each_moment():
    events = [
        event("LISTED", 1, 50, serial_no=1),
        event("LISTED", 2, 30, serial_no=2),
        event("PRICE_CHANGED", 3, 60, serial_no=2),
        event("SOLD", 4, 50, serial_no=1),
        event("WITHDRAWN", 5, serial_no=2),
    ]
    past = Past(find_floors(events), [events[3]])
    assert [floor for _, floor in past.floors] == [50, 30, 50, 60, None]
    assert past.floor_a_day_ago is None
    assert (past.lowest, past.highest) == (30, 60)
    assert past.floor_path.count("V") == 3
    assert past.floor_path.startswith("M0 ")
    assert not past.floor_path.endswith("H100"), "nothing is listed now"


def test_an_artist_earns_nothing_by_sales_of_their_own():
    royalty = {"accountId": "0.0.9", "numerator": 5, "denominator": 100}
    sales = [event("SOLD", 1, 100), event("SOLD", 2, 20)]
    assert earned(sales, [royalty], fee=0) == 6_00000000
    assert earned(sales, [royalty], fee=1000) == 5_40000000
    assert earned(sales, [royalty | {"accountId": "0.0.1"}], fee=0) == 0


def test_prices_over_time_are_a_line_with_gaps():
    events = [event("LISTED", 1, 100), event("PRICE_CHANGED", 2, 80), event("SOLD", 3, 80)]
    figure = Figure.of(events)
    assert (figure.asked, figure.sold) == ("M0 0H50V20H100", "M100 20h.01")
    assert figure.prices == [100, 80, 80]
    assert Figure.of(events[:1]) is None


def test_words():
    assert tinybars(150_000_000) == "1.5 HBAR"
    assert tinybars(1_000_000_000_000) == "10,000 HBAR"
    assert dollars(100, {"cents": 12, "hbar": 1}) == "about $12.00"
    assert dollars(100, None) == ""
    assert (change(90, 100), change(110, 100)) == ("−10 %", "+10 %")
    halves = [{"numerator": 1, "denominator": 40}, {"numerator": 5, "denominator": 100}]
    assert royalty_share(halves) == "7.5 %"


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("0.0.5 #7 is not stored: POST /v1/add it first", "0.0.5 #7 is not stored"),
        ("minPrice must be below 50000000000", "The lowest price must be below 50,000,000,000"),
        ('tokenId must be an id, not "0.0.123456"', 'The token must be an id, not "0.0.123456"'),
        ("0.0.1234567 #1234567 is sold", "0.0.1234567 #1234567 is sold"),
    ],
)
def test_what_the_api_says_is_said_in_words(message, words):
    assert in_words(message) == words
