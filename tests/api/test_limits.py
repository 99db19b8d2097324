"""How often one may: writes by token and by address, failures to authenticate by address."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from werkzeug.exceptions import Unauthorized

from harness.apps import settings
from harness.network import PATIENCE_SECONDS
from harness.serving import serve
from marketplace import create_app
from marketplace.api import limits
from marketplace.store import access_tokens
from tests.answers import assert_error


@pytest.fixture
def make_app(tmp_path, monkeypatch):
    def make(failed="30/m", **rates):
        monkeypatch.setattr(limits, "FAILED_LIMIT", failed)
        return create_app(**settings(tmp_path) | rates)

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


def test_writes_are_accepted_again_after_the_window(make_app):
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


def test_each_worker_counts_by_itself(tmp_path):
    with serve(tmp_path, "--workers", "2", WRITE_LIMIT="20/h") as service:
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
            written = Counter(threads.map(lambda number: call(number, token), range(200)))
            failed = Counter(threads.map(lambda number: call(number, f"x{number}"), range(200)))
    assert 20 <= written[422] <= 40
    assert 30 <= failed[401] <= 60
    assert service.output.count("may fail to authenticate") <= 2
