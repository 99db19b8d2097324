"""The feed of events, page by page. Following the links misses nothing, or gets an error that says so."""

import random
from functools import partial

import pytest

from harness.cast import ALICE, BOB, CHARLIE, TOKEN
from marketplace.events import Cursor, EventKind
from marketplace.hedera import times
from marketplace.services import read, services, write
from marketplace.store import events, following, properties
from marketplace.watcher import maintenance
from tests import actions
from tests.answers import assert_error
from tests.api.pages import follow, next_url
from tests.engines import both_engines
from tests.examples import SEEDS

OTHER_TOKEN = "0.0.7002"
FACTS = ("price", "previous_price", "received", "transaction_id", "consensus_at")


@pytest.fixture
def tell(app):
    return partial(actions.tell, app)


def get(client, path="/v1/events", **query):
    return client.get(path, query_string=query)


def ids(r):
    assert r.status_code == 200, r.text
    return [int(event["id"].split("-")[1]) for event in r.json]


@pytest.fixture
def epoch(client):
    return next_url(get(client)).split("=")[-1].split("-")[0]


def test_it_works(client, tell, epoch):
    tell({}, dict.fromkeys(FACTS) | {"kind": "ADDED", "from_account": None})

    assert get(client).json == [
        {
            "id": f"{epoch}-1",
            "kind": "SOLD",
            "token": TOKEN,
            "serialNo": 7,
            "from": {"accountId": ALICE},
            "to": {"accountId": BOB},
            "price": 250,
            "previousPrice": 240,
            "sellerReceived": "23750000000",
            "transactionId": "0.0.9001@1763640000.000000001",
            "consensusTimestamp": "1795176000.123456789",
            "offerId": None,
            "date": "2026-11-20T12:00:00.123Z",
        },
        {
            "id": f"{epoch}-2",
            "kind": "ADDED",
            "token": TOKEN,
            "serialNo": 7,
            "from": None,
            "to": {"accountId": BOB},
            "price": None,
            "previousPrice": None,
            "sellerReceived": None,
            "transactionId": None,
            "consensusTimestamp": None,
            "offerId": None,
            "date": "2026-11-20T12:00:02.000Z",
        },
    ]


def test_following_the_links_misses_nothing_and_repeats_nothing(client, tell):
    url, seen = next_url(get(client, limit=2)), []
    for batch in (1, 0, 2, 3, 5, 0, 4):
        tell(*[{} for _ in range(batch)])
        while rows := ids(r := client.get(url)):
            seen += rows
            url = next_url(r)
        url = next_url(r)
    assert seen == list(range(1, 16))


def test_without_a_cursor_it_begins_with_the_newest(client, tell, epoch):
    tell(*[{} for _ in range(5)])
    r = get(client, limit=2)
    assert ids(r) == [4, 5]
    assert next_url(r).endswith(f"after={epoch}-5")
    assert ids(client.get(next_url(r))) == []


@both_engines
def test_it_reads_backwards_to_the_oldest(client, tell):
    tell(*[{} for _ in range(5)])
    pages = [ids(r) for r in follow(client, "/v1/events", limit=2, order="desc")]
    assert pages == [[5, 4], [3, 2], [1]]


CHANGES = (
    {"kind": "LISTED", "from_account": ALICE, "to_account": None},
    {"kind": "SOLD", "from_account": ALICE, "to_account": BOB},
    {"kind": "SOLD", "from_account": BOB, "to_account": ALICE, "serial_no": 8},
    {"kind": "LISTED", "from_account": BOB, "to_account": None, "token": OTHER_TOKEN},
    {"kind": "TRANSFERRED", "from_account": ALICE, "to_account": ALICE},
    {"kind": "ADDED", "from_account": None, "to_account": CHARLIE},
)


def is_asked_for(event, query):
    """The model of the filters."""
    return (
        event["kind"] in query.get("kind", [event["kind"]])
        and event["token"] == query.get("tokenId", event["token"])
        and event["serial_no"] == query.get("serialNo", event["serial_no"])
        and query.get("accountId", event["to_account"])
        in (event["from_account"], event["to_account"])
        and query.get("from", "2026")[:19] <= event["consensus_at"] < query.get("to", "2027")[:19]
    )


