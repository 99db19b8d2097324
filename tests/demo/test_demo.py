"""The demo's pages, as far as no browser is needed; tests/system/browser has the rest."""

import base64
import json
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.test import Client

from harness.apps import authorized_client, settings, write_sql
from harness.cast import KEYS, TESTNET
from harness.ledger import Ledger
from harness.serving import ROOT
from marketplace import create_app
from marketplace.demo import SNIPPETS
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.market import moderation
from marketplace.market.moderation import Ruling, Subject
from marketplace.market.reconciler import reconcile
from marketplace.sandbox import addresses, catalogue, month
from marketplace.sandbox.seed import NFTS_PER_COLLECTION
from marketplace.services import read
from marketplace.store import access_tokens

SAMPLE = [
    NftId(collection.token, serial_no)
    for collection in catalogue.SAMPLE
    for serial_no in range(1, NFTS_PER_COLLECTION + 1)
]
PAGES = [
    "/",
    "/collections",
    "/search?q=0.0.1001",
    "/collection/0.0.5001",
    "/account/0.0.1001",
    "/nft/0.0.5001/7",
    "/activity",
    "/list",
    "/basket",
    "/basket?nft=0.0.5001:7:60",
    "/demo/wallet",
]
CHROMIUM = "text/html,image/avif,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
DEMO = ROOT / "marketplace" / "demo"
STATIC = [ROOT / f"marketplace/{folder}/static" for folder in ("storefront", "demo")]
SCRIPTS = [path for folder in STATIC for path in folder.rglob("*.js")]


def meta(page):
    return dict(re.findall(r'<meta name="market-(\w+)" content="([^"]*)">', page.text))


@pytest.mark.parametrize("page", PAGES)
def test_it_works(idle_client, page):
    r = idle_client.application.test_client().get(page)
    # A page about what is not stored says so, also by its status.
    is_unknown = page in ("/collection/0.0.5001", "/nft/0.0.5001/7")
    assert r.status_code == (404 if is_unknown else 200)
    assert r.text.count("<h1") == 1
    assert "Without JavaScript" in r.text.partition("<main")[2]
    assert_addresses(r, "", "/v1")


def assert_addresses(page, mount, api):
    """The addresses in a page's meta tags, for its scripts."""
    addresses = meta(page)
    assert addresses.pop("token").startswith("nftm_")
    paths = {
        "sandbox": "/sandbox",
        "gallery": "/",
        "collections": "/collections",
        "collection": "/collection/TOKEN",
        "holder": "/account/ACCOUNT",
        "nft": "/nft/TOKEN/SERIAL",
        "activity": "/activity",
        "listing": "/list",
        "basket": "/basket",
        "renewal": "/visitor-token",
        "check": "/demo/wallet",
        "trade": "/trade/NAME",
    }
    assert addresses == {
        "wallet": "extwallet",
        "visitor": "0.0.2007",
        "network": "sandbox",
        "relay": "",  # none is served here
        "project": "",
        "api": mount + api,
        **{name: mount + path for name, path in paths.items()},
    }


def picture(page):
    return re.search('property="og:image" content="([^"]*)"', page)[1]


def test_who_links_to_a_page_gets_its_picture(app):
    client = app.test_client()
    for page in ("/nft/0.0.5001/7", "/nft/x/7", "/nft/0.0.5001/x", "/"):
        address = picture(client.get(page).text).removeprefix("http://127.0.0.1:8000")
        assert client.get(address).mimetype == "image/png"


def test_people_get_a_page_where_there_is_none_and_programs_json(app):
    client = app.test_client()
    for address in ("/nowhere", "/demo/nowhere"):
        r = client.get(address, headers={"Accept": CHROMIUM})
        assert (r.status_code, r.mimetype) == (404, "text/html")
        assert "Content-Security-Policy" in r.headers
        assert client.get(address).json["code"] == 404
    for address in ("/v1", "/v1/nowhere", "/media/nowhere.webp", "/assets/nowhere.js"):
        assert client.get(address, headers={"Accept": CHROMIUM}).mimetype == "application/json"


