"""An answer is kept only while it is true, for whom it is meant, and within a bound."""

import gc
import io
import itertools
import json
import random
import sys
import threading
import time
from collections import Counter
from multiprocessing.sharedctypes import RawValue

import pytest
from cachetools import FIFOCache
from flask import request, request_started
from sqlite_utils.utils import sqlite3
from werkzeug.test import EnvironBuilder, run_wsgi_app

from harness.apps import authorized_client, settings
from harness.cast import ALICE, KEYS, TOKEN
from harness.engines import connect
from harness.forks import fork, join
from harness.postgresql import until
from marketplace import create_app
from marketplace.api import authentication, cache
from marketplace.services import read, services, write
from marketplace.store import access_tokens, nfts
from marketplace.store.database import open_database
from tests.answers import assert_error
from tests.engines import both_engines
from tests.examples import SEEDS


@both_engines
@pytest.mark.parametrize("elsewhere", [0, 3], ids=["same row", "other rows, too"])
def test_no_answer_is_older_than_the_last_commit_before_its_request(app, client, elsewhere):
    """Another process commits all the while; readers in several threads check each answer's version."""
    for serial_no in (7, 8):
        client.post("/v1/add", json=KEYS | {"serialNo": serial_no})
    committed, stop, stale, answers = RawValue("q", 0), threading.Event(), [], [0]
    header = {"Authorization": client.environ_base["HTTP_AUTHORIZATION"]}

    def keep_writing():
        database = open_database(app.config["DATABASE_URL"])
        for number in itertools.count(1):
            for serial_no in [8] * elsewhere + [7]:
                with database.write() as db:
                    row = {"name": f"version {number}", "serial_no": serial_no}
                    db.execute("UPDATE nft SET name = :name WHERE serial_no = :serial_no", row)
            committed.value = number
            time.sleep(0.002)

    def read_on():
        reader = app.test_client()
        while not stop.is_set():
            at_least = committed.value
            name = reader.get(f"/v1/nft/{TOKEN}/7", headers=header).json["name"]
            seen = int(name.removeprefix("version ")) if name.startswith("version") else 0
            answers[0] += 1
            if seen < at_least:
                stale.append((at_least, seen))

    writer = fork(keep_writing)
    threads = [threading.Thread(target=read_on) for _ in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: answers[0] > 200 and committed.value > 50, "nobody reads, or nobody writes")
    stop.set()
    for thread in threads:
        thread.join()
    writer.kill()
    writer.join()
    assert stale == []


NFT_URL = f"/v1/nft/{TOKEN}/7"


@pytest.fixture
def answered(app):
    """The addresses that the application was asked for, one after the other."""
    paths = []
    app.before_request(lambda: paths.append(request.path))
    return paths


def commit(app, sql):
    """What anybody may write by hand, through a connection that nobody else uses."""
    with connect(app.config["DATABASE_URL"]) as db:
        assert db.execute(sql).rowcount


@both_engines
def test_a_commit_to_other_rows_keeps_the_cached_answer(answered, app, client, nft):
    client.post("/v1/add", json=KEYS | {"serialNo": 8})
    first = client.get(NFT_URL)
    answered.clear()
    for number in range(3):
        commit(app, f"UPDATE nft SET name = 'another {number}' WHERE serial_no = 8")
        assert client.get(NFT_URL).data == first.data
        authorized_client(app, "read")  # another token
        assert client.get(NFT_URL).data == first.data
    assert answered == []
    commit(app, "UPDATE nft SET name = 'this'")
    for _ in range(2):
        assert client.get(NFT_URL).json["name"] == "this"
    assert answered == [NFT_URL]


@both_engines
def test_an_answer_with_a_read_beside_its_cached_rows_is_true_until_any_commit(app, client):
    @authentication.require_scope("read")
    def show_both():
        first = cache.cached_query(nfts.get_nft, TOKEN, 7)
        return [first["name"], nfts.get_nft(read(), TOKEN, 8)["name"]]

    app.add_url_rule("/v1/both", view_func=show_both)
    for serial_no in (7, 8):
        client.post("/v1/add", json=KEYS | {"serialNo": serial_no})
    client.get("/v1/both")
    commit(app, "UPDATE nft SET name = 'changed' WHERE serial_no = 8")
    assert client.get("/v1/both").json[1] == "changed"


