"""Pages by key: every listing once, whatever is listed and sold meanwhile; far pages as near as the first."""

import base64
import json
import random
import re

import pytest

from marketplace.store import orderbook
from marketplace.store.database import read, write
from tests.conftest import ALICE, BOB, TOKEN, assert_error

INSERT = """
    INSERT INTO nft (token, serial_no, name, file_type, owner, ledger_at,
                     is_for_sale, listing_price, last_listed_at)
    VALUES (:token, :serial_no, 'x', 'image/png', :owner, 'x', 1, 5, :last_listed_at)
"""


def insert(db, token, serial_no, owner, last_listed_at):
    row = {"token": token, "serial_no": serial_no, "owner": owner}
    db.execute(INSERT, row | {"last_listed_at": last_listed_at})


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
        for row in rows:
            insert(db, *row)
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
        rows = orderbook.list_newest(read(), 1000, owner=ALICE)
    expected = [row["serial_no"] for row in rows]
    assert follow(client, f"/v1/user/{ALICE}/listed?limit=7") == expected


def test_offsets_agree_with_links_at_every_depth(client, listings):
    for offset in (0, 1, 19, 199, 200, 201, 350, 500, 640, 660, 690, 699, 700, 5000, 2**63 - 1):
        r = client.get("/v1/orderbook", query_string={"offset": offset, "limit": 5})
        assert [nft["serialNo"] for nft in r.json] == listings[offset : offset + 5], offset


def test_offsets_agree_with_links_for_a_user(client, listings):
    url = f"/v1/user/{ALICE}/listed"
    expected = follow(client, f"{url}?limit=50")
    for offset in (0, 1, 50, len(expected) - 1, len(expected), 5000):
        r = client.get(url, query_string={"offset": offset, "limit": 5})
        assert [nft["serialNo"] for nft in r.json] == expected[offset : offset + 5], offset


def test_every_listing_is_seen_once_while_others_come_and_go(app, client, listings):
    dice = random.Random("changes")
    gone, number = [], [10_000]

    def change():
        with app.app_context(), write() as db:
            number[0] += 1
            insert(db, "0.0.9000", number[0], BOB, "2026-11-20T12:00:00.000000000Z")
            serial_no = dice.choice(listings)
            gone.append(serial_no)
            db.execute(
                "UPDATE nft SET is_for_sale = 0, listing_price = 0 WHERE serial_no = :serial_no",
                {"serial_no": serial_no},
            )

    seen = follow(client, "/v1/orderbook", change)
    assert len(seen) == len(set(seen))
    assert set(listings) - set(gone) <= set(seen)


def page_token(r):
    return r.headers["Link"].partition("page=")[2].partition(">")[0]


def written(*position):
    """What a stranger may write in place of a page token."""
    content = json.dumps(position, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(content).decode()


DATE = "2026-11-20T12:00:00.000000000Z"


def test_a_position_may_be_anybodys(client, listings):
    """It is no secret, and what is asked for after it is on the list anyway."""
    r = client.get("/v1/orderbook", query_string={"page": written("", "0.0.9999", 1)})
    assert r.json == []
    assert len(client.get(f"/v1/orderbook?page={written(DATE, TOKEN, 1)}").json) == 20


def test_what_is_no_position_is_refused(client, listings):
    token = page_token(client.get("/v1/orderbook?limit=1"))
    assert client.get(f"/v1/orderbook?page={token}").status_code == 200
    for bad in (
        "",
        "x",
        token[:-1],
        token[:10],
        token[1:],
        token + "AA",
        written(),
        written(DATE, TOKEN),
        written(DATE, TOKEN, 1, 1),
        written(None, TOKEN, 1),
        written(f"{DATE}0", TOKEN, 1),
        written("9", TOKEN, 1),
        written(DATE, "0.0", 1),
        written(DATE, "0.0.9223372036854775808", 1),
        written(DATE, 5, 1),
        written(DATE, TOKEN, 0),
        written(DATE, TOKEN, 2**63),
        written(DATE, TOKEN, True),
        written(DATE, TOKEN, 1.0),
        written(DATE, TOKEN, "1"),
        written(DATE, [TOKEN], 1),
        base64.urlsafe_b64encode(b"[" * 150).decode(),
        base64.urlsafe_b64encode(b"5").decode(),
        base64.urlsafe_b64encode(f'["{DATE}", "{TOKEN}", 1]'.encode()).decode(),
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
        insert(db, "0.0.9999", 1, BOB, None)
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
