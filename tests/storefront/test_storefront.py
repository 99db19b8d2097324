"""The storefront on a real network: the pages of a shop, whose visitors bring a wallet of their own."""

import re

import pytest

from harness.apps import on_testnet
from harness.cast import SHOP
from harness.engines import move_database
from marketplace.errors import StartRefused

PAGES = [
    "/",
    "/collections",
    "/search?q=0.0.1001",
    "/account/0.0.1001",
    "/account/0.0.1001/offers",
    "/activity",
    "/list",
    "/basket",
]
GONE = ["/collection/0.0.5001", "/nft/0.0.5001/7"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return on_testnet(tmp_path_factory.mktemp("shop"), **SHOP, NAME="The shop").test_client()


@pytest.mark.parametrize("page", [*PAGES, *GONE])
def test_a_page_is_a_shops(shop, page):
    r = shop.get(page)
    assert r.status_code == (404 if page in GONE else 200)
    assert "The shop" in r.text
    assert "Connect wallet" in r.text
    for word in ("sandbox", "demo", "Switch account", "Developer", "nftm_"):
        assert word not in re.sub('name="market-sandbox"|/wallet-check', "", r.text), word


def test_only_the_relay_is_reached_beside_the_service(shop):
    policy = shop.get("/").headers["Content-Security-Policy"]
    assert "connect-src 'self' wss://relay.walletconnect.com;" in policy
    assert "unsafe" not in policy


def test_a_page_has_no_token_and_says_where_to_get_one(shop):
    r = shop.get("/")
    assert "nftv_" not in r.text
    renewal = re.search('name="market-renewal" content="([^"]+)"', r.text)[1]
    headers = {"Authorization": f"Bearer {shop.get(renewal).json['token']}"}
    assert shop.get("/v1/orderbook", headers=headers).json == []


def test_a_host_that_lets_nobody_in_is_obeyed(tmp_path):
    shop = on_testnet(tmp_path, **SHOP, authenticate=lambda request, scope: False).test_client()
    for _ in range(31):  # more often than an address may fail to authenticate
        r = shop.get("/collections")
        assert r.status_code == 401
        assert "You are not allowed to call this" in r.text
    assert shop.get("/").status_code == 401


def test_a_browser_gets_a_page_while_the_database_is_gone(tmp_path):
    shop = on_testnet(tmp_path, **SHOP, NAME="The shop").test_client()
    move_database(tmp_path / "marketplace.db", tmp_path / "moved.db")
    for page in ("/", "/search?q=peaks", "/nft/0.0.5001/7"):
        r = shop.get(page, headers={"Accept": "text/html,*/*;q=0.8"})
        assert (r.status_code, r.mimetype) == (503, "text/html"), page
        assert "Try again" in r.text
        assert shop.get(page).json["code"] == 503  # for scripts and programs


def test_the_api_reference_has_its_own_address(shop):
    assert 'href="/reference"' in shop.get("/").text
    assert shop.get("/reference").status_code == 200


def test_nothing_of_the_sandbox_is_there(shop):
    script = re.search('src="(/assets/[^/]+)/', shop.get("/").text)[1]
    for path in ("/demo/wallet", "/demo/list", f"{script}/demo-wallet.js", f"{script}/menu.js"):
        assert shop.get(path).status_code == 404, path
    with shop.get(f"{script}/visitor.js") as r:
        assert r.status_code == 200


def test_a_shop_may_have_a_face_of_its_own(tmp_path):
    face = tmp_path / "face"
    (face / "static").mkdir(parents=True)
    (face / "static/theme.css").write_text(":root { --accent: teal }")
    (face / "static/logo.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (face / "templates/storefront").mkdir(parents=True)
    (face / "templates/storefront/_footer.html").write_text("<p>Imprint of {{ config.NAME }}</p>")
    shop = on_testnet(tmp_path, **SHOP, NAME="Mine", STOREFRONT_DIR=str(face)).test_client()
    page = shop.get("/").text
    assert "<p>Imprint of Mine</p>" in page
    for name in ("theme.css", "logo.svg"):
        with shop.get(re.search(f'"(/assets/[^"]*/{name})"', page)[1]) as r:
            assert r.data == (face / "static" / name).read_bytes()


def test_a_page_says_who_runs_the_shop(tmp_path, shop):
    assert "Run by The shop, with the account" in shop.get("/").text
    own = {
        "STOREFRONT_OPERATOR": "Example Ltd",
        "STOREFRONT_LINKS": "Imprint=https://shop.example/imprint?a=b,Contact=mailto:a@shop.example",
        "STOREFRONT_INTRO": "Prints <of> harbours",
    }
    page = on_testnet(tmp_path, **SHOP, **own).test_client().get("/").text
    assert "Run by Example Ltd, with" in page
    assert '<a href="https://shop.example/imprint?a=b">Imprint</a>' in page
    assert '<a href="mailto:a@shop.example">Contact</a>' in page
    assert page.count("Prints &lt;of&gt; harbours") == 3  # in the head twice


def test_a_phone_can_open_the_wallets_of_the_settings(tmp_path):
    wallets = "Own=https://own.example/app,Other=other://"
    page = on_testnet(tmp_path, **SHOP, STOREFRONT_WALLETS=wallets).test_client().get("/")
    assert '<a href="https://own.example/app/">Own</a><a href="other://">Other</a>' in page.text
    assert "own.example" not in page.headers["Content-Security-Policy"]


def test_what_lacks_stops_the_start(tmp_path):
    with pytest.raises(StartRefused, match="reach no wallet: set MARKETPLACE_WALLETCONNECT_PROJ"):
        on_testnet(tmp_path, STOREFRONT="on")
    with pytest.raises(StartRefused, match="STOREFRONT_DIR=/nowhere is not a folder"):
        on_testnet(tmp_path, **SHOP, STOREFRONT_DIR="/nowhere")