@both_engines
def test_a_commit_while_it_is_made_ends_it(app, client, nft):
    """What the application had read before is no answer to whoever asks after."""
    names = iter(["first", "second"])
    app.after_request(lambda r: commit(app, f"UPDATE nft SET name = '{next(names)}'") or r)
    client.get(NFT_URL)
    assert client.get(NFT_URL).json["name"] == "first"
    app.after_request_funcs.clear()
    assert client.get(NFT_URL).json["name"] == "second"
    assert client.get(NFT_URL).json["name"] == "second"


def commit_before_the_next_look(app, sql):
    """Write by hand just before an NFT's row is read again."""
    connection = services(app).database.connection

    def commit_first(statement):
        if "FROM nft" in statement:
            connection.set_trace_callback(None)
            commit(app, sql)

    authorized_client(app, "read")  # a commit elsewhere
    connection.set_trace_callback(commit_first)


def commit_once_it_was_read(app):
    """Write by hand just after an NFT's row was read."""
    connection = services(app).database.connection

    def commit_then(cursor, row):
        found = sqlite3.Row(cursor, row)
        if "serial_no" in dict(found):
            connection.row_factory = sqlite3.Row
            commit(app, "UPDATE nft SET name = 'changed'")
        return found

    connection.row_factory = commit_then


def environ_of(client, path):
    """What a server hands over, of a GET with the client's token."""
    header = {"Authorization": client.environ_base["HTTP_AUTHORIZATION"]}
    return EnvironBuilder(path, headers=header).get_environ()


def test_a_read_leaves_nothing_to_the_garbage_collector(app, client, request):
    client.get("/v1/network")
    gc.disable()
    request.addfinalizer(gc.enable)
    for path in ("/v1/orderbook", f"/v1/nft/{TOKEN}/8"):
        environ = environ_of(client, path)
        environ["wsgi.input"] = body = io.BytesIO()
        assert run_wsgi_app(app, environ)[1][:3] in ("200", "404")
        del environ
        assert sys.getrefcount(body) == 2


def test_a_commit_just_before_the_check_ends_the_cached_answer(app, client, nft):
    client.get(NFT_URL)
    commit_before_the_next_look(app, "UPDATE nft SET name = 'changed'")
    for _ in range(2):
        assert client.get(NFT_URL).json["name"] == "changed"


def test_a_commit_just_after_the_check_ends_the_cached_answer(app, client, nft):
    client.get(NFT_URL)
    authorized_client(app, "read")  # a commit elsewhere
    commit_once_it_was_read(app)
    assert client.get(NFT_URL).json["name"] != "changed"
    assert client.get(NFT_URL).json["name"] == "changed"


def test_a_token_that_is_revoked_while_its_answer_is_looked_at_gets_none(app, client, nft):
    client.get(NFT_URL)
    commit_before_the_next_look(app, "UPDATE access_token SET revoked_at = 'now'")
    assert_error(client.get(NFT_URL), 401, "was revoked")


def test_what_cannot_be_looked_at_is_asked_for(answered, app, client, nft):
    first = client.get(NFT_URL)
    answered.clear()
    authorized_client(app, "read")  # a commit elsewhere
    interrupts = iter([1])
    services(app).database.connection.set_progress_handler(lambda: next(interrupts, 0), 1)
    assert client.get(NFT_URL).data == first.data
    assert answered == [NFT_URL]


