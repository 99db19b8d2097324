"""How often one may: writes by token and by address, failures to authenticate by address."""

import os
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import requests
from sqlite_utils.utils import sqlite3
from werkzeug.exceptions import Unauthorized

from harness.apps import authorized_client, settings
from harness.cast import KEYS
from harness.network import PATIENCE_SECONDS
from harness.serving import serve
from marketplace import create_app, machine_file
from marketplace.api import rate_limit
from marketplace.errors import StartRefused
from marketplace.store import access_tokens
from tests.answers import assert_error


@pytest.fixture
def make_app(tmp_path, monkeypatch):
    def make(failed="30/m", **limits):
        monkeypatch.setattr(rate_limit, "FAILED_LIMIT", failed)
        return create_app(**settings(tmp_path) | limits)

    return make


def make_token(app, name, *scopes, rate=None):
    with app.app_context():
        return access_tokens.create(name, scopes or ("read", "write"), 3600, rate)


def write(app, token, address="192.0.2.1"):
    """Ask for a write, of a body that is refused with 422 where it is let through."""
    return call(app, "POST", "/v1/add", token, address)


def read(app, token, address="192.0.2.1"):
    return call(app, "GET", "/v1/orderbook", token, address)


def call(app, method, path, token, address):
    headers = {"Authorization": f"Bearer {token}"}
    environ = {"REMOTE_ADDR": address}
    options = {"json": {}} if method == "POST" else {}
    client = app.test_client()
    return client.open(path, method=method, headers=headers, environ_overrides=environ, **options)


def test_a_token_may_write_so_often(make_app, caplog):
    app = make_app(WRITE_LIMIT="3/h")
    token = make_token(app, "shop")
    for number in range(3):
        assert write(app, token, f"192.0.2.{number}").status_code == 422
    r = write(app, token, "192.0.2.9")
    assert_error(r, 429, "The access token shop may write 3 times an hour: try again in")
    assert 0 < int(r.headers["Retry-After"]) <= 3600
    assert read(app, token).status_code == 200
    write(app, token, "192.0.2.9")
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert "The access token shop may write 3 times" in record.getMessage()


def test_the_ratelimit_header_says_what_is_left(make_app):
    app = make_app(failed="30/m", WRITE_LIMIT="2/h")
    token = make_token(app, "shop")
    assert "RateLimit" not in read(app, token).headers
    for remaining, status in ((1, 422), (0, 422), (0, 429)):
        r = write(app, token, f"192.0.2.{remaining}")
        assert r.status_code == status
        policy, left = r.headers["RateLimit-Policy"], r.headers["RateLimit"]
        assert policy == '"write by token";q=2;w=3600'
        assert re.fullmatch(rf'"write by token";r={remaining};t=3\d{{3}}', left)
    assert_error(r, 429, f"try again in {left.rpartition('=')[2]} s")
    addresses = write(app, make_token(app, "other"), "192.0.2.1").headers
    assert addresses.getlist("RateLimit-Policy") == [
        f'"write by {by}";q=2;w=3600' for by in ("token", "address")
    ]
    assert len(addresses.getlist("RateLimit")) == 2
    failed = read(app, "wrong").headers
    assert failed["RateLimit-Policy"] == '"fail to authenticate by address";q=30;w=60'


def test_an_address_may_write_so_often(make_app):
    app = make_app(WRITE_LIMIT="3/h")
    for name in ("one", "two", "three"):
        assert write(app, make_token(app, name)).status_code == 422
    token = make_token(app, "four")
    assert_error(write(app, token), 429, "The address 192.0.2.1 may write 3 times an hour")
    assert write(app, token, "192.0.2.2").status_code == 422


def test_a_token_may_have_a_rate_of_its_own(make_app):
    app = make_app(WRITE_LIMIT="2/h")
    slow, fast, free = (
        make_token(app, name, rate=rate)
        for name, rate in (("a", "1/h"), ("b", "4/h"), ("c", "off"))
    )
    assert write(app, slow).status_code == 422
    assert_error(write(app, slow), 429, "The access token a may write once an hour")
    assert [write(app, fast).status_code for _ in range(5)] == [422] * 4 + [429]
    assert {write(app, free).status_code for _ in range(9)} == {422}
    assert write(app, make_token(app, "d")).status_code == 422, "theirs is not the address's"


def test_a_rate_of_its_own_holds_where_there_is_no_limit(make_app):
    app = make_app()
    assert app.config["WRITE_LIMIT"] == "off"
    token = make_token(app, "slow", rate="1/h")
    assert [write(app, token).status_code for _ in range(2)] == [422, 429]
    other = make_token(app, "other")
    assert {write(app, other).status_code for _ in range(9)} == {422}


def test_an_address_may_fail_so_often(make_app, caplog):
    app = make_app(failed="3/h", WRITE_LIMIT="100/h")
    token = make_token(app, "shop")
    for _ in range(2):
        assert read(app, "wrong").status_code == 401
    assert write(app, "nftm_wrong").status_code == 401
    r = read(app, "wrong")
    assert_error(
        r, 429, "The address 192.0.2.1 may fail to authenticate 3 times an hour: try again"
    )
    assert 0 < int(r.headers["Retry-After"]) <= 3600
    assert {read(app, f"wrong{number}").status_code for number in range(20)} == {429}
    r = app.test_client().get("/v1/orderbook", environ_overrides={"REMOTE_ADDR": "192.0.2.1"})
    assert r.status_code == 429
    assert read(app, "wrong", "192.0.2.2").status_code == 401
    # Whoever shares the address, and has a token, is not kept out.
    assert read(app, token).status_code == 200
    assert write(app, token).status_code == 422
    [record] = caplog.records
    assert "The address 192.0.2.1 may fail to authenticate 3 times" in record.getMessage()
    assert "wrong" not in record.getMessage()