@pytest.mark.parametrize("page", PAGES)
def test_it_loads_nothing_from_elsewhere_and_runs_nothing_inline(idle_client, page):
    r = idle_client.get(page)
    policy = r.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert "unsafe" not in policy
    # Code to copy is text: it may hold what markup must not.
    markup = re.sub(r"<pre>.*?</pre>", "", r.text, flags=re.DOTALL)
    # Browsers neither load a page's own address nor run its description.
    markup = re.sub(r'<link rel="canonical".*|<meta property="og:url".*', "", markup)
    markup = re.sub(r"<script type=.application/ld\+json.*", "", markup)
    assert re.findall('[^"]*://[^"]*', markup) == [picture(markup)]
    assert picture(markup).startswith("http://127.0.0.1:8000/")
    assert not re.search(r"<style|\sstyle=|\son\w+=", markup)
    assert {*re.findall(r"<script[^>]*>([^<]*)</script>", markup)} == {""}


def test_the_scripts_call_the_api_by_its_client():
    """clients/market, in a bundle: the pages have what dApps have."""
    bundles = {"market.js", "wallet-link.js", "wallet-check.js"}
    known = bundles | {"call.js"}  # gives the client a fetch that renews its token
    scripts = {path for path in SCRIPTS if path.name not in known}
    assert [path for path in scripts if re.search(r"\bfetch\(", path.read_text())] == []


def test_the_scripts_write_text_and_never_markup():
    for script in SCRIPTS:
        code = script.read_text().replace("http://www.w3.org/2000/svg", "")  # a name, no address
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert word not in code, script.name
        assert "://" not in code, script.name


def test_a_query_is_escaped_in_the_page(app):
    r = app.test_client().get("/list?token=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&price=5")
    assert "<script>alert" not in r.text
    assert 'value="&#34;&gt;&lt;script&gt;alert(1)' in r.text
    assert 'name="price" value="5"' in r.text


def test_only_filters_of_a_query_are_given_on_to_links(app):
    """A filter is given on to links; what else stands in a query is not."""
    query = "minPrice=5&sort=price&_external=1&_scheme=javascript&_anchor=x&endpoint=y"
    r = app.test_client().get(f"/?{query}")
    links = re.findall(r'href="(/\?[^"]*)"', r.text)
    assert links == ["/?sort=price"]


def test_the_token_opens_the_api(app):
    client = app.test_client()
    token = meta(client.get("/"))["token"]
    r = client.get("/v1/orderbook", headers={"Authorization": f"Bearer {token}"})
    assert r.json == []
    assert meta(client.get("/list"))["token"] == token
    # One that is revoked is replaced.
    app.test_cli_runner().invoke(args=["token", "revoke", addresses.OWN_TOKEN])
    assert meta(client.get("/"))["token"] != token


def test_those_who_ask_at_once_get_one_token(app):
    def ask(_):
        with app.app_context():
            return addresses.kept_token()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(16)))) == 1
    with app.app_context():
        assert len(access_tokens.list_access_tokens(read())) == 1


def test_it_stands_under_a_prefix(tmp_path):
    market = create_app(API_PREFIX="/api", **settings(tmp_path))
    host = Client(DispatcherMiddleware(lambda environ, start_response: [], {"/market": market}))
    page = host.get("/market/")
    assert_addresses(page, "/market", "/api/v1")
    for link in re.findall(r'(?:href|src|action)="([^"#]+)"', page.text):
        link = link.removeprefix(market.config["PUBLIC_URL"])  # of the page's own address
        assert link.startswith("/market/"), link
        with host.get(link) as r:
            assert r.status_code == 200, link


def test_images_may_come_from_the_public_address(tmp_path):
    app = create_app(PUBLIC_URL="https://shop.example/market", **settings(tmp_path))
    policy = app.test_client().get("/").headers["Content-Security-Policy"]
    assert "img-src 'self' https://shop.example;" in policy


def test_without_a_storefront_there_are_no_pages(tmp_path):
    app = create_app(**settings(tmp_path), **TESTNET)
    client = app.test_client()
    assert client.get("/").location == "/reference"
    for page in PAGES[1:]:
        assert client.get(page).status_code == 404


def test_the_pages_old_addresses_lead_to_them(app):
    client = app.test_client()
    moved = client.get("/demo/nft/0.0.5001/7?offer=0.0.9")
    assert (moved.status_code, moved.location) == (301, "/nft/0.0.5001/7?offer=0.0.9")
    for elsewhere in ("/demo//evil.example", "/demo/\\evil.example", "/demo/nft//evil.example"):
        assert client.get(elsewhere).status_code == 404


