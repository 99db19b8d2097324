"""How search engines and other sites find and show the pages of a shop."""

import json
import re

import pytest

from harness.apps import on_testnet, write_sql
from harness.cast import ALICE, BOB, SHOP, TOKEN
from marketplace.api import sitemap
from tests.engines import both_engines

DATE = "2026-11-20T12:00:00.000000000Z"
PUBLIC_URL = "https://shop.example:8443"
NFT_PAGE, COLLECTION_PAGE = f"/nft/{TOKEN}/7", f"/collection/{TOKEN}"


@pytest.fixture
def shop(tmp_path):
    """A shop with one NFT, for sale for 250 HBAR."""
    app = on_testnet(tmp_path, **SHOP, NAME="The shop", PUBLIC_URL=PUBLIC_URL)
    add(app, 7, is_for_sale=1, is_listed=1, listing_price=250)
    write_sql(
        app,
        "INSERT INTO collection (token, name, retry_at, listed) VALUES (:token, 'Peaks', '9999', 1)",
        token=TOKEN,
    )
    return app


def add(app, serial_no, **more):
    row = {
        "token": TOKEN, "serial_no": serial_no, "name": f"Peaks #{serial_no}", "file_type": "image/png",
        "attributes": '[{"trait_type": "Sky", "value": "</script>"}]', "image": "7-640.webp",
        "owner": ALICE, "ledger_at": DATE,
    } | more  # fmt: skip
    columns = ", ".join(row)
    values = ", ".join(f":{name}" for name in row)
    write_sql(app, f"INSERT INTO nft ({columns}) VALUES ({values})", **row)


def get(app, path, **headers):
    return app.test_client().get(path, headers=headers)


def meta(page):
    found = re.findall(r'<meta (?:name|property)="([\w:]+)" content="([^"]*)"', page.text)
    return dict(found) | {"canonical": re.findall('rel="canonical" href="([^"]*)"', page.text)}


def described(page):
    return json.loads(re.search('<script type="application/ld\\+json">(.*)</script>', page.text)[1])


@both_engines
def test_an_nft_is_a_product_with_its_picture_and_its_price(shop):
    page = get(shop, NFT_PAGE)
    product = described(page)
    assert (product["@type"], product["name"], product["category"]) == (
        "Product",
        "Peaks #7",
        "Peaks",
    )
    offer = product["offers"]
    assert (offer["price"], offer["priceCurrency"]) == (250, "HBAR")
    assert product["url"] == offer["url"] == f"{PUBLIC_URL}{NFT_PAGE}"
    assert product["additionalProperty"][0]["value"] == "</script>"
    tags = meta(page)
    assert tags["og:image"] == product["image"] == f"{shop.config['MEDIA_PUBLIC_URL']}/7-640.webp"
    assert tags["og:url"] == tags["canonical"][0] == product["url"]
    assert tags["description"] == tags["og:description"] == product["description"]
    write_sql(
        shop, "UPDATE nft SET is_for_sale = 0, is_listed = 0, listing_price = 0, image = NULL"
    )
    page = get(shop, NFT_PAGE)
    assert not {"offers", "image"} & described(page).keys()
    assert "og:image" not in meta(page)


def test_other_pages_are_described(shop):
    collection = described(get(shop, COLLECTION_PAGE))
    assert (collection["@type"], collection["name"]) == ("CollectionPage", "Peaks")
    assert described(get(shop, "/"))["name"] == "The shop"
    titles = set()
    for page in ("/", "/collections", "/activity", NFT_PAGE, COLLECTION_PAGE, f"/account/{ALICE}"):
        answer = get(shop, f"{page}?from=mail")
        assert meta(answer)["canonical"] == [f"{PUBLIC_URL}{page}"]
        titles.add(re.search("<title>(.*)</title>", answer.text)[1])
        assert 'lang="en"' in answer.text
    assert len(titles) == 6
    for page in ("/search?q=x", "/basket", "/list"):
        assert meta(get(shop, page))["robots"] == "noindex"


def test_addresses_are_those_of_the_public_url_whatever_a_request_says(shop):
    page = get(shop, "/", Host="stranger.example")
    assert meta(page)["canonical"] == [f"{PUBLIC_URL}/"]
    robots = get(shop, "/robots.txt", Host="stranger.example")
    assert f"Sitemap: {PUBLIC_URL}/sitemap.xml" in robots.text