def test_a_missing_scope_does_not_count_as_a_failed_login(make_app):
    app = make_app(failed="1/h", WRITE_LIMIT="100/h")
    token = make_token(app, "reader", "read")
    assert {write(app, token).status_code for _ in range(5)} == {403}


def test_a_window_ends(make_app):
    app = make_app(WRITE_LIMIT="1/s")
    token = make_token(app, "shop")
    refused_until = time.time()
    assert write(app, token).status_code == 422
    while (r := write(app, token)).status_code == 429:
        assert r.headers["Retry-After"] == "1"
        refused_until = time.time()
        time.sleep(0.02)
    assert r.status_code == 422
    assert time.time() - refused_until < PATIENCE_SECONDS


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("2001:db8:1:2::5", "2001:db8:1:2:3:4:5:6", True),
        ("2001:db8:1:2::5", "2001:db8:1:3::5", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("fe80::1%eth0", "fe80::2", True),
        ("", "", True),
        ("unknown", "1.2.3.4:5", False),
        ("192.0.2.1:5000", "192.0.2.1:5001", True),
        ("[2001:db8:1:2::5]:5000", "2001:db8:1:2::6", True),
    ],
)
def test_an_ipv6_network_counts_as_one_address(make_app, one, other, shared):
    app = make_app(failed="1/h", WRITE_LIMIT="100/h")
    assert read(app, "wrong", one).status_code == 401
    assert read(app, "wrong", other).status_code == (429 if shared else 401)


def test_a_host_with_its_own_authentication_is_limited_by_address(make_app):
    def authenticate(request, scope):
        if request.headers["Authorization"] == "Bearer other":
            raise Unauthorized("Who are you?")
        return request.headers["Authorization"] == "Bearer alice"

    app = make_app(authenticate=authenticate, failed="2/h", WRITE_LIMIT="2/h")
    assert [write(app, "alice").status_code for _ in range(3)] == [422, 422, 429]
    failed = [read(app, token).status_code for token in ("bob", "other", "other", "bob")]
    assert failed == [401, 401, 429, 429]
    assert read(app, "alice").status_code == 200


def test_counts_of_a_limit_outlive_a_restart(make_app):
    token = make_token(make_app(WRITE_LIMIT="1/h"), "shop")
    assert write(make_app(WRITE_LIMIT="1/h"), token).status_code == 422
    assert write(make_app(WRITE_LIMIT="1/h"), token).status_code == 429
    assert write(make_app(WRITE_LIMIT="2/h"), token).status_code == 422, (
        "another limit starts from zero"
    )


def test_a_store_that_stays_locked_lets_everybody_through(make_app, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("marketplace.api.rate_limit.PAUSE_SECONDS", 0)
    monkeypatch.setattr(machine_file, "TIMEOUT_SECONDS", 0.01)
    app = make_app(WRITE_LIMIT="1/h")
    token = make_token(app, "shop")
    assert write(app, token).status_code == 422
    with closing(sqlite3.connect(tmp_path / "machine.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert {write(app, token).status_code for _ in range(3)} == {422}
    assert write(app, token).status_code == 429
    messages = [record.getMessage() for record in caplog.records]
    assert len([message for message in messages if "no limit of requests holds" in message]) == 1


def test_a_store_that_is_gone_is_asked_again_after_a_rest(make_app, tmp_path, caplog):
    app = make_app(WRITE_LIMIT="1/h")
    token = make_token(app, "shop")
    (tmp_path / "machine.db").unlink()
    (tmp_path / "machine.db").mkdir()
    assert {write(app, token).status_code for _ in range(3)} == {422}
    (tmp_path / "machine.db").rmdir()
    assert {write(app, token).status_code for _ in range(3)} == {422}
    [record] = caplog.records
    assert record.levelname == "ERROR"


def test_a_file_that_cannot_be_written_is_refused(make_app, tmp_path):
    (tmp_path / "machine.db").mkdir()
    with pytest.raises(StartRefused, match=r"machine\.db cannot be written"):
        make_app()


def test_a_file_that_is_emptied_while_the_service_runs_breaks_nothing(make_app, tmp_path):
    """Every add was a 503 that blamed the mirror node, and no limit held."""
    app = make_app(WRITE_LIMIT="3/h")
    client = authorized_client(app, "write")
    assert client.post("/v1/add", json=KEYS).status_code == 200
    os.truncate(tmp_path / "machine.db", 0)
    answers = [client.post("/v1/add", json=KEYS | {"serialNo": n}).status_code for n in range(1, 6)]
    assert answers == [200, 200, 200, 429, 429]


def test_the_workers_of_a_machine_count_together(tmp_path):
    with serve(tmp_path, "--workers", "4", WRITE_LIMIT="20/h") as service:
        token = (tmp_path / "instance/sandbox-token").read_text().strip()

        def call(number, token):
            address = f"203.0.113.{number}"
            headers = {
                "Authorization": f"Bearer {token}",
                # No proxy is trusted: nobody is believed to be somebody else.
                "X-Forwarded-For": address,
                "Forwarded": f"for={address}",
                "X-Real-IP": address,
            }
            answer = requests.post(f"{service.url}/v1/add", json={}, headers=headers, timeout=60)
            return answer.status_code

        with ThreadPoolExecutor(8) as threads:
            written = Counter(threads.map(lambda number: call(number, token), range(60)))
            failed = Counter(threads.map(lambda number: call(number, f"x{number}"), range(60)))
    assert written == {422: 20, 429: 40}
    assert failed == {401: 30, 429: 30}
    assert service.output.count("may fail to authenticate") == 1
    assert service.output.count("may write") == 1
