"""What the server writes into the demo's pages: the answers of the API, in people's words, and as text."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urljoin

import pytest

from harness.apps import write_sql
from harness.cast import TOKEN
from marketplace.storefront import pages
from marketplace.storefront.chart import chart_collection, chart_nft
from marketplace.storefront.shares import Terms
from marketplace.storefront.surroundings import surroundings
from marketplace.storefront.words import change, dollars, in_words, royalty_share, time, tinybars
from marketplace.watcher.collection_figures import count_figures
from tests.actions import rank
from tests.engines import both_engines

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
    for path in ("/", f"/collection/{TOKEN}", f"/nft/{TOKEN}/7", "/activity"):
        page = client.get(path).text
        assert "alert(1)" in page, path
        assert not re.search("<script>|<b>|<i>", page), path


def test_a_collection_is_asked_for_by_its_name(app, listed):
    write_sql(app, "UPDATE collection SET name = 'Blue Hour'")
    client = app.test_client()
    assert cards(client.get("/?collection=blue+hour")) == [f"{TOKEN}/7"]
    assert cards(client.get("/?collection=red+hour")) == []


def test_a_collection_without_a_picture_is_found(app, listed):
    write_sql(app, "UPDATE nft SET image = NULL")
    client = app.test_client()
    for path in (f"/search?q={TOKEN}", f"/search?q={TOKEN}+7", "/collections"):
        page = client.get(path)
        assert page.status_code == 200 and TOKEN in page.text, path


def test_what_is_wrong_stands_at_its_field(app):
    page = app.test_client().get("/?minPrice=1.5").text
    said = re.search(r'id="wrong-minPrice">([^<]*)<', page)[1]
    assert said.startswith("It must be a whole number from 0 to 50,000,000,000")
    assert 'role="alert"' in page


def test_a_trait_that_leads_to_nothing_is_not_offered(app, listed):
    write_sql(app, "UPDATE nft SET is_for_sale = 0, is_listed = 0, listing_price = 0")
    rank(app)
    client = app.test_client()
    trait = re.search(r'\?trait=([^"]*)"', client.get(f"/nft/{TOKEN}/7").text)[1]
    assert 'type="checkbox"' not in client.get(f"/collection/{TOKEN}").text
    chosen = client.get(f"/collection/{TOKEN}?trait={trait}").text
    assert len(re.findall('type="checkbox"', chosen)) == 1, "what is chosen can be taken back"


@both_engines
def test_counts_of_traits_follow_the_other_filters(app, listed):
    rank(app)
    client = app.test_client()
    price = int(re.search(r'data-price="([0-9]+)"', client.get("/").text)[1])

    def counts(query):
        page = client.get(f"/collection/{TOKEN}?{query}").text
        return re.findall(r'type="checkbox" name="trait".*?class="number">([0-9]+)<', page)

    each = counts("")
    assert each, "it has traits"
    assert set(each) == {"1"}
    assert counts(f"minPrice={price}") == each
    assert set(counts(f"minPrice={price + 1}")) == {"0"}
    # What is chosen of a trait leaves the counts of that trait as they are.
    assert sorted(counts("trait=Palette:Nowhere")) == ["0"] * (len(each) - 1) + ["1"]


@both_engines
def test_collections_are_ranked_by_figures(app, listed):
    client = app.test_client()
    for sort in ("", "floorPrice", "volume7d", "owners", "-volume", "listed", "name", "newest"):
        page = client.get(f"/collections?sort={sort}")
        assert page.status_code == 200
        assert re.findall(r'<tr data-key="([^"]*)"', page.text) == [TOKEN], sort
    assert client.get("/collections?sort=invalid").status_code == 422
    assert client.get(f"/collection/{TOKEN}/owners").status_code == 200
    assert client.get("/collection/0.0.99/owners").status_code == 404


@both_engines
def test_an_accounts_nfts_are_valued_and_chosen(app, listed):
    client = app.test_client()
    page = client.get("/").text
    owner = re.search(r'data-not-for="([^"]*)"', page)[1]
    page = client.get(f"/account/{owner}").text
    assert re.search(r"Worth at floor prices</dt><dd>\d+ HBAR", page)
    for query in ("show=listed", "sort=price", "sort=-price&show=listed", f"collection={TOKEN}"):
        assert cards(client.get(f"/account/{owner}?{query}")) == [f"{TOKEN}/7"], query
    for query in (
        "collection=0.0.99",
        "collection=%00",
        "sort=invalid",
        "page=x",
    ):
        assert cards(client.get(f"/account/{owner}?{query}")) == [], query
    assert "No NFTs" in client.get("/account/0.0.99").text


def lines(page):
    return re.findall(r'<li class="line-item[^"]*" data-key="([^"]*)"', page)


def test_a_basket_says_what_has_changed(app, listed):
    client = app.test_client()
    price = int(re.search(r'data-price="([0-9]+)"', client.get("/").text)[1])
    for seen, words in (
        (price, None),
        (price + 1, f"Price changed: {price + 1:,} → {price:,} HBAR"),
    ):
        page = client.get(f"/basket?nft={TOKEN}:7:{seen}").text
        assert lines(page) == [f"{TOKEN}:7"]
        assert f"Buy 1 for {price:,} HBAR" in page
        assert ("Price changed" in page) == (words is not None)
        assert words is None or words in page
    write_sql(app, "UPDATE nft SET is_for_sale = 0, is_listed = 0, listing_price = 0")
    page = client.get(f"/basket?nft={TOKEN}:7:{price}").text
    assert "No longer for sale" in page
    assert "None of these is for sale." in page


def test_the_dialog_keeps_the_price_that_was_seen(app, listed):
    client = app.test_client()
    price = int(re.search(r'data-price="([0-9]+)"', client.get("/").text)[1])
    seen = {"nft": f"{TOKEN}:7:{price + 1}", "account": "0.0.2007"}
    said = client.get("/trade/purchase", query_string=seen).text
    assert f"&#34;expectedPrice&#34;: {price + 1}" in said
    assert f"Price changed: {price + 1:,} → {price:,} HBAR" in said
    assert re.search(r'<button class="button" disabled>\s*Buy for', said)
    assert f'data-items="{TOKEN}:7:{price}"' in said
    accepted = client.get("/trade/purchase", query_string=seen | {"nft": f"{TOKEN}:7:{price}"})
    assert "Price changed" not in accepted.text
    assert f"Buy for {price:,} HBAR" in accepted.text


def test_the_dialog_says_to_its_buyer_that_it_is_theirs(app, listed):
    """It said that someone else had bought it."""
    write_sql(
        app,
        "UPDATE nft SET owner = '0.0.2007', is_for_sale = 0, is_listed = 0, listing_price = 0",
    )
    bought = {"nft": f"{TOKEN}:7:250", "account": "0.0.2007"}
    said = app.test_client().get("/trade/purchase", query_string=bought).text
    assert "This is yours" in said
    assert "Someone else" not in said


def test_a_page_about_what_is_not_there_says_so_by_its_status(app):
    client = app.test_client()
    statuses = {
        "/nft/0.0.99/1": 404,
        "/nft/x/1": 422,
        "/collection/0.0.99": 404,
        "/?minPrice=1.5": 422,
        "/account/me": 422,
        "/activity?account=me": 422,
    }
    for path, status in statuses.items():
        r = client.get(path, headers={"Accept": "text/html"})
        assert (r.status_code, r.mimetype) == (status, "text/html"), path
        assert "<h1" in r.text


def test_shares_are_rounded_as_the_network_rounds():
    collection = {
        "royalties": [{"accountId": "0.0.9", "numerator": "1", "denominator": "3"}],
        "fixedFees": [{"accountId": "0.0.8", "amount": "5", "token": None}],
    }
    shares = Terms("0.0.9001", fee=100).divide(1, collection, seller="0.0.1", buyer="0.0.2")
    amounts = {share.role: share.tinybars for share in shares}
    assert amounts == {
        "Buyer": -100_000_000,
        "Seller": 99_000_000 - 33_000_000 - 5,
        "Royalty": 33_000_000,
        "Fixed fee": 5,
        "Marketplace": 1_000_000,
    }
    assert sum(amounts.values()) == 0
    roles = [share.role for share in Terms("0.0.9001", fee=0).divide(1, collection)]
    assert roles == ["Buyer", "Seller", "Royalty", "Fixed fee"]


def test_a_basket_has_what_can_be_read_of_its_address_once(app, listed):
    client = app.test_client()
    unknown = ["x", "0.0.1:0:1", f"{TOKEN}:8:1", f"{TOKEN}:{2**63}:1", f"{TOKEN}:7:-1"]
    given = [f"{TOKEN}:7:1", f"{TOKEN}:7", *unknown]
    page = client.get("/basket", query_string={"nft": given}).text
    assert lines(page) == [f"{TOKEN}:7"]
    assert "NFTs in this link are unknown" in page
    left = re.search(r'href="([^"]*)" data-leave', page)[1]
    assert TOKEN + ":7" not in left.replace("%3A", ":")
    assert "Your basket is empty" in client.get("/basket").text


def test_a_basket_has_ten(app, listed):
    write_sql(app, """
        WITH RECURSIVE serial(no) AS (SELECT 8 UNION ALL SELECT no + 1 FROM serial WHERE no < 20)
        INSERT INTO nft (token, serial_no, name, file_type, owner, ledger_at)
        SELECT token, serial.no, 'Further', file_type, owner, ledger_at FROM nft, serial
    """)  # fmt: skip
    query = {"nft": [f"{TOKEN}:{serial_no}:1" for serial_no in range(7, 20)]}
    page = app.test_client().get("/basket", query_string=query).text
    assert len(lines(page)) == 10
    assert "3 NFTs in this link" in page


def test_an_account_that_owns_much_is_read_page_by_page(app, listed, monkeypatch):
    monkeypatch.setattr(pages, "ROWS", 1)
    write_sql(app, """
        INSERT INTO nft (token, serial_no, name, file_type, owner, ledger_at)
        SELECT token, 8, 'Second', file_type, owner, ledger_at FROM nft
    """)  # fmt: skip
    client = app.test_client()
    owner = re.search(r'data-not-for="([^"]*)"', client.get("/").text)[1]
    page = client.get(f"/account/{owner}").text
    assert (re.findall(r'data-key="([^"]*)"', page), "2 NFTs" in page) == ([f"{TOKEN}/7"], True)
    following = re.search(r'rel="next" href="([^"]*)"', page)[1]
    last = client.get(following)
    assert cards(last) == [f"{TOKEN}/8"]
    assert 'rel="next"' not in last.text


def test_the_pages_are_compressed_for_whoever_accepts_it(app):
    client = app.test_client()
    assets = f"/assets/{surroundings(app).assets.digest}"
    for path in ("/", f"{assets}/style.css", f"{assets}/fragments.js"):
        with (
            client.get(path, headers={"Accept-Encoding": "identity"}) as plain,
            client.get(path, headers={"Accept-Encoding": "gzip"}) as packed,
        ):
            assert "Content-Encoding" not in plain.headers
            assert packed.headers["Content-Encoding"] == "gzip"
            assert len(packed.data) < len(plain.data) / 2
    known = {"If-None-Match": packed.headers["ETag"], "Accept-Encoding": "gzip"}
    with client.get(path, headers=known) as again:
        assert again.status_code == 304


def test_a_page_asks_at_once_for_all_scripts_that_it_imports(app):
    client = app.test_client()
    page = client.get("/basket").text
    named = re.findall(
        r'<(?:script type="module" src|link rel="modulepreload" href)="([^"]+)"', page
    )
    assert len(named) == len({*named})
    imported = set()
    for address in named:
        with client.get(address) as script:
            assert "immutable" in script.headers["Cache-Control"]
            for target in re.findall(r'^import [^;]*"([^"]+)";', script.text, re.MULTILINE):
                imported.add(urljoin(address, target))
    assert imported <= {*named}
    assert len(imported) > 5


def day(number, floor=None, *prices):
    return {
        "date": f"2025-01-0{number}", "floorPrice": floor, "sales": len(prices), "volume": sum(prices),
        "lowestPrice": min(prices, default=None), "highestPrice": max(prices, default=None),
    }  # fmt: skip


FIGURES = {"floorPrice": 20, "floorPrice24hAgo": 10}


def test_a_collections_chart_has_the_floor_and_the_sales_of_each_day():
    days = [day(1, 50), day(2, 30), day(3, 30, 40, 60), day(4), day(5, 60)]
    chart = chart_collection(days, FIGURES)
    assert chart.steps == [(0, 50), (20, 30), (60, None), (80, 60)]
    assert chart.dots == [(50, 40), (50, 60)]
    assert chart.facts == [("Floor", 20), ("A day ago", 10), ("Lowest", 30)]
    assert chart.rows[:2] == [
        ("2025-01-05T00:00:00Z", "Floor", 60), ("2025-01-04T00:00:00Z", "Floor", None)
    ]  # fmt: skip
    assert chart_collection(days[:1], FIGURES) is chart_collection([], FIGURES) is None


def test_a_dear_sale_does_not_flatten_the_floor():
    chart = chart_collection([day(1, 10), day(2, 10, 20_000), day(3, 20)], FIGURES)
    floors = [float(y) for y in re.findall(r"(?:M0 |V)([\d.]+)", chart.line_path)]
    assert len(floors) == 2
    assert floors[0] - floors[1] > 5, "it is seen that the floor has doubled"
    assert all(0 < y < 100 for y in floors)
    assert chart.said.endswith("prices on a logarithmic scale")


def test_the_pages_of_an_nft_and_of_a_collections_past_have_a_chart(app, listed):
    write_sql(app, """
        INSERT INTO event (id, kind, token, serial_no, price, previous_price, consensus_at, seen_at)
        SELECT MAX(id) + 1, 'PRICE_CHANGED', token, serial_no, 5, MAX(price), MAX(seen_at), MAX(seen_at)
        FROM event
    """)  # fmt: skip
    write_sql(
        app,
        "UPDATE event SET consensus_at = '2026-11-01T12:00:00.000000000Z' WHERE kind = 'LISTED'",
    )
    with app.app_context():
        count_figures()
    client = app.test_client()
    for path, title in (
        (f"/nft/{TOKEN}/7", "Prices over time"),
        (f"/activity?collection={TOKEN}", "Floor and sales over time"),
    ):
        page = client.get(path).text
        assert f"<caption>{title}</caption>" in page
        assert re.search(r'class="asked" d="M0 ', page), path


def event(kind, day, price=None):
    return {"kind": kind, "date": f"2025-01-0{day}T00:00:00Z", "price": price}


def test_updates_of_metadata_that_follow_one_another_are_one():
    kinds = ["METADATA_CHANGED", "METADATA_CHANGED", "SOLD", "METADATA_CHANGED", "ADDED"]
    merged = pages.merge_updates([{"kind": kind, "id": i} for i, kind in enumerate(kinds)])
    assert [event["id"] for event in merged] == [0, 2, 3, 4]


def test_prices_over_time_are_a_line_with_gaps():
    events = [event("LISTED", 1, 100), event("PRICE_CHANGED", 2, 80), event("SOLD", 3, 80)]
    chart = chart_nft(events)
    assert (chart.line_path, chart.dots_path) == ("M0 0H50V20H100", "M100 20h.01")
    assert [price for _, _, price in chart.rows] == [100, 80, 80]
    assert chart_nft(events[:1]) is None
    assert chart_nft([events[0], event("OFFERED", 2, 50), event("OFFER_EXPIRED", 3, 50)]) is None


@pytest.mark.parametrize(
    ("past", "words"),
    [
        (timedelta(days=3), "3 days ago"),
        (timedelta(days=1), "yesterday"),
        (timedelta(), "just now"),
        (timedelta(minutes=-2), "in 2 minutes"),
        (timedelta(days=-1, seconds=-1), "tomorrow"),
        (timedelta(days=-7), "in 7 days"),
    ],
)
def test_moments_are_said_from_now(past, words):
    assert time((datetime.now(UTC) - past).isoformat()).striptags() == words


def test_words():
    assert tinybars(150_000_000) == "1.5 HBAR"
    assert tinybars(1_000_000_000_000) == "10,000 HBAR"
    assert dollars(100, {"cents": 12, "hbar": 1}) == "about $12.00"
    assert dollars(100, None) == ""
    assert (change(90, 100), change(110, 100)) == ("−10%", "+10%")
    halves = [{"numerator": 1, "denominator": 40}, {"numerator": 5, "denominator": 100}]
    assert royalty_share(halves) == "7.5%"


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


def test_an_nft_without_a_picture_says_what_it_is(app, client, nft):
    path = f"/nft/{TOKEN}/7"
    write_sql(app, "UPDATE nft SET image = NULL, original_image_url = NULL")
    assert "The picture is on its way" in client.get(path).text
    for file_type, said in (
        ("video/mp4", "Video"),
        ("audio/mpeg", "Sound"),
        ("image/png", "No picture"),
    ):
        write_sql(
            app,
            f"UPDATE nft SET file_type = '{file_type}', original_image_url = 'https://x.example/f'",
        )
        page = client.get(path).text
        assert f'<p class="lost">{said}</p>' in page
        assert (
            '<a href="https://x.example/f" rel="noopener noreferrer nofollow">Open the original file</a>'
            in page
        )
