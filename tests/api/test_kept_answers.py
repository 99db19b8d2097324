"""An answer is kept only while it is true, for whom it is meant, and within a bound."""

import json
import os
import subprocess
import sys
import threading
import time

import pytest
from werkzeug.test import EnvironBuilder, run_wsgi_app

from marketplace import create_app, times
from marketplace.api import authentication, kept
from marketplace.store import access_tokens, queries
from marketplace.store.database import write
from tests.conftest import ALICE, TOKEN, assert_error, authorized_client, settings
from tests.serving import ROOT

WRITER = """
import sys, time
from marketplace.store.database import SCHEMA
from marketplace.store.sqlite import Database

database = Database(sys.argv[1], SCHEMA)
for number in range(1, 100_000):
    with database.write() as db:
        db.execute("UPDATE nft SET name = ? WHERE serial_no = 7", (f"version {number}",))
    print(number, flush=True)
    time.sleep(0.002)
"""

COMMIT = """
import sys
from marketplace.store.database import SCHEMA
from marketplace.store.sqlite import Database

with Database(sys.argv[1], SCHEMA).write() as db:
    db.execute(sys.argv[2])
"""


def test_no_answer_is_older_than_the_last_commit_before_its_request(app, client, nft, tmp_path):
    """Another process commits all the while; readers in several threads check each answer's version."""
    command = [sys.executable, "-c", WRITER, f"{tmp_path}/marketplace.db"]
    committed, stop, stale, answers = [0], threading.Event(), [], [0]
    header = {"Authorization": client.environ_base["HTTP_AUTHORIZATION"]}

    def follow(writer):
        for line in writer.stdout:
            committed[0] = int(line)

    def read_on():
        reader = app.test_client()
        while not stop.is_set():
            at_least = committed[0]
            name = reader.get(f"/v1/nft/{TOKEN}/7", headers=header).json["name"]
            seen = int(name.removeprefix("version ")) if name.startswith("version") else 0
            answers[0] += 1
            if seen < at_least:
                stale.append((at_least, seen))

    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        threads = [threading.Thread(target=follow, args=(writer,), daemon=True)]
        threads += [threading.Thread(target=read_on) for _ in range(4)]
        for thread in threads:
            thread.start()
        give_up = time.monotonic() + 120
        while (answers[0] < 500 or committed[0] < 100) and time.monotonic() < give_up:
            time.sleep(0.1)
        stop.set()
        for thread in threads[1:]:
            thread.join()
        writer.kill()
        threads[0].join()
    assert stale == []
    assert answers[0] >= 500
    assert committed[0] >= 100


def test_an_answer_is_kept_while_nothing_changes(app, client, nft):
    url, statements = f"/v1/nft/{TOKEN}/7", []
    app.extensions["database"].connection.set_trace_callback(statements.append)
    first = client.get(url)
    assert any("FROM nft" in statement for statement in statements)
    statements.clear()
    assert client.get(url).data == first.data
    assert statements == []