# As it was at first, where it was deleted since.
BACK = """
    INSERT INTO {table} ({columns})
    SELECT {columns} FROM first_{table} WHERE true ON CONFLICT DO NOTHING
"""
NFT_COLUMNS = "token, serial_no, name, file_type, attributes, image, owner, ledger_at"
WRITES = [
    *["UPDATE nft SET name = '{any}' WHERE serial_no = {serial_no}"] * 4,
    "UPDATE nft SET name = '{any}'",
    "UPDATE nft SET attempts = {any} WHERE serial_no = {serial_no}",
    "UPDATE nft SET owner = '0.0.{any}' WHERE serial_no = {serial_no}",
    "UPDATE nft SET is_for_sale = 1, is_listed = 1, listing_price = {any} WHERE serial_no = {serial_no}",
    "UPDATE nft SET is_for_sale = 0, is_listed = 0, listing_price = 0 WHERE serial_no = {serial_no}",
    "DELETE FROM nft WHERE serial_no = {serial_no}",
    *[BACK.format(table="nft", columns=NFT_COLUMNS)] * 2,
    "UPDATE access_token SET revoked_at = 'now' WHERE hash = '{hash}'",
    *["UPDATE access_token SET revoked_at = NULL WHERE hash = '{hash}'"] * 2,
    "UPDATE access_token SET expires_at = '2020-01-01T00:00:00.000000000Z' WHERE hash = '{hash}'",
    "UPDATE access_token SET expires_at = '2920-01-01T00:00:00.000000000Z' WHERE hash = '{hash}'",
    "UPDATE access_token SET expires_at = NULL WHERE hash = '{hash}'",
    "UPDATE access_token SET scopes = 'write' WHERE hash = '{hash}'",
    *["UPDATE access_token SET scopes = 'read' WHERE hash = '{hash}'"] * 2,
    "UPDATE access_token SET name = '{hash} is {any}' WHERE hash = '{hash}'",
    "DELETE FROM access_token WHERE hash = '{hash}'",
    *[BACK.format(table="access_token", columns="hash, name, scopes, created_at")] * 2,
]
ADDRESSES = [
    *[f"/v1/nft/{TOKEN}/{serial_no}" for serial_no in (7, 7, 7, 8, 8, 9)],
    f"/v1/nft/{TOKEN}/7?x=1",
    f"/v1/nft/{TOKEN}/7/traits",
    "/v1/orderbook",
    "/v1/orderbook?limit=1",
    "/v1/orderbook?limit=0",
    "/v1/orderbook?trait=x",
    "/v1/nowhere",
    f"/v1/user/{ALICE}/listed",
    f"/v1/nftslisted/{TOKEN}",
]
HEADERS = [*[{}] * 5, {"Origin": "https://a.example"}, {"Accept-Encoding": "gzip"}]


@both_engines
@pytest.mark.parametrize("seed", SEEDS)
def test_random_writes_never_show_an_old_cached_answer(app, client, tmp_path, seed):
    """Random direct writes and random requests. One of the applications caches nothing."""
    uncached = create_app(**settings(tmp_path))
    bound(uncached, 0)
    hosted = create_app(
        authenticate=lambda *asked: authentication.authenticate(*asked), **settings(tmp_path)
    )
    for serial_no in (7, 8):
        client.post("/v1/add", json=KEYS | {"serialNo": serial_no})
    readers = [authorized_client(app, "read").environ_base["HTTP_AUTHORIZATION"] for _ in range(3)]
    hashes = [access_tokens.hash_token(token.removeprefix("Bearer ")) for token in readers]
    readers = [*readers * 3, "", "Bearer invalid"]
    applications = (app, uncached, hosted)
    dice, said, statuses = random.Random(seed), [], Counter()
    with connect(app.config["DATABASE_URL"]) as db:
        for table in ("nft", "access_token"):
            db.execute(f"CREATE TABLE first_{table} AS SELECT * FROM {table}")
        for _ in range(300):
            if dice.random() < 0.3:
                facts = {"any": dice.randrange(1, 4), "serial_no": dice.choice((7, 8))}
                said.append(dice.choice(WRITES).format(**facts, hash=dice.choice(hashes)))
                db.execute(said[-1])
                continue
            url, token = dice.choice(ADDRESSES), dice.choice(readers)
            said.append(url)
            options = {
                "method": dice.choice(("GET", "GET", "GET", "HEAD")),
                "headers": {"Authorization": token, **dice.choice(HEADERS)},
                "environ_overrides": {"SCRIPT_NAME": dice.choice(("", "", "/market"))},
            }
            answers = [one.test_client().open(url, **options) for one in applications]
            for answer in answers:
                answer.headers.pop("X-Request-ID", None)  # another one for each
            first, *others = [(r.status, dict(r.headers), r.data) for r in answers]
            assert others == [first] * 2, said
            statuses[answers[0].status_code] += 1
    assert {200, 401, 403, 404} <= statuses.keys(), statuses


@both_engines
def test_no_answer_is_cached_across_a_fork(app, client, nft):
    """A new process counts commits from zero, so its number may match the old process's cached answer."""
    assert client.get(NFT_URL).json["name"] != "changed"
    commit(app, "UPDATE nft SET name = 'changed'")

    def look():
        assert client.get(NFT_URL).json["name"] == "changed"

    join(fork(look))
    look()


@both_engines
def test_an_expired_token_gets_no_cached_answer(app):
    with app.app_context():
        token = access_tokens.create("short", ("read",), seconds=1)
    expired_at, client = time.time() + 1, app.test_client()
    header = {"Authorization": f"Bearer {token}"}
    while client.get("/v1/orderbook", headers=header).status_code == 200:
        assert time.time() < expired_at + 0.5
    assert_error(client.get("/v1/orderbook", headers=header), 401, "expired")


