"""Pages by key: every listing once, whatever is listed and sold meanwhile; far pages as near as the first."""

import random
import re

import pytest

from marketplace import paging, queries
from marketplace.db import read, write
from tests.conftest import ALICE, BOB, TOKEN, assert_error

INSERT = """
    INSERT INTO nft (token, serial_no, name, file_type, owner, ledger_at,
                     is_for_sale, listing_price, last_listed_at)
    VALUES (?, ?, 'x', 'image/png', ?, 'x', 1, 5, ?)
"""


@pytest.fixture
def listings(app):
    """Seven hundred listings over some months, some at the same moment, some of unknown date."""
    dice = random.Random("listings")
    dates = [
        f"2026-{dice.randint(8, 10):02}-{dice.randint(1, 28):02}T{dice.randint(0, 23):02}"
        f":{dice.randint(0, 59):02}:00.000000000Z"
        for _ in range(150)
    ] + [None] * 5
    rows = [
        (
            f"0.0.{dice.randint(8000, 8003)}",
            serial_no,
            dice.choice([ALICE, BOB]),
            dice.choice(dates),
        )
        for serial_no in range(1, 701)
    ]
    with app.app_context(), write() as db:
        db.executemany(INSERT, rows)
    known = sorted((row for row in rows if row[3]), key=lambda row: row[:2])
    known.sort(key=lambda row: row[3], reverse=True)
    return [row[1] for row in known] + [row[1] for row in sorted(r for r in rows if not r[3])]


def follow(client, url, after_each=lambda: None):
    """All serial numbers that the Link headers lead to."""
    serials = []
    while url:
        r = client.get(url)
        assert r.status_code == 200, r.text
        serials += [nft["serialNo"] for nft in r.json]
        url = r.headers.get("Link", "").removeprefix("<").removesuffix('>; rel="next"')
        after_each()
    return serials


def test_links_lead_through_all_in_order(client, listings):
    assert follow(client, "/v1/orderbook") == listings


def test_links_lead_through_a_users_listings(client, listings, app):
    with app.app_context():
        rows = queries.list_listed_by_owner(read(), ALICE, 1000, 0)
    expected = [row["serial_no"] for row in rows]
    assert follow(client, f"/v1/user/{ALICE}/listed?limit=7") == expected


def test_offsets_agree_with_links_at_every_depth(client, listings):
    for offset in (0, 1, 19, 199, 200, 201, 350, 500, 640, 660, 690, 699, 700, 5000, 2**63 - 1):
        r = client.get("/v1/orderbook", query_string={"offset": offset, "limit": 5})
        assert [nft["serialNo"] for nft in r.json] == listings[offset : offset + 5], offset


def test_every_listing_is_seen_once_while_others_come_and_go(app, client, listings):
    dice = random.Random("changes")
    gone, number = [], [10_000]

    def change():
        with app.app_context(), write() as db:
            number[0] += 1
            db.execute(INSERT, ("0.0.9000", number[0], BOB, "2026-11-20T12:00:00.000000000Z"))
            serial_no = dice.choice(listings)
            gone.append(serial_no)
            db.execute(
                "UPDATE nft SET is_for_sale = 0, listing_price = 0 WHERE serial_no = ?",
                (serial_no,),
            )

    seen = follow(client, "/v1/orderbook", change)
    assert len(seen) == len(set(seen))
    assert set(listings) - set(gone) <= set(seen)


def test_the_counts_follow_every_change(app, listings):
    dice = random.Random("counts")
    with app.app_context(), write() as db:
        for _ in range(300):
            serial_no = dice.choice(listings)
            change = dice.choice(
                [
                    "UPDATE nft SET is_for_sale = 0, listing_price = 0",
                    "UPDATE nft SET is_for_sale = 1, listing_price = 9",
                    "UPDATE nft SET last_listed_at = '2026-11-01T00:00:00.000000001Z'",
                    "UPDATE nft SET last_listed_at = NULL",
                    "UPDATE nft SET name = 'y'",
                    "DELETE FROM nft",
                ]
            )
            db.execute(f"{change} WHERE serial_no = ?", (serial_no,))
        for length in (7, 10, 13, 16):
            counted = db.execute(
                "SELECT period, listings FROM listing_count WHERE LENGTH(period) = ? AND listings > 0",
                (length,),
            ).fetchall()
            real = db.execute(
                """
                SELECT SUBSTR(last_listed_at, 1, ?), COUNT(*) FROM nft
                WHERE is_for_sale = 1 AND last_listed_at IS NOT NULL GROUP BY 1
                """,
                (length,),
            ).fetchall()
            assert sorted(map(tuple, counted)) == sorted(map(tuple, real))


def page_token(r):
    return r.headers["Link"].partition("page=")[2].partition(">")[0]


def test_a_token_of_another_list_is_refused(client, listings):
    of_orderbook = page_token(client.get("/v1/orderbook?limit=1"))
    of_alice = page_token(client.get(f"/v1/user/{ALICE}/listed?limit=1"))
    for url in (
        f"/v1/orderbook?page={of_alice}",
        f"/v1/user/{ALICE}/listed?page={of_orderbook}",
        f"/v1/user/{BOB}/listed?page={of_alice}",
    ):
        body = assert_error(
            client.get(url), 422, "page must be a page token from this list's own Link"
        )
        assert body["errors"]["query"].keys() == {"page"}


def test_forged_and_truncated_tokens_are_refused(client, listings):
    token = page_token(client.get("/v1/orderbook?limit=1"))
    assert client.get(f"/v1/orderbook?page={token}").status_code == 200
    changed = token[:20] + ("A" if token[20] != "A" else "B") + token[21:]
    for bad in (
        "",
        "x",
        token[:-1],
        token[:10],
        token[1:],
        changed,
        token + "AA",
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


def test_the_last_page_has_another_etag_once_one_more_follows(app, client, listings):
    """Whoever keeps the link with the ETag would else never see what came after it."""
    url = "/v1/orderbook?limit=5&offset=695"
    last = client.get(url)
    assert "Link" not in last.headers
    with app.app_context(), write() as db:
        db.execute(INSERT, ("0.0.9999", 1, BOB, None))
    r = client.get(url, headers={"If-None-Match": last.headers["ETag"]})
    assert r.status_code == 200
    assert r.data == last.data
    assert "Link" in r.headers


@pytest.mark.parametrize("mount", ["/市", "/a>;rel=x", '/a"b c', "/é"])
def test_a_link_survives_any_mount(client, listings, mount):
    environ = {"SCRIPT_NAME": mount.encode().decode("latin-1")}
    link = client.get("/v1/orderbook?limit=1", environ_overrides=environ).headers["Link"]
    assert link.isascii()
    assert re.fullmatch(r'<[^<>" ]+/v1/orderbook\?[^<>" ]+>; rel="next"', link)


def test_a_token_holds_for_every_process_of_the_database(app, client, listings):
    with app.app_context():
        token = paging.write_token(paging.Position("x", TOKEN, 1), "orderbook")
        key = app.extensions["page_key"]
        paging.init_app(app)
        assert app.extensions["page_key"] == key
        assert paging.read_token(token, "orderbook") == ("x", TOKEN, 1)
