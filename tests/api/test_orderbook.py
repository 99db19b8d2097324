"""Pages of listings, in each order and of each selection: as a model says, whatever is sold meanwhile."""

import base64
import random
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cast import ALICE, BOB
from marketplace.hedera.ids import MAX_HBAR
from marketplace.services import write
from tests.answers import assert_error
from tests.api.pages import follow, next_url, page_of, written
from tests.engines import both_engines

TOKENS = ("0.0.8001", "0.0.8002", "0.0.10000")  # the last one sorts first, as text
SORTS = ("lastListedDate", "price", "-price")
DATES = [f"2026-11-{day:02}T12:00:00.000000000Z" for day in range(1, 8)] + [None]
INSERT = """
    INSERT INTO nft (token, serial_no, name, file_type, owner, ledger_at,
                     is_for_sale, is_listed, listing_price, last_listed_at)
    VALUES (
        :token, :serial_no, 'x', 'image/png', :owner, 'x', :is_for_sale, :is_for_sale, :listing_price, :date
    )
"""


def listing(token, serial_no, listing_price, date=DATES[0], owner=ALICE):
    """A listing; for no price, an NFT that is not for sale."""
    return {
        "token": token,
        "serial_no": serial_no,
        "listing_price": listing_price,
        "date": date,
        "is_for_sale": int(listing_price > 0),
        "owner": owner,
    }


def store(app, listings):
    with app.app_context(), write() as db:
        for row in listings:
            db.execute(INSERT, row)


def get(client, **query):
    return client.get("/v1/orderbook", query_string=query)


def keys(r):
    assert r.status_code == 200, r.text
    return [(nft["token"], nft["serialNo"]) for nft in r.json]


def follow_all(client, url):
    """All that the links lead to."""
    return [key for r in follow(client, url) for key in keys(r)]


def select(
    listings, sort="lastListedDate", tokenId=None, minPrice=0, maxPrice=MAX_HBAR, owner=None
):
    """The model: filter, then sort."""
    chosen = [
        row
        for row in listings
        if row["is_for_sale"]
        and owner in (None, row["owner"])
        and tokenId in (None, row["token"])
        and minPrice <= row["listing_price"] <= maxPrice
    ]
    chosen.sort(key=lambda row: (row["token"], row["serial_no"]))
    if sort == "lastListedDate":
        chosen.sort(key=lambda row: row["date"] or "", reverse=True)
    else:
        chosen.sort(key=lambda row: row["listing_price"], reverse=sort == "-price")
    return [(row["token"], row["serial_no"]) for row in chosen]


@pytest.fixture
def three(app):
    rows = [
        listing("0.0.8001", 1, 30, DATES[0]),
        listing("0.0.8001", 2, 10, DATES[1]),
        listing("0.0.8002", 1, 20, DATES[2]),
        listing("0.0.8002", 2, 0),
    ]
    store(app, rows)
    return rows


def test_it_works(client, three):
    assert keys(get(client, sort="price")) == [("0.0.8001", 2), ("0.0.8002", 1), ("0.0.8001", 1)]
    assert keys(get(client, minPrice=20)) == [("0.0.8002", 1), ("0.0.8001", 1)]
    assert get(client, tokenId="0.0.9").json == []
    cheapest = client.get("/v1/nft/0.0.8001/2").json
    assert get(client, sort="price").json[0] == cheapest
    assert client.get("/v1/nftslisted/0.0.8001").json[1] == cheapest
    plain = get(client, colour="red", utm_source="price")
    assert keys(plain) == [("0.0.8002", 1), ("0.0.8001", 2), ("0.0.8001", 1)]
    assert "Link" not in plain.headers


@both_engines
def test_a_link_asks_for_the_same(client, three):
    plain, said = get(client, limit=1), get(client, limit=1, sort="lastListedDate")
    assert said.data == plain.data
    assert client.get(next_url(said)).data == client.get(next_url(plain)).data
    query = dict(sort="price", tokenId="0.0.8001", minPrice="1", maxPrice="30", limit="1")
    asked = parse_qs(urlsplit(next_url(get(client, **query))).query)
    assert asked.pop("page")
    assert asked == {name: [value] for name, value in query.items()}


