"""Collections in their orders, and what people find by typing."""

import random

import pytest

from harness.apps import completing
from harness.cast import ALICE, BOB, TOKEN
from marketplace.api.search import COLLECTION_SORTS
from marketplace.hedera import times
from marketplace.market import collection_facts
from marketplace.market.names import find_parts, find_words
from marketplace.services import write
from marketplace.store import collection_search, nft_collections
from marketplace.watcher.collection_figures import count_figures
from tests.actions import list_nft, tell
from tests.answers import assert_error
from tests.api.pages import all_rows, page_of, written
from tests.engines import both_engines

MADE = "0.0.8"  # how the ids of collections begin that no ledger has
NAMES = (
    "Crypto Peaks",
    "Peaks & Vales",
    "Señor Peak",
    "DEEP-SEA",
    "The Crypto Deep",
    "Über",
    "100 Men",
    "日本",
    "",
    "Peak " * 30,
)


@pytest.fixture(scope="module")
def tides(idle_client):
    """A client of a service that has one NFT: Tides #7, for sale."""
    list_nft(idle_client, tokenId="0.0.5001", serialNo=7)
    completing(idle_client.application)()
    return idle_client


def store_collection(app, token, name, symbol="SYM", listed=0, sold=(), old=0):
    """Store a collection that is not in the sandbox, as the watcher would."""
    news = collection_facts._describe_nothing(token) | {
        "name": name or None, "symbol": symbol, "read_at": times.to_iso(times.now()),
        "sort_name": collection_facts.fold(name)[:50],
    }  # fmt: skip
    with app.app_context(), write() as db:
        collection_facts.store(db, token, news)
        nft_collections.add_listed(db, token, listed)
    now = times.to_iso(times.now())
    for price, hours in [*((price, 1) for price in sold), (old, 30)]:
        at = times.to_iso(times.now() - hours * 3600 * times.SECOND)
        if price:
            tell(app, {"token": token, "price": price, "consensus_at": at, "seen_at": now})


def find(client, **query):
    """The tokens on all pages."""
    return [each["token"] for each in all_rows(client, "/v1/collections", **query)]


def search(client, q):
    r = client.get("/v1/search", query_string={"q": q})
    assert r.status_code == 200, r.text
    return r.json


def test_it_works(client, lister, complete):
    lister(("0.0.5001", 7), listing_price=60)
    lister(("0.0.5001", 8), listing_price=15)
    with client.application.app_context():
        count_figures()
    [shown] = client.get("/v1/collections").json
    image = client.get("/v1/nft/0.0.5001/8").json["imageUrl"]
    assert shown == {
        "token": "0.0.5001", "name": "Tides", "symbol": "TIDE", "imageUrl": image, "listed": 2,
        "floorPrice": 15, "floorPrice24hAgo": None, "sales": 0, "volume": 0, "volume24h": 0, "sales7d": 0,
        "volume7d": 0, "sales30d": 0, "volume30d": 0, "owners": 1, "verified": False,
    }  # fmt: skip
    assert client.get("/v1/collection/0.0.5001").json["listed"] == 2
    found = search(client, "tides #7")
    assert found == {
        "collections": [],
        "nfts": [client.get("/v1/nft/0.0.5001/7").json],
        "accounts": [],
    }
    assert search(client, ALICE)["accounts"] == [{"accountId": ALICE, "listed": 2}]
    assert search(client, BOB)["accounts"] == []


def test_the_orders_and_the_words_are_those_of_a_model(app, client):
    """Against a plain computation: random collections, all orders, all beginnings of words."""
    rng, model = random.Random(25), {}
    for number in rng.sample(range(1, 3000), 25):
        token, name = f"{MADE}{number}", rng.choice(NAMES)
        sold = [rng.choice((5, 5, 90)) for _ in range(rng.choice((0, 0, 1, 2)))]
        listed, old = rng.randrange(3), rng.choice((0, 400))
        store_collection(app, token, name, f"S{number % 10}", listed, sold, old)
        model[token] = {
            "volume24h": (-sum(sold), token), "-volume": (-sum(sold) - old, token),
            "listed": (-listed, token), "name": (collection_facts.fold(name)[:50], token),
            "newest": (-int(token[4:]), token), "volume7d": (-sum(sold) - old, token),
            "volume30d": (-sum(sold) - old, token), "sales7d": (-len(sold) - (old > 0), token),
            "sales30d": (-len(sold) - (old > 0), token), "owners": (0, token), "floorPrice": (0, token),
            "floorPrice24hAgo": (0, token),
            "words": find_words(token, f"S{number % 10}", name, limit=20),
        }  # fmt: skip
    with app.app_context():
        count_figures()
    queries = [
        "",
        *{
            word[:length]
            for each in model.values()
            for word in each["words"]
            for length in (1, 4, 50)
        },
    ]
    for number, q in enumerate(
        [*queries, "PEAK crypto", "deep sea", "señ", "Ü", "100 m", "p c v", "nothing"]
    ):
        expected = [
            token for token, each in model.items()
            if all(any(word.startswith(asked) for word in each["words"]) for asked in find_words(q, limit=8))
        ]  # fmt: skip
        if find_words(q, limit=8):
            found = [each["token"] for each in search(client, q)["collections"]]
            assert found == sorted(expected, key=lambda token: model[token]["-volume"])[:10], q
        for sort in COLLECTION_SORTS if number % 8 == 0 or not q else ("volume24h",):
            ordered = sorted(expected, key=lambda token: model[token][sort])
            assert find(client, q=q, sort=sort, limit=4 if len(expected) < 20 else 7) == ordered, (
                q,
                sort,
            )