def test_below_a_path_addresses_have_it_once(tmp_path):
    app = on_testnet(tmp_path, **SHOP, TRUSTED_PROXIES="1", PUBLIC_URL=f"{PUBLIC_URL}/market")
    page = get(app, "/", X_Forwarded_Prefix="/market")
    assert meta(page)["canonical"] == [f"{PUBLIC_URL}/market/"]


@both_engines
def test_the_sitemap_leads_to_all_that_is_shown(shop, monkeypatch):
    monkeypatch.setattr(sitemap, "PART", 10)
    add(shop, 8, ledger_state="gone")
    add(shop, 9, is_hidden=1)
    add(shop, 25)
    index = get(shop, "/sitemap.xml")
    assert index.mimetype == "application/xml"
    parts = re.findall(f"<loc>{PUBLIC_URL}([^<]*)</loc>", index.text)
    found = [re.findall(f"<loc>{PUBLIC_URL}([^<]*)", get(shop, part).text) for part in parts]
    assert found == [[COLLECTION_PAGE, NFT_PAGE], [], [f"/nft/{TOKEN}/25"]]
    write_sql(shop, "UPDATE collection SET is_hidden = 1")
    assert "<loc>" not in get(shop, "/sitemap.xml").text
    assert get(shop, parts[0]).status_code == 404


def test_a_host_that_chooses_its_readers_is_in_no_sitemap(tmp_path):
    app = on_testnet(tmp_path, **SHOP, authenticate=lambda request, scope: True)
    assert get(app, "/robots.txt").text == "User-agent: *\nDisallow: /\n"
    assert get(app, "/sitemap.xml").status_code == 404
    assert get(app, f"/sitemap/{TOKEN}/0.xml").status_code == 404


def test_what_is_burned_is_gone_also_when_its_event_is_no_longer_kept(shop):
    write_sql(
        shop,
        "UPDATE nft SET ledger_state = 'gone', is_for_sale = 0, is_listed = 0, listing_price = 0",
    )
    page = get(shop, NFT_PAGE)
    assert page.status_code == 410
    assert "no longer exists" in page.text
    assert "ld+json" not in page.text
    assert get(shop, COLLECTION_PAGE).status_code == 410


def test_what_is_hidden_is_unavailable(shop):
    write_sql(
        shop, "UPDATE nft SET is_hidden = 1, is_for_sale = 0, is_listed = 0, listing_price = 0"
    )
    write_sql(shop, "UPDATE collection SET is_hidden = 1")
    decision = """
        INSERT INTO decision (kind, id, reason, since, is_public)
        VALUES ('hidden', :token, 'stolen', :date, 0)
    """
    write_sql(shop, decision, token=TOKEN, date=DATE)
    for path in (NFT_PAGE, COLLECTION_PAGE):
        page = get(shop, path)
        assert page.status_code == 451
        assert "ld+json" not in page.text and "og:image" not in page.text
        assert meta(page)["robots"] == "noindex"


def test_a_blocked_accounts_page_is_unavailable(shop):
    page = f"/account/{ALICE}"
    assert get(shop, page).status_code == 200
    decision = """
        INSERT INTO decision (kind, id, reason, since, is_public)
        VALUES ('blocked', :account, 'stolen', :date, 0)
    """
    write_sql(shop, decision, account=ALICE, date=DATE)
    blocked = get(shop, page)
    assert (blocked.status_code, meta(blocked)["robots"]) == (451, "noindex")
    assert "has blocked the account" in blocked.text
    assert "stolen" not in blocked.text


def test_a_basket_filled_by_hand_says_what_is_not_in_it(shop):
    write_sql(shop, "UPDATE nft SET listing_price = 300")
    nfts = "&".join(
        f"nft={one}" for one in (f"{TOKEN}:7:250", f"{TOKEN}:8:5", "0.0.1:x", "%3Cb%3E")
    )
    page = get(shop, f"/basket?{nfts}")
    assert "Price changed: 250 → 300 HBAR" in page.text
    assert "3 NFTs in this link are unknown, or too many" in page.text
    purchase = get(shop, f"/trade/purchase?{nfts}&account={BOB}").text
    assert "Price changed: 250 → 300 HBAR" in purchase
    assert "disabled" in purchase
    assert "Not for sale here" in get(shop, f"/trade/purchase?nft={TOKEN}:8:5&account={BOB}").text