@pytest.fixture(scope="module")
def many():
    """Listings of three collections: few prices and few dates, so that there are many ties."""
    dice = random.Random("many")
    prices = [0, 1, 5, 5, 5, 70, 1000, MAX_HBAR]
    return [
        listing(*(dice.choice(part) for part in (TOKENS, [serial_no], prices, DATES, (ALICE, BOB))))
        for serial_no in range(1, 151)
    ]


@pytest.fixture
def stored(app, many):
    store(app, many)
    return many


queries = st.fixed_dictionaries(
    {},
    optional={
        "sort": st.sampled_from(SORTS),
        "tokenId": st.sampled_from([*TOKENS, "0.0.9"]),
        "minPrice": st.sampled_from([0, 1, 2, 5, 69, 70, 1000, MAX_HBAR]),
        "maxPrice": st.sampled_from([0, 1, 2, 5, 69, 70, 1000, MAX_HBAR]),
    },
)


@both_engines
def test_the_order_book_agrees_with_a_model(client, stored):
    @given(query=queries, limit=st.integers(1, 20), offset=st.integers(0, 160))
    def check(query, limit, offset):
        if query.get("minPrice", 0) > query.get("maxPrice", MAX_HBAR):
            assert get(client, **query).status_code == 422
            return
        expected = select(stored, **query)
        cut = [expected[n : n + limit] for n in range(0, len(expected) or 1, limit)]
        assert [*map(keys, follow(client, "/v1/orderbook", **query, limit=limit))] == cut
        middle = get(client, **query, limit=limit, offset=offset)
        assert keys(middle) == expected[offset : offset + limit]

    check()


def test_it_shows_twenty_by_default(client, stored):
    assert keys(get(client)) == select(stored)[:20]
    assert get(client, offset=2**63 - 1).json == []


@both_engines
def test_a_users_listings_are_the_newest_first(client, stored):
    url, expected = f"/v1/user/{ALICE}/listed", select(stored, owner=ALICE)
    first = client.get(url)
    assert keys(first) == expected[:10]
    assert next_url(first).startswith(f"{url}?limit=10&page=")
    assert client.get("/v1/user/0.0.999999/listed").json == []
    assert follow_all(client, f"{url}?limit=7") == expected
    for offset in (0, 1, 50, len(expected) - 1, len(expected), 2**63 - 1):
        r = client.get(url, query_string={"offset": offset, "limit": 5})
        assert keys(r) == expected[offset : offset + 5], offset


@both_engines
@pytest.mark.parametrize("sort", SORTS)
def test_a_users_listings_are_sorted_and_of_a_collection(client, stored, sort):
    url = f"/v1/user/{ALICE}/listed?sort={sort}&limit=7"
    assert follow_all(client, url) == select(stored, sort, owner=ALICE)
    of_token = select(stored, sort, TOKENS[1], owner=ALICE)
    assert follow_all(client, f"{url}&tokenId={TOKENS[1]}") == of_token
    assert keys(client.get(f"{url}&tokenId={TOKENS[1]}&offset=3")) == of_token[3:10]
    page = page_of(client.get(url))
    assert_error(client.get(f"{url}&tokenId=0.0.9&page={page}"), 422, "page must be")


def test_a_collections_listings_are_by_serial_number(client, stored):
    for token in (*TOKENS, "0.0.9"):
        r = client.get(f"/v1/nftslisted/{token}")
        assert keys(r) == sorted(select(stored, tokenId=token))


def test_a_users_listings_have_a_highest_limit(idle_client):
    url = f"/v1/user/{ALICE}/listed?limit="
    assert idle_client.get(f"{url}1000").status_code == 200
    assert_error(idle_client.get(f"{url}1001"), 422, "limit must be a whole number from 1 to 1000")