# From 3.12 on, Python warns of the threads that run beside a test.
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_nothing_is_kept_across_a_fork(client, nft, tmp_path):
    """A new process begins to count commits anew: its number may be the one of what the old one kept."""
    url = f"/v1/nft/{TOKEN}/7"
    assert client.get(url).json["name"] != "changed"
    command = "UPDATE nft SET name = 'changed'"
    subprocess.run(
        [sys.executable, "-c", COMMIT, f"{tmp_path}/marketplace.db", command], cwd=ROOT, check=True
    )
    pid = os.fork()
    if pid == 0:
        os._exit(0 if client.get(url).json["name"] == "changed" else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert client.get(url).json["name"] == "changed"


def test_a_write_of_this_process_ends_it(client, nft, lister):
    url = f"/v1/nft/{TOKEN}/7"
    assert client.get(url).json["isForSale"] is False
    lister(nft, add=False)
    assert client.get(url).json["isForSale"] is True


def test_a_revoked_token_gets_no_kept_answer(app, nft):
    one, other = authorized_client(app, "read"), authorized_client(app, "read")
    for client in (one, other, one, other):
        assert client.get("/v1/orderbook").status_code == 200
    with app.app_context(), write() as db:
        [first, *_] = queries.list_access_tokens(db)
        queries.mark_access_token_revoked(db, first["name"], times.to_iso(times.now()))
    assert_error(one.get("/v1/orderbook"), 401, "was revoked")
    assert other.get("/v1/orderbook").status_code == 200


def test_an_expired_token_gets_no_kept_answer(app):
    with app.app_context():
        token = access_tokens.create("short", ("read",), seconds=3)
    client = app.test_client()
    header = {"Authorization": f"Bearer {token}"}
    assert client.get("/v1/orderbook", headers=header).status_code == 200
    assert client.get("/v1/orderbook", headers=header).status_code == 200
    time.sleep(3.05)
    assert_error(client.get("/v1/orderbook", headers=header), 401, "expired")


def test_who_has_no_token_gets_no_kept_answer(app, client):
    client.get("/v1/orderbook")
    assert_error(app.test_client().get("/v1/orderbook"), 401)
    writer = authorized_client(app, "write")
    assert_error(writer.get("/v1/orderbook"), 403)
    bad = {"Authorization": "Bearer nonsense"}
    assert_error(app.test_client().get("/v1/orderbook", headers=bad), 401)


def test_another_prefix_gets_its_own_links(client, lister):
    for serial_no in (1, 2):
        lister((TOKEN, serial_no))
    plain = client.get("/v1/orderbook?limit=1")
    below = client.get("/v1/orderbook?limit=1", environ_overrides={"SCRIPT_NAME": "/market"})
    assert plain.headers["Link"].startswith("</v1/")
    assert below.headers["Link"].startswith("</market/v1/")
    assert client.get("/v1/orderbook?limit=1").headers["Link"] == plain.headers["Link"]


def test_another_host_or_order_of_the_query_gets_the_same_truth(client, lister):
    lister((TOKEN, 1))
    first = client.get("/v1/orderbook?limit=5&offset=0").json
    assert client.get("/v1/orderbook?offset=0&limit=5").json == first
    assert client.get("/v1/orderbook?limit=5", headers={"Host": "evil.example"}).json == first


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
    answers = iter([True, True, False, True])
    app = create_app(authenticate=lambda *_: next(answers), **settings(tmp_path))
    client = app.test_client()
    statuses = [client.get("/v1/orderbook").status_code for _ in range(4)]
    assert statuses == [200, 200, 401, 200]


def test_so_it_is_where_it_adds_to_our_own(tmp_path):
    allowed = iter([True, True, False])

    def authenticate(request, scope):
        return authentication.authenticate(request, scope) and next(allowed)

    client = authorized_client(create_app(authenticate=authenticate, **settings(tmp_path)), "read")
    assert [client.get("/v1/orderbook").status_code for _ in range(3)] == [200, 200, 401]


def test_errors_are_not_kept(client, ledger):
    assert_error(client.get(f"/v1/nft/{TOKEN}/7"), 404)
    client.post("/v1/add", json={"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7})
    assert client.get(f"/v1/nft/{TOKEN}/7").status_code == 200


def test_what_is_kept_is_bounded(app, client, nft, monkeypatch):
    monkeypatch.setattr(kept, "MAX_KEPT_BYTES", 20_000)
    for offset in range(200):
        client.get(f"/v1/orderbook?offset={offset}")
    [layer] = [layer for layer in layers(app) if isinstance(layer, kept.KeptAnswers)]
    assert 0 < len(layer._version._answers) < 50


def test_what_is_asked_for_at_length_is_not_kept(app, client, nft):
    [layer] = [layer for layer in layers(app) if isinstance(layer, kept.KeptAnswers)]
    token = client.environ_base["HTTP_AUTHORIZATION"]
    assert client.get("/v1/orderbook?limit=1").status_code == 200
    for url, more in (
        (f"/v1/orderbook?x={'y' * 1000}", {}),
        ("/v1/orderbook?limit=2", {"Origin": "o" * 1000}),
        ("/v1/orderbook?limit=3", {"Authorization": token.replace(" ", " " * 1000)}),
    ):
        assert client.get(url, headers=more).status_code == 200
    assert len(layer._version._answers) == len(layer._version._tokens) == 1


def test_tokens_are_bounded_too(app, client, nft, monkeypatch):
    monkeypatch.setattr(kept, "MAX_TOKENS", 3)
    [layer] = [layer for layer in layers(app) if isinstance(layer, kept.KeptAnswers)]
    token = client.environ_base["HTTP_AUTHORIZATION"]
    for spaces in range(1, 9):
        header = {"Authorization": token.replace(" ", " " * spaces)}
        assert client.get("/v1/orderbook", headers=header).status_code == 200
        assert len(layer._version._tokens) <= 3


def test_what_may_write_only_may_not_read_after_it_wrote(tmp_path):
    """A host may ask for both scopes of one request."""

    def authenticate(request, scope):
        return authentication.authenticate(request, "write") and authentication.authenticate(
            request, scope
        )

    app = create_app(authenticate=authenticate, **settings(tmp_path))
    assert_error(authorized_client(app, "write").get("/v1/orderbook"), 403)


def test_one_service_does_not_believe_what_another_found(app, client, tmp_path):
    """A host may pass one request to two of them, one after the other."""
    other = create_app(**settings(tmp_path / "other"))
    header = {"Authorization": client.environ_base["HTTP_AUTHORIZATION"]}
    environ = EnvironBuilder("/v1/orderbook", headers=header).get_environ()
    assert run_wsgi_app(app, environ)[1] == "200 OK"
    assert run_wsgi_app(other, environ)[1] == "401 UNAUTHORIZED"


def test_an_answer_kept_again_counts_once(app, client, nft, monkeypatch):
    """Many tokens ask for the same: each is a miss of its own, and none of them a 500."""
    monkeypatch.setattr(kept, "MAX_KEPT_BYTES", 20_000)
    [layer] = [layer for layer in layers(app) if isinstance(layer, kept.KeptAnswers)]
    assert client.get("/v1/orderbook").status_code == 200
    for _ in range(100):
        layer._version._tokens.clear()
        assert client.get("/v1/orderbook").status_code == 200
    assert len(layer._version._answers) == 1


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


def test_a_server_may_leave_out_an_empty_query(app, client, nft):
    """PEP 3333: QUERY_STRING may be absent."""
    header = {"Authorization": client.environ_base["HTTP_AUTHORIZATION"]}
    environ = EnvironBuilder("/v1/orderbook", headers=header).get_environ()
    del environ["QUERY_STRING"]
    for _ in range(2):
        assert run_wsgi_app(app, dict(environ))[1] == "200 OK"


def layers(app):
    layer = app.wsgi_app
    while layer is not None:
        yield layer
        layer = getattr(layer, "_application", None)


@pytest.fixture
def many(app, nft):
    """A collection of which more is listed than is kept or compressed whole."""
    with app.app_context(), write() as db:
        db.execute(
            """
            INSERT INTO nft (token, serial_no, name, file_type, owner, ledger_at,
                             is_for_sale, listing_price, last_listed_at)
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
            SELECT '0.0.8000', i, 'Many #' || i, 'image/png', '0.0.1001', 'x', 1, 5,
                   '2026-11-20T12:00:00.000000000Z'
            FROM n
            """
        )
    return "0.0.8000"


def test_a_long_list_is_sent_as_it_is_read(client, many):
    r = client.get(f"/v1/nftslisted/{many}")
    assert [nft["serialNo"] for nft in json.loads(r.data)] == list(range(1, 4001))
    assert "ETag" not in r.headers
    assert r.headers["Cache-Control"] == "private, no-cache"
    assert client.head(f"/v1/nftslisted/{many}").status_code == 200


def test_a_long_list_that_is_left_half_read_does_no_harm(client, many):
    r = client.get(f"/v1/nftslisted/{many}", buffered=False)
    next(r.iter_encoded())
    r.close()
    assert client.get("/v1/orderbook?limit=1").status_code == 200
    assert client.post(
        "/v1/add", json={"accountId": ALICE, "tokenId": TOKEN, "serialNo": 99}
    ).json == {"result": "OK"}