@both_engines
def test_it_finds_what_a_model_finds(client, tell, epoch):
    dice = random.Random("events")
    events = [
        {
            "kind": str(dice.choice([*EventKind])),
            "token": dice.choice((TOKEN, OTHER_TOKEN)),
            "serial_no": dice.choice((7, 8)),
            "from_account": dice.choice((None, ALICE, BOB, CHARLIE)),
            "to_account": dice.choice((None, ALICE, BOB)),
            # Nearly in the order of ids
            "consensus_at": f"2026-11-20T12:{(n + dice.randrange(9)) // 2:02}:00.000000000Z",
        }
        for n in range(80)
    ]
    tell(*events)
    for _ in range(50 * len(SEEDS)):
        query = {"limit": dice.choice((1, 3, 7, 100))}
        if dice.random() < 0.5:
            query["kind"] = dice.choices([*map(str, EventKind)], k=dice.choice((1, 2, 3)))
        if dice.random() < 0.5:
            query["tokenId"] = dice.choice((TOKEN, OTHER_TOKEN, "0.0.1"))
            if dice.random() < 0.5:
                query["serialNo"] = dice.choice((7, 8))
        if dice.random() < 0.5:
            query["accountId"] = dice.choice((ALICE, BOB, CHARLIE, "0.0.1"))
        if dice.random() < 0.3:
            query["from"] = f"2026-11-20T12:{dice.randrange(30):02}:00Z"
        if dice.random() < 0.3:
            query["to"] = f"2026-11-20T12:{dice.randrange(30, 50):02}:00Z"
        after = dice.choice((0, dice.randrange(80)))
        expected = [n for n, event in enumerate(events, 1) if is_asked_for(event, query)]
        limit = query["limit"]
        first_page = expected[:limit] if "from" in query else expected[-limit:]

        assert ids(get(client, **query)) == first_page, query
        seen, r = [], get(client, **query, after=f"{epoch}-{after}")
        while rows := ids(r):
            seen += rows
            r = client.get(next_url(r))
        assert seen == [n for n in expected if n > after], (query, after)
        assert next_url(r).endswith(f"after={epoch}-80")  # what was looked through is left out
        seen = [id for r in follow(client, "/v1/events", **query, order="desc") for id in ids(r)]
        assert seen == expected[::-1], query


@both_engines
def test_it_finds_the_events_of_a_time(client, tell):
    days = ("2026-09-30T23:59:59.999999999Z", "2026-10-01T00:00:00.000000000Z")
    tell(*({"consensus_at": day} for day in (*days, "2026-11-01T00:00:00.000000000Z")))
    tell({"consensus_at": None, "seen_at": "2026-10-31T23:59:59.000000000Z"})

    october = {"from": "2026-10-01", "to": "2026-11-01"}
    r = get(client, **october, limit=1)
    assert ids(r) == [2]
    assert ids(r := client.get(next_url(r))) == [4]  # the link keeps both dates
    assert ids(client.get(next_url(r))) == []
    assert ids(get(client, **october, order="desc")) == [4, 2]
    assert ids(get(client, to="2026-10-01T00:00:00.000000000Z")) == [1]
    assert ids(get(client, **{"from": "2026-10-01T00:00:00.000000001Z"})) == [3, 4]
    assert ids(get(client, **{"from": "2030-01-01"})) == []


@pytest.mark.parametrize(
    "moment", ["2026-13-01", "2026-10-01T24:00:00Z", "yesterday", "2026-10-01T12:00:00"]
)
def test_it_rejects_an_invalid_moment(client, moment):
    assert_error(get(client, to=moment), 422, "to must be a date or a time in UTC")


def test_it_rejects_a_time_that_ends_before_it_begins(client):
    r = get(client, **{"from": "2026-10-02", "to": "2026-10-02"})
    assert_error(r, 422, "to must be later than from")