def test_the_greeting_of_the_sandbox_names_the_demo_first(app):
    said = app.test_cli_runner().invoke(args=["sandbox", "hello"]).output
    assert re.search(r"\n\n +Demo +http://127\.0\.0\.1:8000/\n", said)


def filled(name, listing):
    """A snippet as the page shows it: with the listing in it."""
    code = (DEMO / "snippets" / name).read_text()
    return code.replace("PREPARED", json.dumps(listing)).replace("BYTE_ARRAY", listing["byteArray"])


@pytest.fixture
def listing(client, nft):
    return client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": 250}).json


def test_each_snippet_is_handed_the_listing(listing):
    for name, _ in SNIPPETS:
        assert listing["byteArray"] in filled(name, listing), name


def test_the_python_snippet_signs(client, listing):
    code = filled("sdk.py", listing)
    signed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert base64.b64decode(signed.stdout.strip())
    r = client.post("/sandbox/transactions", json={"transaction": signed.stdout.strip()})
    assert r.json["result"] == "SUCCESS"


def test_a_second_run_lists_nothing_again(tmp_path):
    app = create_app(MIRROR_NODE_RATE=10_000, **settings(tmp_path))
    command = ["sandbox", "seed"]
    assert app.test_cli_runner().invoke(args=command).exit_code == 0
    client = authorized_client(app, "read")
    first = client.get("/v1/orderbook?limit=5").json
    withdrawn, *others = [(nft["token"], nft["serialNo"]) for nft in first]
    Ledger(app).withdraw(withdrawn, first[0]["owner"]["accountId"])
    write_sql(app, "DELETE FROM prepared_transaction")  # as the watcher does, hours later
    with app.app_context():
        reconcile([NftId(*withdrawn)], Deadline(10))

    assert app.test_cli_runner().invoke(args=command).exit_code == 0
    again = client.get("/v1/orderbook?limit=4").json
    assert [(nft["token"], nft["serialNo"]) for nft in again] == others


def test_the_sample_has_a_past_of_a_month(tmp_path):
    app = create_app(MIRROR_NODE_RATE=10_000, **settings(tmp_path))
    assert app.test_cli_runner().invoke(args=["sandbox", "seed"]).exit_code == 0
    client = authorized_client(app, "read")
    deeds = month.draw([*SAMPLE])
    happened = Counter(deed.kind for deed in deeds for _ in deed.nfts)
    with app.app_context():
        kinds = Counter(row["kind"] for row in read().execute("SELECT kind FROM event"))
    assert kinds["LISTED"] + kinds["PRICE_CHANGED"] == happened["list"]
    assert kinds["SOLD"] == happened["buy"] + happened["accept"]
    assert (kinds["OFFERED"], kinds["OFFER_WITHDRAWN"]) == (happened["offer"], happened["retract"])
    assert (kinds["WITHDRAWN"], kinds["TRANSFERRED"]) == (happened["withdraw"], happened["give"])
    owned = client.get(f"/v1/user/{month.VISITOR}/nfts").json
    assert (len(owned), sum(nft["isForSale"] for nft in owned)) == (5, 2)
    collections = [
        client.get(f"/v1/collection/{collection.token}").json for collection in catalogue.SAMPLE
    ]
    page = client.get(f"/account/{month.VISITOR}").text
    spent = sum(
        sum(deed.prices) for deed in deeds if deed.kind == "buy" and deed.account == month.VISITOR
    )
    assert f'<dt>Bought</dt><dd>{spent:,} HBAR <span class="dollars">3 NFTs</span>' in page
    assert "<dt>Sold</dt><dd>Nothing yet" in page
    hidden = next(deed for deed in deeds if deed.kind == "buy" and deed.account == month.VISITOR)
    with app.app_context():
        moderation.hide(Subject(*hidden.nfts[0]), Ruling("stolen"))
    page = client.get(f"/account/{month.VISITOR}").text
    spent -= hidden.prices[0]
    assert f'<dt>Bought</dt><dd>{spent:,} HBAR <span class="dollars">2 NFTs</span>' in page
    sale = next(deed for deed in reversed(deeds) if deed.kind == "buy")
    page = client.get(f"/nft/{sale.nfts[0].token}/{sale.nfts[0].serial_no}").text
    assert f"Sold for {sale.prices[0]:,} HBAR, <time" in page
    assert all(each["sales"] for each in collections)
    assert any(each["volume24h"] for each in collections)


