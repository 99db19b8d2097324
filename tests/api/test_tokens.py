"""Who may call: every endpoint asks for a token, of the right scope, that lives."""

import time

import pytest

from harness.apps import authorized_client, settings, write_sql
from harness.cast import KEYS
from marketplace import create_app, errors
from marketplace.hedera import times
from marketplace.services import read
from marketplace.store import access_tokens
from marketplace.watcher import maintenance
from tests.answers import assert_error
from tests.api.documented import call, operations
from tests.engines import both_engines


def read_orderbook(client, **headers):
    return client.get("/v1/orderbook", headers=headers)


def run(app, *words):
    return app.test_cli_runner().invoke(args=["token", *words])


def test_every_endpoint_asks_for_a_token_of_its_scope(app):
    nobody, scopes = app.test_client(), ("read", "write", "metrics")
    clients = {scope: authorized_client(app, *({*scopes} - {scope})) for scope in scopes}
    for operation in operations(nobody):
        method, path, _ = operation
        if path == "/status":
            continue
        r = call(nobody, *operation)
        assert_error(r, 401, "Authorization: Bearer <token>")
        assert r.headers["WWW-Authenticate"] == "Bearer"
        scope = "metrics" if path == "/metrics" else "read" if method == "get" else "write"
        r = call(clients[scope], *operation)
        assert_error(r, 403, f'lacks the scope "{scope}"')
        assert 'error="insufficient_scope"' in r.headers["WWW-Authenticate"]


def test_authentication_comes_before_validation(app):
    assert app.test_client().get("/v1/nft/invalid/x").status_code == 401
    r = app.test_client().post("/v1/add", data="not json")
    assert r.status_code == 401


@pytest.mark.parametrize(
    "header",
    ["", "Bearer ", "Basic dXNlcjpwYXNz", "Bearer a b", "Bearer é", "x" * 8000],
)
def test_it_rejects_a_broken_header(app, header):
    r = read_orderbook(app.test_client(), Authorization=header)
    assert_error(r, 401, "not of the form: Bearer <token>")


def test_a_missing_header_names_what_drops_it(app):
    """Apache's mod_wsgi does: nobody found out why each call was refused."""
    assert_error(read_orderbook(app.test_client()), 401, "is missing", "WSGIPassAuthorization On")


def test_it_rejects_an_unknown_token(app):
    r = read_orderbook(app.test_client(), Authorization="Bearer nftm_unknown")
    assert_error(r, 401, f"is unknown: the sandbox's is in the file {app.config['DATA_DIR']}/")
    assert 'error="invalid_token"' in r.headers["WWW-Authenticate"]


def test_it_reads_the_scheme_in_any_case(app):
    token = run(app, "create", "any case").output.strip()
    r = read_orderbook(app.test_client(), Authorization=f"bearer  {token}")
    assert r.status_code == 200


def test_only_a_hash_is_stored(app):
    token = run(app, "create", "secret").output.strip()
    with app.app_context():
        [row] = access_tokens.list_access_tokens(read())
    assert token not in "".join(map(str, tuple(row)))
    assert row["hash"] == access_tokens.hash_token(token)


@both_engines
def test_a_revoked_token_stops_at_once(app):
    client = authorized_client(app, "read")
    assert read_orderbook(client).status_code == 200
    name = run(app, "list").output.partition("  [")[0]
    assert run(app, "revoke", name).output == f"Revoked {name}\n"
    assert_error(read_orderbook(client), 401, "was revoked")


def test_commands_make_list_and_revoke(app):
    assert run(app, "list").output.startswith("There is no access token yet")
    made = run(app, "create", "shop", "--scope", "read", "--scope", "write", "--expires-in", "12h")
    assert made.output.startswith("nftm_")
    assert made.exit_code == 0
    assert run(app, "create", "forever", "--expires-in", "never").exit_code == 0

    first, second = run(app, "list").output.splitlines()
    assert first.startswith("shop  [read write]  created ")
    assert "expires 20" in first
    assert second.startswith("forever  [read]  created ")
    assert second.endswith("never expires")
    assert run(app, "create", "slow", "--rate", "10/s", "--scope", "metrics").exit_code == 0
    third = run(app, "list").output.splitlines()[2]
    assert third.startswith("slow  [metrics]  rate 10/s  created ")

    run(app, "revoke", "shop")
    assert "revoked 20" in run(app, "list").output
    assert run(app, "create", "shop").exit_code == 0


def rotate(app, *words):
    result = run(app, "rotate", *words)
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


def works(app, token):
    return read_orderbook(app.test_client(), Authorization=f"Bearer {token}").status_code == 200


@both_engines
def test_two_tokens_of_a_name_work_while_one_replaces_the_other(app):
    earlier = run(
        app, "create", "shop", "--scope", "read", "--rate", "9/m", "--expires-in", "30d"
    ).output
    result = run(app, "rotate", "shop", "--overlap", "1d")
    token = result.stdout.strip()
    assert works(app, earlier.strip()) and works(app, token)
    assert result.stderr.startswith("The earlier token works until 20")

    replaced, new = run(app, "list").output.splitlines()
    assert "replaced, works until 20" in replaced
    assert new.startswith("shop  [read]  rate 9/m  created ")
    with app.app_context():
        first, second = access_tokens.list_access_tokens(read())
    days = [
        (times.from_iso(row["expires_at"]) - times.from_iso(row["created_at"])) / 86_400
        for row in (first, second)
    ]
    assert days == [pytest.approx(1, abs=0.01), pytest.approx(30, abs=0.01)]
    assert run(app, "rotate", "shop").exit_code == 1  # a third one

    run(app, "revoke", "shop")
    assert not works(app, earlier.strip()) and not works(app, token)