def test_it_finds_the_events_of_one_nft(client, tell, nft):
    tell(*CHANGES)
    before = len(get(client, f"/v1/nft/{TOKEN}/7/events").json) - 4
    r = get(client, f"/v1/nft/{TOKEN}/7/events", limit=2, order="desc")
    assert [event["kind"] for event in r.json] == ["ADDED", "TRANSFERRED"]
    r = client.get(next_url(r))
    assert [event["kind"] for event in r.json] == ["SOLD", "LISTED"]
    assert len(client.get(next_url(r)).json) == before


def test_it_knows_no_events_of_an_nft_that_is_not_stored(client):
    assert_error(get(client, f"/v1/nft/{TOKEN}/999/events"), 404, "NFT_NOT_STORED")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"after": "42"}, 'after must be a cursor of the events, such as 3f2a9c1e-42, not "42"'),
        ({"after": ""}, "a cursor"),
        ({"after": "3F2A9C1E-42"}, "a cursor"),
        ({"after": "3f2a9c1e-042"}, "a cursor"),
        ({"after": "3f2a9c1e--1"}, "a cursor"),
        ({"after": "3f2a9c1e-42\n"}, "a cursor"),
        ({"after": "3f2a9c1e-\u0664"}, "a cursor"),
        ({"after": f"3f2a9c1e-{2**63}"}, "a cursor"),
        ({"after": "3f2a9c1e-" + "9" * 5000}, "a cursor"),
        ({"after": "WyIyMDI2LTExLTIwVDEyOjAwOjAwLjEyMzQ1Njc4OVoiLCIwLjAuNzAwMSIsN10="}, "a cursor"),
        ({"limit": 0}, "limit must be a whole number from 1 to 1000"),
        ({"limit": 1001}, "limit must be a whole number from 1 to 1000"),
        ({"order": "up"}, "order must be asc or desc"),
        ({"kind": "SOLD,LISTED"}, "kind must be ADDED, "),
        ({"kind": ["SOLD", "sold"]}, 'not "sold"'),
        ({"kind": ""}, "kind must be ADDED, "),
        ({"serialNo": 7}, "serialNo works only with tokenId"),
        ({"serialNo": 0, "tokenId": TOKEN}, "serialNo must be"),
        ({"tokenId": "x"}, "tokenId must be"),
        ({"accountId": "x"}, "accountId must be"),
    ],
)
def test_it_rejects_invalid_parameters(idle_client, query, words):
    body = assert_error(get(idle_client, **query), 422, words)
    assert body["errors"].keys() == {"query"}


def test_it_says_where_to_begin_when_a_cursor_is_gone(app, client, tell, epoch):
    tell(*[{} for _ in range(9)])
    with app.app_context(), write() as db:
        assert events.delete_events(db, "2026-11-21", 4) == 4

    def refusal(cursor):
        beginning = f"X-Events-Cursor; the oldest stored event follows {epoch}-4"
        return assert_error(get(client, after=cursor), 410, cursor, beginning)["message"]

    assert "too old" in refusal(f"{epoch}-3")
    assert "beyond the newest" in refusal(f"{epoch}-10")
    assert "went back in time" in refusal("01234567-7")
    assert ids(get(client, after=f"{epoch}-4")) == [5, 6, 7, 8, 9]
    assert ids(get(client, after=f"{epoch}-9")) == []
    assert ids(get(client)) == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("cause", ["a restore", "a standby that took over"])
def test_a_database_that_went_back_in_time_refuses_earlier_cursors(
    app, client, tell, engine, cause
):
    tell({})
    cursor = get(client).json[0]["id"]
    with app.app_context(), write() as db:
        if cause == "a restore":
            properties.mark_epoch(db)
        elif engine == "postgresql":
            properties.mark_property(db, "events_home", b"another server")
        else:
            pytest.skip("SQLite has no standbys")
    assert_error(get(client, after=cursor), 410, "went back in time")
    [event] = get(client).json
    assert Cursor.parse(event["id"]).epoch not in cursor
    assert ids(get(client, after=event["id"])) == []


@both_engines
def test_an_unchanged_page_is_a_304(client, tell, epoch):
    r = get(client, after=f"{epoch}-0", kind="LISTED")
    again = client.get(next_url(r), headers={"If-None-Match": r.headers["ETag"]})
    assert again.status_code == 304
    tell({})  # the link leads further
    again = get(client, after=f"{epoch}-0", kind="LISTED")
    assert again.json == r.json
    assert again.headers["ETag"] != r.headers["ETag"]
    assert client.head("/v1/events").headers["Link"] == get(client).headers["Link"]