@pytest.fixture(scope="module")
def seeded(tmp_path_factory):
    """A client of a sandbox that was filled twice: the second time adds nothing."""
    app = create_app(MIRROR_NODE_RATE=10_000, **settings(tmp_path_factory.mktemp("seeded")))
    for _ in range(2):
        assert app.test_cli_runner().invoke(args=["sandbox", "seed"]).exit_code == 0
    return authorized_client(app, "read")


def test_the_sample_has_open_offers(seeded):
    deeds = month.draw([*SAMPLE])
    held = month.find_held([deed for deed in deeds if deed.kind not in ("offer", "retract")])
    expected = Counter(
        (deed.account, *deed.nfts[0], *deed.prices)
        for deed in deeds
        if deed.kind == "offer" and held[deed.nfts[0]].owner == deed.others[0]
    )
    expected -= Counter(
        (deed.account, *deed.nfts[0], *deed.prices) for deed in deeds if deed.kind == "retract"
    )
    paths = [f"/v1/collection/{each.token}/offers?limit=100" for each in catalogue.SAMPLE]
    made = [offer for path in paths for offer in seeded.get(path).json]
    assert expected == Counter(
        (each["to"]["accountId"], each["token"], each["serialNo"], each["price"]) for each in made
    )
    assert all(each["covered"] for each in made)
    listed = Counter(held[each["token"], each["serialNo"]].price is not None for each in made)
    assert min(listed[True], listed[False]) >= 3


def test_the_pages_show_the_offers_of_the_sample(seeded):
    page = seeded.get(f"/account/{month.VISITOR}/offers").text
    for side, title in (("made", "Made"), ("received", "Received")):
        offers = seeded.get(f"/v1/user/{month.VISITOR}/offers?side={side}").json
        section = page.partition(f">{title}</h2>")[2].partition("</section>")[0]
        assert section.count('<li data-id="') == len(offers) > 1
        for offer in offers:
            nft = seeded.get(f"/nft/{offer['token']}/{offer['serialNo']}").text
            assert f'<li data-id="{offer["offerId"]}">' in nft
    for collection in catalogue.SAMPLE:
        best = seeded.get(f"/v1/collection/{collection.token}").json["bestOffer"]
        page = seeded.get(f"/collection/{collection.token}").text
        assert f"<dt>Best offer</dt><dd>{best:,} HBAR" in page


def test_an_offer_of_the_sample_was_accepted(seeded):
    accepted = next(deed for deed in month.draw([*SAMPLE]) if deed.kind == "accept")
    [nft], [price] = accepted.nfts, accepted.prices
    sales = seeded.get("/v1/events?kind=SOLD&limit=100").json
    [sale] = [event for event in sales if event.get("offerId")]
    assert (sale["token"], sale["serialNo"], sale["price"]) == (*nft, price)
    page = seeded.get(f"/nft/{nft.token}/{nft.serial_no}").text
    assert f"Sold for {price:,} HBAR, <time" in page


def test_whoever_acts_in_the_sample_may():
    """A model of the month: owners, what is listed at which price, and who has offered what."""
    owners = {nft: month.first_owner(nft) for nft in SAMPLE}
    prices, last, offers = {}, month.DAYS, Counter()
    for deed in month.draw([*SAMPLE]):
        assert last >= deed.days_ago > 0
        last = deed.days_ago
        for number, nft in enumerate(deed.nfts):
            if deed.kind == "buy":
                assert prices.pop(nft) == deed.prices[number]
                assert owners[nft] == deed.others[number] != deed.account
                owners[nft] = deed.account
                continue
            if deed.kind == "offer":
                assert owners[nft] == deed.others[number] != deed.account
                assert deed.days_ago < month.OFFER_DAYS - 1
                offers[deed.account, nft, deed.prices[number]] += 1
                continue
            if deed.kind == "retract":
                offers[deed.account, nft, deed.prices[number]] -= 1
                continue
            assert owners[nft] == deed.account
            if deed.kind == "list":
                prices[nft] = deed.prices[number]
            elif deed.kind == "withdraw":
                del prices[nft]
            elif deed.kind == "accept":
                del prices[nft]
                owners[nft] = deed.others[number]
                offers[deed.others[number], nft, deed.prices[number]] -= 1
            else:
                owners[nft] = deed.others[number]
    assert len(prices) == 42
    assert set(offers.values()) == {0, 1}