@both_engines
@pytest.mark.parametrize("sort", SORTS)
def test_paging_shows_each_unchanged_listing_once_while_others_change(app, client, stored, sort):
    dice = random.Random(sort)
    changed, number = set(), [10_000]

    def change():
        """Somebody lists an NFT, and another one is listed for another price, or sold."""
        with app.app_context(), write() as db:
            number[0] += 1
            db.execute(INSERT, listing(dice.choice(TOKENS), number[0], dice.choice([1, 5, 70])))
            key = dice.choice(select(stored))
            changed.add(key)
            price = dice.choice([0, 5, 70, 1000])
            db.execute(
                """
                UPDATE nft
                SET is_for_sale = :is_for_sale, is_listed = :is_for_sale, listing_price = :price
                WHERE token = :token AND serial_no = :serial_no
                """,
                {"is_for_sale": int(price > 0), "price": price}
                | dict(zip(("token", "serial_no"), key, strict=True)),
            )

    seen = []
    for r in follow(client, "/v1/orderbook", sort=sort, minPrice=1, limit=7):
        seen += keys(r)
        change()
    unchanged = [key for key in seen if key not in changed and key[1] < 10_000]
    assert unchanged == [key for key in select(stored, sort) if key not in changed]


# Bad input


PRICES = ["-1", "x", "", "1.5", "1e3", "05", "50000000001", 2**63, "٣"]
WRONG = {
    "sort": (
        ["Price", "+price", "", "date", "price ", "-lastListedDate", "\0"],
        "must be lastListedDate, price or -price",
    ),
    "minPrice": (PRICES, "must be a whole number from 0 to 50000000000"),
    "maxPrice": (PRICES, "must be a whole number from 0 to 50000000000"),
    "tokenId": (
        ["", "5", "0.0.x", "0.0.9223372036854775808", "0.0.1\n"],
        "must be three integers joined by dots",
    ),
    "limit": (
        [21, 0, -1, "x", "", "1.0", "٣", "+5", " 5", "05", 2**63],
        "must be a whole number from 1 to 20",
    ),
    "offset": ([-1, "x", "1e3", 2**63, "9" * 5000, "\0", "1\n"], "must be a whole number from 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_it_rejects_a_wrong_value(idle_client, name):
    values, words = WRONG[name]
    for value in values:
        body = assert_error(get(idle_client, **{name: value}), 422, f"{name} {words}")
        assert body["errors"].keys() == {"query"}


@both_engines
def test_bounds_that_cross_are_refused_and_both_are_named(client):
    message = assert_error(
        get(client, minPrice=251, maxPrice=250),
        422,
        "minPrice must not be above maxPrice: 251 is above 250",
    )
    assert message["errors"] == {
        "query": {"minPrice": ["must not be above maxPrice: 251 is above 250"]}
    }
    assert get(client, minPrice=250, maxPrice=250).json == []
    assert get(client, minPrice=0, maxPrice=0).json == []


@both_engines
def test_a_page_token_is_of_its_own_list(client, stored):
    asked = [
        {"sort": "lastListedDate"},
        {"sort": "price"},
        {"sort": "-price"},
        {"sort": "price", "tokenId": TOKENS[0]},
        {"sort": "-price", "tokenId": TOKENS[1]},
        {"tokenId": TOKENS[2]},
    ]
    tokens = [page_of(get(client, **query, limit=7)) for query in asked]
    for query, page in zip(asked, tokens, strict=True):
        assert get(client, **query, page=page).status_code == 200
        for other in asked:
            same_order = other.get("sort", SORTS[0]) == query.get("sort", SORTS[0])
            if not same_order:
                words = "page must be a page token from this list's own Link header"
                assert_error(get(client, **other, page=page), 422, words, "sort, tokenId, minPrice")
    cheapest = tokens[1]
    assert_error(get(client, sort="price", minPrice=1000, page=cheapest), 422, "page must be")
    assert_error(get(client, sort="price", tokenId="0.0.9", page=cheapest), 422, "page must be")
    assert_error(client.get(f"/v1/user/{ALICE}/listed?page={cheapest}"), 422, "page must be")


@pytest.mark.parametrize("sort", SORTS)
def test_a_page_token_with_an_invalid_position_is_refused(idle_client, sort):
    other = 5 if sort == SORTS[0] else DATES[0]
    for key in (other, 2**63, True, 1.0, None, [], -(2**63), "\0", "\ud800"):
        page = written(sort, key, TOKENS[0], 1)
        assert_error(get(idle_client, sort=sort, page=page), 422, "page must be a page token")


@both_engines
def test_a_position_beyond_the_list_gets_an_empty_page(client, stored):
    top = 2**63 - 1
    for sort, key in (("price", MAX_HBAR), ("-price", 1), ("lastListedDate", "")):
        page = written(sort, key, f"{top}.{top}.{top}", top)
        assert get(client, sort=sort, page=page).json == []
    assert get(client, sort="-price", offset=top).json == []
    assert get(client, sort="price", offset=top, tokenId=TOKENS[0]).json == []
    assert get(client, maxPrice=5, offset=top).json == []


def test_a_page_token_of_any_position_is_read(client, stored):
    """It is no secret, and what is asked for after it is on the list anyway."""
    assert get(client, page=written(SORTS[0], "", "0.0.9999", 1)).json == []
    assert len(get(client, page=written(SORTS[0], DATES[5], TOKENS[0], 1)).json) == 20


def test_an_invalid_page_token_is_refused(client, stored):
    token = page_of(client.get("/v1/orderbook?limit=1"))
    assert client.get(f"/v1/orderbook?page={token}").status_code == 200
    for bad in (
        "",
        "x",
        token[:-1],
        token + "AA",
        written(),
        written(SORTS[0], DATES[0]),
        written(SORTS[0], DATES[0], TOKENS[0], 1, 1),
        written(SORTS[0], None, TOKENS[0], 1),
        written([], DATES[0], TOKENS[0], 1),
        written("name", DATES[0], TOKENS[0], 1),
        written(SORTS[0], DATES[0], "0.0.9223372036854775808", 1),
        written(SORTS[0], DATES[0], 5, 1),
        written(SORTS[0], DATES[0], TOKENS[0], -1),
        written(SORTS[0], DATES[0], TOKENS[0], 2**63),
        written(SORTS[0], DATES[0], TOKENS[0], True),
        base64.urlsafe_b64encode(b"[" * 150).decode(),
        base64.urlsafe_b64encode(
            f'["{SORTS[0]}", "{DATES[0]}", "{TOKENS[0]}", 1]'.encode()
        ).decode(),
        "é",
        "\0",
        "%",
        "A" * 3000,
        # Other spellings of the same bytes.
        f"{token}=",
        f"{token}===AAAA",
        f"{token[:5]}!*\n{token[5:]}",
    ):
        assert_error(client.get("/v1/orderbook", query_string={"page": bad}), 422, "page must be")


def test_the_last_page_has_another_etag_once_one_more_follows(app, client, stored):
    """Whoever keeps the link with the ETag would else never see what came after it."""
    url = f"/v1/orderbook?limit=5&offset={len(select(stored)) - 5}"
    last = client.get(url)
    assert "Link" not in last.headers
    store(app, [listing("0.0.9999", 1, 5, None)])
    r = client.get(url, headers={"If-None-Match": last.headers["ETag"]})
    assert r.status_code == 200
    assert r.data == last.data
    assert "Link" in r.headers


@pytest.mark.parametrize("mount", ["/市", "/a>;rel=x", '/a"b c', "/é"])
def test_a_link_survives_any_mount(client, stored, mount):
    environ = {"SCRIPT_NAME": mount.encode().decode("latin-1")}
    link = client.get("/v1/orderbook?limit=1", environ_overrides=environ).headers["Link"]
    assert link.isascii()
    assert re.fullmatch(r'<[^<>" ]+/v1/orderbook\?[^<>" ]+>; rel="next"', link)