@both_engines
def test_another_origin_gets_its_own_headers(tmp_path):
    app = create_app(CORS_ORIGINS="https://a.example,https://b.example", **settings(tmp_path))
    client = authorized_client(app, "read")
    for _ in range(2):
        for origin in ("https://a.example", "https://b.example", "https://evil.example", None):
            headers = {"Origin": origin} if origin else {}
            r = client.get("/v1/orderbook", headers=headers)
            allowed = r.headers.get("Access-Control-Allow-Origin")
            assert allowed == (origin if origin and "evil" not in origin else None)


def test_a_hosts_own_authentication_is_asked_each_time(tmp_path):
    answers, statements = iter([True, True, False, True]), []
    app = create_app(authenticate=lambda *_: next(answers), **settings(tmp_path))
    client = app.test_client()
    first = client.get("/v1/orderbook")
    services(app).database.connection.set_trace_callback(statements.append)
    others = [client.get("/v1/orderbook") for _ in range(3)]
    assert [r.status_code for r in others] == [200, 401, 200]
    assert others[0].data == first.data and others[0].headers == first.headers
    assert statements, "its view was not called"


@pytest.fixture
def shared(tmp_path):
    """A client of a service that two pages may call."""
    app = create_app(CORS_ORIGINS="https://a.example,https://b.example", **settings(tmp_path))
    return authorized_client(app, "read")


def test_an_invented_origin_is_not_cached_for_itself(shared):
    for number in range(3):
        headers = {"Origin": f"https://{number}.example"}
        assert shared.get("/v1/orderbook", headers=headers).status_code == 200
    assert len(cached_by(shared.application)) == 2, "the token and one answer"


def test_hooks_and_signals_see_each_request_that_is_not_answered_from_the_cache(
    app, client, nft, answered
):
    """Hooks and signals, also with a token that is cached; what a hook adds is cached with the answer."""
    signals = []

    def note(sender, **extra):
        signals.append(request.path)

    app.after_request(lambda r: r.headers.add("X-Host", str(len(answered))) or r)
    with request_started.connected_to(note, app):
        for _ in range(2):
            assert client.get(NFT_URL).headers["X-Host"] == "1"
        assert client.get(f"/v1/nft/{TOKEN}/8").status_code == 404
        assert client.get("/v1/orderbook").headers["X-Host"] == "3"
    assert answered == signals == [NFT_URL, f"/v1/nft/{TOKEN}/8", "/v1/orderbook"]


def test_an_answer_that_a_hook_replaces_is_not_cached(app, client, nft):
    app.after_request(lambda r: app.response_class("closed", 503))
    for _ in range(2):
        assert client.get("/v1/orderbook").status_code == 503
    app.after_request_funcs.clear()
    assert client.get("/v1/orderbook").status_code == 200


def test_an_answer_with_a_cookie_is_not_cached(app, client, nft):
    cookies = iter("abc")
    app.after_request(lambda r: r.set_cookie("host", next(cookies)) or r)
    given = [client.get("/v1/orderbook").headers["Set-Cookie"][:6] for _ in range(3)]
    assert given == ["host=a", "host=b", "host=c"]


def test_an_answer_that_varies_with_another_header_is_not_cached(app, client, nft):
    app.after_request(lambda r: r.vary.add("X-Host") or r)
    app.after_request(lambda r: r.headers.add("X-Seen", request.headers["X-Host"]) or r)
    seen = [client.get("/v1/orderbook", headers={"X-Host": name}) for name in "ab"]
    assert [r.headers["X-Seen"] for r in seen] == ["a", "b"]


def test_it_does_not_cache_or_change_a_response_that_a_hook_compressed(app, client, nft):
    def compress(response):
        if "br" in request.headers.get("Accept-Encoding", ""):
            response.set_data(b"squeezed" * 200)
            response.content_encoding = "br"
        return response

    app.after_request(compress)
    r = client.get("/v1/orderbook", headers={"Accept-Encoding": "br, gzip"})
    assert (r.content_encoding, r.data) == ("br", b"squeezed" * 200)
    assert client.get("/v1/orderbook", headers={"Accept-Encoding": "gzip"}).json == []