@pytest.mark.parametrize(
    "q",
    [
        "0.0.5001 7",
        "0.0.5001:7",
        "0.0.5001#7",
        " TIDES   7 ",
        "tid #7",
        "TIDE/7",
        "Tides: 7",
        "0.0.5001@7",
        "0.0.5001/7",
        "0.0.5001-abcde@7",
        "0.0.5001-abcde 7",
    ],
)
def test_an_nft_is_found_by_its_id(tides, q):
    assert [nft["serialNo"] for nft in search(tides, q)["nfts"]] == [7]


@pytest.mark.parametrize(
    "q",
    [
        "",
        " ",
        "7",
        "#7",
        "tides 0",
        "tides 8",
        f"tides {2**63}",
        "tides 7 8",
        "%",
        "x\0 7",
        "'",
        "#",
        "\U0010ffff",
        "ẞ" * 100,
        "@7",
        "0.0.5001-abcde",
    ],
)
def test_no_nft_is_found_by_another_id(tides, q):
    assert search(tides, q)["nfts"] == []


def test_it_rejects(client):
    refusals = {
        f"search?q={'x' * 101}": "q must be a text of 100 characters",
        f"collections?q={'x' * 101}": "q must be a text of 100 characters",
        "search": "q is required",
        "collections?sort=price": "sort must be volume24h, volume7d, volume30d, -volume, sales7d, sales30d,"
        " owners, floorPrice, floorPrice24hAgo, listed, name or newest",
        "collections?limit=101": "limit must be a whole number from 1 to 100",
    }
    for path, words in refusals.items():
        assert_error(client.get(f"/v1/{path}"), 422, words)


def test_a_page_belongs_to_its_order(app, client):
    for number in (1, 2):
        store_collection(app, f"{MADE}{number}", "Peaks")
    page = page_of(client.get("/v1/collections?sort=name&limit=1"))
    assert find(client, sort="name", page=page) == [f"{MADE}2"]
    strange = [written("name", key, "0.0.1", 0) for key in ("\ud800", "\0a")]
    for sort, asked in (("newest", page), *(("name", each) for each in (page[1:], "x", *strange))):
        r = client.get("/v1/collections", query_string={"sort": sort, "page": asked})
        assert_error(r, 422, "page must be a page token from this list's own Link header")


def test_it_counts_the_last_days_sales(app, client, monkeypatch):
    store_collection(app, f"{MADE}1", "Peaks", sold=(70,))
    assert client.get("/v1/collections").json[0]["volume24h"] == 70
    later = times.now() + 23 * 3600 * times.SECOND + 1
    monkeypatch.setattr(times, "now", lambda: later)
    assert client.get("/v1/collections").json[0]["volume24h"] == 0  # though nothing was written


def test_listed_follows_the_order_book(app, client, lister, ledger):
    lister((TOKEN, 1))
    lister((TOKEN, 1), listing_price=5)
    lister((TOKEN, 2))
    assert client.get("/v1/collections").json[0]["listed"] == 2
    ledger.hand_over((TOKEN, 1), BOB)
    client.post("/v1/comingsoon", json={"accountId": ALICE, "tokenId": TOKEN, "serialNo": 1})
    assert client.get("/v1/collections").json[0]["listed"] == 1
    assert COLLECTION_SORTS[0] == collection_search.BY_SALES


@pytest.mark.parametrize("q", ["!!!", "🐸", "#", "_", " / ", "...", "🐸 !"])
def test_a_query_without_letters_finds_nothing_not_everything(tides, q):
    assert find(tides, q=q) == []
    assert search(tides, q) == {"collections": [], "nfts": [], "accounts": []}
    assert find(tides, q=" ") == ["0.0.5001"]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("三体黑暗森林", ["三体", "黑暗", "森林", "林", "三体 森林"]),
        ("東京タワーのねこ", ["タワー", "ねこ", "東京", "ﾀﾜｰ"]),
        ("서울 고양이", ["울", "고양이", "양이", "서울 양"]),
        ("Tokyo東京塔Tower", ["tokyo", "京塔", "tower", "tokyo東京"]),
    ],
)
def test_a_name_without_blanks_is_found_by_any_part(app, client, name, parts):
    store_collection(app, token := f"{MADE}1", name)
    store_collection(app, f"{MADE}2", "猫")
    for q in parts:
        assert find(client, q=q) == [token], q
    for q in ("森暗", "ねこね", "이양"):
        assert find(client, q=q) == []


@both_engines
@pytest.mark.parametrize(
    "q", ["tides ７", "ｔｉｄｅｓ　＃７", "０.０.５００１＠７", "tides ٧", "tides 7"]
)
def test_digits_are_found_in_any_script(client, lister, q):
    lister(("0.0.5001", 7))
    assert [each["serialNo"] for each in search(client, q)["nfts"]] == [7]
    assert (
        search(client, ALICE.replace("0", "０"))["accounts"]
        == search(client, ALICE)["accounts"]
        != []
    )


def test_an_id_may_have_its_checksum(client, lister):
    lister(("0.0.5001", 7))
    assert find(client, q="0.0.5001-vfmkw") == ["0.0.5001"]
    assert [each["token"] for each in search(client, "0.0.5001-vfmkw")["collections"]] == [
        "0.0.5001"
    ]
    assert search(client, f" {ALICE}-abcde ")["accounts"] == [{"accountId": ALICE, "listed": 1}]


def test_a_long_name_without_blanks_has_a_bounded_number_of_parts():
    assert len(find_parts("0.0.1", "山" * 1000, "日本" * 400)) <= 100


def test_an_id_with_several_checksums_is_no_error(client, nft):
    assert search(client, "0.0.5001-aaaaa-bbbbb 7")["nfts"] == []
    assert client.get("/v1/collections?q=0.0.5001-aaaaa-bbbbb").json == []