@both_engines
def test_an_expired_token_is_not_rotated(app):
    """It worked again, for its whole lifetime."""
    earlier = run(app, "create", "shop", "--expires-in", "30d").output.strip()
    write_sql(app, "UPDATE access_token SET expires_at = created_at")
    result = run(app, "rotate", "shop")
    assert result.exit_code == 1
    assert "There is no valid token named shop" in result.output
    assert not works(app, earlier)
    assert len(run(app, "list").output.splitlines()) == 1


@both_engines
def test_a_replaced_token_ends_with_the_overlap_or_before(app):
    earlier = run(app, "create", "shop", "--expires-in", "never").output.strip()
    token = rotate(app, "shop", "--overlap", "1s")
    write_sql(app, "UPDATE access_token SET expires_at = replaced_at WHERE replaced_at IS NOT NULL")
    assert not works(app, earlier)
    assert works(app, rotate(app, "shop")) and works(app, token)

    run(app, "create", "brief", "--expires-in", "1h")
    assert "never expires" not in run(app, "list").output.splitlines()[-1]
    rotate(app, "brief", "--overlap", "1w")
    with app.app_context():
        rows = [row for row in access_tokens.list_access_tokens(read()) if row["name"] == "brief"]
    assert all(times.from_iso(row["expires_at"]) < time.time() + 3601 for row in rows)


@both_engines
def test_it_warns_the_operator_of_tokens_that_expire(app, caplog):
    for name, life in (("old", "15d"), ("soon", "13d"), ("sooner", "1d"), ("rotated", "2d")):
        run(app, "create", name, "--expires-in", life, "--scope", "metrics")
    rotate(app, "rotated")
    run(app, "create", "forever", "--expires-in", "never")
    nobody, reader = app.test_client(), authorized_client(app, "read")
    scraper = authorized_client(app, "metrics")

    def ending(client):
        return client.get("/status").json["tokensEnding"]

    write_sql(
        app,
        "UPDATE access_token SET expires_at = NULL WHERE name LIKE 'test%'",
    )
    assert ending(nobody) is None and ending(reader) is None
    named = [each["name"] for each in ending(scraper)]
    assert named == ["sooner", "rotated", "soon"]  # what replaced the rotated one lives as short
    assert nobody.get("/status", headers={"Authorization": "Bearer x"}).status_code == 200
    assert "marketplace_access_tokens_ending 3.0\n" in scraper.get("/metrics").text
    with app.app_context():
        maintenance.warn_of_ending_tokens()
    warned = [line.split()[3] for line in caplog.messages if "flask token rotate" in line]
    assert warned == named


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("create", "shop"), "A token named shop exists"),
        (("create", "x" * 65), "is not a name"),
        (("create", "a\nb"), "is not a name"),
        (("create", "other", "--expires-in", "soon"), "'soon' is not like 12h, 90d or never"),
        (("create", "other", "--expires-in", "0d"), "is not like"),
        (("create", "other", "--scope", "admin"), "'admin' is not one of"),
        (
            ("create", "other", "--rate", "fast"),
            "'fast' is not a rate (10/s, 600/m, 5000/h) or off",
        ),
        (("rotate", "nobody"), "There is no valid token named nobody"),
        (("rotate", "shop", "--overlap", "never"), "the earlier token must end"),
        (("revoke", "nobody"), "There is no valid token named nobody"),
    ],
)
def test_commands_refuse_invalid_values(app, words, sentence):
    run(app, "create", "shop")
    result = run(app, *words)
    assert result.exit_code != 0
    assert sentence in result.output


def test_a_host_brings_its_own_authentication(tmp_path):
    seen = []

    def authenticate(request, scope):
        seen.append((request.headers.get("X-User"), scope))
        if request.headers.get("X-User") == "charlie":
            raise errors.Forbidden(f"You may not {scope}")
        return request.headers.get("X-User") == "alice"

    client = create_app(authenticate=authenticate, **settings(tmp_path)).test_client()
    assert read_orderbook(client, **{"X-User": "alice"}).status_code == 200
    assert_error(read_orderbook(client, **{"X-User": "bob"}), 401, "not allowed")
    r = client.post("/v1/add", json=KEYS, headers={"X-User": "charlie"})
    assert_error(r, 403, "write")
    assert seen == [("alice", "read"), ("bob", "read"), ("charlie", "write")]


@pytest.mark.parametrize("name", ["Zoë", "\0", "\ud800", "a" * 10_000])
def test_a_host_may_name_its_users_by_any_text(tmp_path, name):
    client = create_app(authenticate=lambda *_: name, **settings(tmp_path)).test_client()
    assert client.post("/v1/add", json=KEYS).status_code == 200


@pytest.mark.parametrize("name", [7, b"alice", {"id": 7}])
def test_a_host_that_returns_no_name_is_shown_its_mistake(tmp_path, caplog, name):
    """It counted as True: behind the host's proxy, all users had the limits of one address."""
    client = create_app(authenticate=lambda *_: name, **settings(tmp_path)).test_client()
    for r in (read_orderbook(client), client.post("/v1/add", json=KEYS)):
        assert_error(r, 500, "INTERNAL_SERVER_ERROR")
    assert f"returned a value of type {type(name).__name__}: return True" in caplog.text
    assert client.get("/status").status_code == 200