def test_it_does_not_cache_a_hosts_response_that_reads_no_rows(app, client, nft):
    """By a view, by a hook before any, and in place of a 404: no commit would end it."""
    numbers = itertools.count()
    app.add_url_rule("/v1/number", view_func=lambda: str(next(numbers)))
    app.register_error_handler(404, lambda error: (str(next(numbers)), 200))
    app.before_request(lambda: str(next(numbers)) if "closed" in request.args else None)
    client.get(NFT_URL)  # the token is cached
    paths = ("/v1/number", "/v1/nowhere", "/v1/nowhere?closed", "/v1/orderbook?closed")
    said = [client.get(path).text for path in paths for _ in range(2)]
    assert said == [*"01234567"]


@both_engines
def test_the_size_of_a_cached_answer_includes_its_rows(app, client, nft):
    """What the answer does not show of its row is remembered, too."""
    bound(app, 100_000)
    commit(app, f"UPDATE nft SET metadata = '{'x' * 40_000}'")
    for number in range(20):
        assert client.get(f"/v1/nft/{TOKEN}/7?x={number}").status_code == 200
    assert 0 < len(cached_by(app)) <= 3


@both_engines
def test_what_may_write_only_may_not_read_after_it_wrote(tmp_path):
    """A host may ask for both scopes of one request."""

    def authenticate(request, scope):
        return authentication.authenticate(request, "write") and authentication.authenticate(
            request, scope
        )

    app = create_app(authenticate=authenticate, **settings(tmp_path))
    assert_error(authorized_client(app, "write").get("/v1/orderbook"), 403)


@both_engines
def test_one_service_does_not_believe_what_another_found(app, client, tmp_path):
    """A host may pass one request to two of them, one after the other."""
    other = create_app(**settings(tmp_path / "other"))
    environ = environ_of(client, "/v1/orderbook")
    assert run_wsgi_app(app, environ)[1] == "200 OK"
    assert run_wsgi_app(other, environ)[1] == "401 UNAUTHORIZED"


@both_engines
def test_a_layer_in_front_may_add_headers(app, client, nft):
    service = app.wsgi_app

    def in_front(environ, start_response):
        def add(status, headers, exc_info=None):
            headers.append(("X-Host", "1"))
            return start_response(status, headers, exc_info)

        return service(environ, add)

    app.wsgi_app = in_front
    for _ in range(3):
        assert client.get("/v1/orderbook").headers.getlist("X-Host") == ["1"]


@both_engines
def test_a_server_may_leave_out_an_empty_query(app, client, nft):
    """PEP 3333: QUERY_STRING may be absent."""
    environ = environ_of(client, "/v1/orderbook")
    del environ["QUERY_STRING"]
    for _ in range(2):
        assert run_wsgi_app(app, dict(environ))[1] == "200 OK"


def cached_by(app):
    """All that is cached just now: answers and tokens."""
    return cache_of(app)._entries


def bound(app, size):
    """Limit the cache to this many bytes."""
    cache_of(app)._entries = FIFOCache(size, lambda entry: entry.size)


def cache_of(app):
    layer = app.wsgi_app
    while not isinstance(layer, cache.ResponseCache):
        layer = layer._application
    return layer._cache


@pytest.fixture
def many(app, nft):
    """A collection of which more is listed than is kept or compressed whole."""
    with app.app_context(), write() as db:
        db.execute(
            """
            INSERT INTO nft (token, serial_no, name, file_type, owner, ledger_at,
                             is_for_sale, is_listed, listing_price, last_listed_at)
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
            SELECT '0.0.8000', i, 'Many #' || i, 'image/png', '0.0.1001', 'x', 1, 1, 5,
                   '2026-11-20T12:00:00.000000000Z'
            FROM n
            """
        )
    return "0.0.8000"


@both_engines
def test_a_long_list_is_sent_as_it_is_read(client, many):
    r = client.get(f"/v1/nftslisted/{many}")
    assert [nft["serialNo"] for nft in json.loads(r.data)] == list(range(1, 4001))
    assert "ETag" not in r.headers
    assert r.headers["Cache-Control"] == "private, no-cache"
    assert client.head(f"/v1/nftslisted/{many}").status_code == 200


@both_engines
def test_a_long_list_that_is_left_half_read_does_no_harm(client, many):
    r = client.get(f"/v1/nftslisted/{many}", buffered=False)
    next(r.iter_encoded())
    r.close()
    assert client.get("/v1/orderbook?limit=1").status_code == 200
    assert client.post("/v1/add", json=KEYS | {"serialNo": 99}).json == {"result": "OK"}