@both_engines
def test_the_document_knows_each_kind(app, tell):
    tell(*[{"kind": str(kind)} for kind in EventKind])
    with app.app_context():
        rows = read().execute("SELECT * FROM event ORDER BY id").fetchall()
    assert [row["kind"] for row in rows] == [*EventKind]


LISTS = (
    "/v1/orderbook",
    "/v1/orderbook?sort=price",
    f"/v1/user/{ALICE}/listed",
    f"/v1/nftslisted/{TOKEN}",
)


@pytest.mark.parametrize("path", LISTS)
def test_a_list_comes_with_the_cursor_that_leads_on_from_it(client, tell, lister, path):
    lister((TOKEN, 7))
    r = client.get(path)
    cursor = r.headers["X-Events-Cursor"]
    assert cursor == get(client).json[-1]["id"]
    assert ids(get(client, after=cursor)) == []
    tell({"kind": "METADATA_CHANGED"})  # and the list is what it was
    again = client.get(path, headers={"If-None-Match": r.headers["ETag"]})
    assert again.status_code == 304
    assert again.headers["X-Events-Cursor"] == get(client).json[-1]["id"] != cursor
    assert len(ids(get(client, after=cursor))) == 1


@pytest.mark.parametrize("path", LISTS)
def test_the_cursor_of_a_list_is_read_before_the_list(app, client, path):
    statements = []
    services(app).database.connection.set_trace_callback(statements.append)
    assert client.get(path).json == []
    traced = [sql for sql in statements if "events_epoch" in sql or "FROM nft" in sql]
    assert "events_epoch" in traced[0]
    assert len(traced) > 1
    assert not any("events_epoch" in sql for sql in traced[1:])


def forget(app, followed_to=None):
    """Delete old events, after the ledger was followed to a date, or to the present."""
    with app.app_context():
        with write() as db:
            following.mark_followed_from(db, followed_to or days_ago(0), days_ago(0))
        maintenance.delete_events()


def days_ago(days):
    return times.to_iso(times.now() - int(days * 86_400 * times.SECOND))


def test_the_watcher_deletes_old_events(app, client, tell, epoch, monkeypatch):
    monkeypatch.setattr(maintenance, "DELETED_AT_ONCE", 2)
    tell(*[{"seen_at": days_ago(days)} for days in (500, 450, 401, 400.01, 399.99, 3)])
    forget(app)
    assert ids(get(client)) == [5, 6]
    assert_error(get(client, after=f"{epoch}-3"), 410, "too old")
    assert ids(get(client, after=f"{epoch}-4")) == [5, 6]


@both_engines
def test_a_clock_that_is_far_ahead_deletes_no_event(app, client, tell):
    """42 of 60 were gone after a start with a clock of the next year."""
    tell(*[{"seen_at": days_ago(days)} for days in (500, 450, 401, 3)])
    forget(app, days_ago(105))
    assert ids(get(client)) == [1, 2, 3, 4]
    forget(app, days_ago(60))
    assert ids(get(client)) == [2, 3, 4]


def test_a_service_without_a_watcher_deletes_no_event(app, client, tell):
    tell({"seen_at": days_ago(500)}, {"seen_at": days_ago(3)})
    with app.app_context():
        maintenance.delete_events()
    assert ids(get(client)) == [1, 2]


@both_engines
def test_deleting_old_events_leaves_no_gap_after_a_clock_went_back(app, client, tell):
    tell(*[{"seen_at": days_ago(days)} for days in (500, 300, 450, 3)])
    forget(app)
    assert ids(get(client)) == [2, 3, 4]


@both_engines
def test_the_newest_event_is_never_deleted(app, client, tell):
    forget(app)
    tell(*[{"seen_at": days_ago(500)} for _ in range(3)])
    forget(app)
    assert ids(get(client)) == [3]
    tell({})
    assert ids(get(client)) == [3, 4]
