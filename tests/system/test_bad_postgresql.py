"""A PostgreSQL that cannot be used stops the start with one sentence, in which there is no password."""

import re
import sys
import traceback
from contextlib import closing, suppress
from urllib.parse import quote

import psycopg
import pytest

import marketplace.store
from harness.apps import authorized_client, settings
from harness.engines import execute
from harness.mirror import Mirror
from harness.network import PATIENCE_SECONDS, answering, serve_raw
from harness.postgresql import DATABASE, Proxy, new_server, standing_before
from harness.serving import BIN, CONFIGURATION, ROOT, environment, run_flask, run_program
from marketplace import create_app
from marketplace.errors import DatabaseUnreachable, StartRefused
from marketplace.services import services
from marketplace.store.connection import DatabaseOutdated, DatabaseUnreadable
from marketplace.store.database import SCHEMA, open_database
from marketplace.watcher import sweep
from marketplace.watcher.done import Done
from marketplace.watcher.enrichment import Enricher
from marketplace.watcher.enrichment_result import EnrichmentResult, Optimised, Outcome

ODD = "s3cret/@:%?#&é x"  # what an address must not hold as it is
NO_ADDRESS = (
    r"MARKETPLACE_DATABASE_URL is not the address of a PostgreSQL database"
    r" \(postgresql://user:password@host-a,host-b/market\): in a user and a password,"
    " % @ : / are written as %25 %40 %3A %2F"
)


@pytest.fixture(scope="module")
def server():
    with new_server() as server:
        server.stop()
        access = server.folder / "data/pg_hba.conf"
        access.write_text("host all nobody all reject\n" + access.read_text())
        server.start()
        server.execute(f"CREATE DATABASE market OWNER market {DATABASE}")
        server.execute(f"CREATE ROLE odd LOGIN PASSWORD '{ODD}'")
        yield server


@pytest.fixture
def database(server):
    """A database of this server for one test: its address."""
    with server.new_database() as url:
        yield url


def refuse(tmp_path, url, *secrets, **more):
    """The sentence of a start that is refused, in which, and in whose traceback, there is no password."""
    with pytest.raises(StartRefused) as refused:
        create_app(**settings(tmp_path) | {"DATABASE_URL": url} | more)
    for shown in ("".join(traceback.format_exception(refused.value)), str(refused.value)):
        for secret in secrets:
            assert secret not in shown
    return str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "%zz",
        "market:s3@cret@{host}/market",
        "market:s3/cret@{host}/market",
        "market:s3cret%00@{host}/market",
        "market@{host}/market?pasword=s3cret",
        "market:s3cret@{host}/market?connect=1",
        "market:s3cret@127.0.0.1:x/market",
    ],
)
def test_an_address_that_is_none(tmp_path, server, address):
    url = f"postgresql://{address}".format(host=f"127.0.0.1:{server.port}")
    sentence = refuse(tmp_path, url, "s3cret", "cret")
    assert re.fullmatch(NO_ADDRESS, sentence)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("a,b:1,c:2,d/market?port=1,2,3", "could not match 3 port numbers to 4 hosts"),
        ("/market?host=a,b&port=1,2,3", "could not match 3 port numbers to 2 hosts"),
        ("127.0.0.1:1,127.0.0.1:2/market", "port 2 failed"),
        ("[::1]:1/market", "postgresql://[::1]:1/market can't be used"),
        ("/market?service=nowhere", 'service "nowhere" not found'),
        ("nowhere.invalid/market", "nowhere.invalid"),
    ],
)
def test_an_address_of_nobody(tmp_path, address, words):
    user = "market:s3cret@"
    sentence = refuse(tmp_path, f"postgresql://{user}{address}", "s3cret")
    assert sentence.startswith("MARKETPLACE_DATABASE_URL")
    assert words in sentence
    assert "\n" not in sentence


def test_what_answers_is_no_postgresql(tmp_path, server):
    with serve_raw(answering(b"", "400 Bad Request")) as url:
        address = f"postgresql://market:s3cret@{url.removeprefix('http://')}/market"
        assert "can't be used" in refuse(tmp_path, address + "?connect_timeout=2", "s3cret")


def test_a_wrong_password(tmp_path, server):
    for address in (
        "postgresql://market:s3cret@{}/market",
        "postgresql://{}/market?user=market&password=s3cret",
        "postgres://market:%733cret@{}/market",
    ):
        url = address.format(f"127.0.0.1:{server.port}")
        sentence = refuse(tmp_path, url, "s3cret", "%733cret", server.password)
        assert sentence == (
            f"MARKETPLACE_DATABASE_URL: postgresql://127.0.0.1:{server.port}/market can't be used:"
            f' connection failed: connection to server at "127.0.0.1", port {server.port} failed: FATAL:'
            ' password authentication failed for user "market". Check the user and the password in the'
            " address, or in ~/.pgpass"
        )


def test_a_password_of_the_environment(tmp_path, server, database, monkeypatch):
    url = database.replace(f":{server.password}", "")
    assert "no password supplied" in refuse(tmp_path, url)
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    assert "password authentication failed" in refuse(tmp_path, url, "s3cret")
    monkeypatch.setenv("PGPASSWORD", server.password)
    create_app(**settings(tmp_path) | {"DATABASE_URL": url})


@pytest.mark.parametrize("password", ["a", "market", "127", "failed"])
def test_a_password_that_is_a_word_of_the_sentence(tmp_path, server, password):
    url = f"postgresql://market:{password}@127.0.0.1:{server.port}/market"
    assert "authentication" in refuse(tmp_path, url)


def test_no_such_database(tmp_path, server):
    sentence = refuse(tmp_path, server.url("nowhere"), server.password)
    assert sentence.endswith(
        'FATAL: database "nowhere" does not exist. Create it: CREATE DATABASE ... TEMPLATE template0'
        " LOCALE 'C' ENCODING 'UTF8'"
    )


class Rewriting(Proxy):
    """Passes on other bytes than it was given."""

    def __init__(self, port, target, pattern, replacement):
        super().__init__(port, target)
        self.rewrite = lambda received: re.sub(pattern, replacement, received, flags=re.DOTALL)

    def alter(self, received, is_answer):
        return self.rewrite(received)


REFUSAL = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0"
POOLER = "a pooler (such as pgbouncer) is in front of it: connect to PostgreSQL itself"


@pytest.mark.parametrize(
    ("pattern", "replacement", "words"),
    [
        (rb"(server_version\0)\d\d", rb"\g<1>14", "PostgreSQL 14, and 15 or newer is needed"),
        (rb"(K\0\0\0\x0c)....", rb"\g<1>\000\000\000\001", POOLER),  # another session's process
        (
            rb"\AR\0.*",
            b"E" + (4 + len(REFUSAL)).to_bytes(4) + REFUSAL,
            f"unsupported startup parameter: options. Perhaps {POOLER}",
        ),
    ],
    ids=["too old", "a pooler that answers", "a pooler that refuses"],
)
def test_a_server_that_does_not_fit(tmp_path, server, pattern, replacement, words):
    with standing_before(server.url("market"), Rewriting, pattern, replacement) as (_, url):
        assert refuse(tmp_path, url, server.password).endswith(words)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("LOCALE_PROVIDER icu ICU_LOCALE 'en'", "its collation is of ICU"),
        ("LOCALE 'C.UTF-8' ENCODING 'UTF8'", "its collation is C.UTF-8 and its encoding UTF8"),
        ("LOCALE 'C' ENCODING 'SQL_ASCII'", "its collation is C and its encoding SQL_ASCII"),
        ("LOCALE 'C' ENCODING 'LATIN1'", "its collation is C and its encoding LATIN1"),
    ],
)
def test_another_collation_or_encoding(tmp_path, server, kind, words):
    try:
        server.execute(f"CREATE DATABASE other OWNER market TEMPLATE template0 {kind}")
    except psycopg.errors.FeatureNotSupported:
        pytest.skip("needs a PostgreSQL with ICU: TEST_POSTGRESQL_BIN=/usr/lib/postgresql/15/bin")
    sentence = refuse(tmp_path, server.url("other"), server.password)
    server.execute("DROP DATABASE other WITH (FORCE)")
    assert words in sentence
    assert "but C and UTF8 are needed: CREATE DATABASE ... TEMPLATE template0" in sentence


def as_odd(server, url):
    return url.replace(f"market:{server.password}", f"odd:{quote(ODD, safe='')}")


def test_a_user_that_may_not_create_tables(tmp_path, server, database):
    url = as_odd(server, database)
    assert "permission denied for schema public. Make this user" in refuse(tmp_path, url, "s3cret")
    execute(database, "GRANT USAGE, CREATE ON SCHEMA public TO odd")
    create_app(**settings(tmp_path) | {"DATABASE_URL": url})
    assert "permission denied for table" in refuse(tmp_path, database)


def test_a_user_that_may_only_read(tmp_path, server, database):
    """What a start does not find out, a request does: it is for the operator, and no fault of ours."""
    create_app(**settings(tmp_path) | {"DATABASE_URL": database})
    execute(database, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO odd")
    url = as_odd(server, database)
    ended = run_flask(tmp_path, "token", "create", "x", DATABASE_URL=url)
    assert ended.exit_code == 1
    assert ended.stderr == (
        "Error: The database cannot be used: permission denied for table access_token. Nothing was"
        " changed; the operator must fix it\n"
    )


def test_foreign_tables(tmp_path, server, database):
    execute(database, "CREATE TABLE nft (id INTEGER); CREATE TABLE other (id INTEGER)")
    sentence = refuse(tmp_path, database, server.password)
    assert sentence.endswith("is not a database of this service: name another database")
    tables = execute(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert sorted(tables) == [("nft",), ("other",)]


def test_a_user_who_may_not_ask_which_server_it_is(tmp_path, server, database):
    """The start was refused with advice about tables and schemas."""
    as_administrator = database.replace("//market:", "//postgres:")
    execute(as_administrator, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    way_out = "GRANT EXECUTE ON FUNCTION pg_control_system() TO market"
    assert way_out in refuse(tmp_path, database, server.password)
    execute(as_administrator, way_out)
    create_app(**settings(tmp_path) | {"DATABASE_URL": database})


def test_a_schema_of_ones_own(tmp_path, server, database):
    own = f"{database}?options=-csearch_path%3Down"
    assert "none of the schemas in its search_path exists: create one" in refuse(tmp_path, own)
    execute(database, "CREATE SCHEMA own")
    client = authorized_client(create_app(**settings(tmp_path) | {"DATABASE_URL": own}), "read")
    assert client.get("/v1/orderbook").json == []
    create_app(**settings(tmp_path) | {"DATABASE_URL": database})
    schemas = "SELECT schemaname FROM pg_tables WHERE tablename = 'nft' ORDER BY 1"
    assert execute(database, schemas) == [("own",), ("public",)]


def test_a_database_without_a_version_is_refused(tmp_path, database):
    """tests/store/test_upgrades.py has what else its version may be."""
    create_app(**settings(tmp_path) | {"DATABASE_URL": database})
    execute(database, "DELETE FROM property WHERE name = 'schema_version'")
    assert "is of a version before 0.4.0" in refuse(tmp_path, database)


# TLS


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        ("/market", "/market?sslmode=require", "server does not support SSL"),
        ("market:", "nobody:", "pg_hba.conf rejects connection"),
    ],
)
def test_a_connection_that_the_server_refuses(tmp_path, server, ours, theirs, words):
    sentence = refuse(tmp_path, server.url("market").replace(ours, theirs), server.password)
    assert words in sentence
    assert sentence.endswith("Check sslmode in the address, and the server's ssl and pg_hba.conf")


# How it is reported


def test_every_way_to_start_says_it_in_one_sentence(tmp_path, server):
    url = server.url("nowhere")
    environ = environment(**settings(tmp_path) | {"DATABASE_URL": url})
    for command in (
        [f"{BIN}/flask", "--app", "wsgi", "token", "list"],
        [f"{BIN}/flask", "--app", "wsgi", "upgrade"],
        [f"{BIN}/gunicorn", "-c", str(CONFIGURATION), "--bind", "127.0.0.1:0"],
        [sys.executable, "-c", "import wsgi"],
    ):
        ended = run_program(*command, cwd=ROOT, env=environ)
        assert ended.returncode != 0
        *before, last = ended.stderr.splitlines()
        assert last.startswith("Error: MARKETPLACE_DATABASE_URL: postgresql://127.0.0.1")
        assert 'database "nowhere" does not exist' in last
        assert "Traceback" not in ended.stderr
        assert server.password not in ended.stdout + ended.stderr
        assert not before or "gunicorn" in command[0]


def test_a_round_that_loses_the_database_fails_as_one(tmp_path, server, database, caplog):
    with standing_before(database, Proxy) as (proxy, url):
        app = create_app(**settings(tmp_path) | {"DATABASE_URL": url})
        execute(
            database,
            "INSERT INTO nft (token, serial_no, name, file_type, owner, is_for_sale, is_listed,"
            " listing_price, ledger_at)"
            " SELECT '0.0.7001', n, 'It', 'image/png', '0.0.' || n, 1, 1, 1, '2026-01-01T00:00:00Z'"
            " FROM generate_series(1, 20) AS n",
        )

        def cut(environ):
            with suppress(OSError):
                proxy.cut()

        Mirror(app).before("/", cut)
        with app.app_context(), pytest.raises(DatabaseUnreachable):
            sweep.sync()
        proxy.mend()
        services(app).database.close()
    assert "was not checked" not in caplog.text


def test_an_image_that_comes_while_the_database_is_away_is_no_fault(
    tmp_path, server, database, caplog
):
    with standing_before(database, Proxy) as (proxy, url):
        app = create_app(**settings(tmp_path) | {"DATABASE_URL": url})
        execute(
            database,
            "INSERT INTO nft (token, serial_no, name, file_type, owner, missing, ledger_at, retry_at)"
            " VALUES ('0.0.7001', 7, 'It', 'image/png', '0.0.1001', 'It is new',"
            " '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')",
        )
        image = Optimised(b"RIFF", "image/png")
        complete = EnrichmentResult(Outcome.COMPLETE, image=image)
        with closing(Enricher(app, lambda pointer, limits: complete)) as enricher:
            enricher.run()
            proxy.cut()
            with pytest.raises(DatabaseUnreachable):
                enricher.step()  # which stores the image
            proxy.mend()
            done = enricher.drain(PATIENCE_SECONDS)
        services(app).database.close()
    assert done == {Done.COMPLETED: 1}
    assert "Traceback" not in caplog.text
    assert "cannot be stored" not in caplog.text


def test_what_is_moved_is_a_file(tmp_path, database):
    ended = run_flask(tmp_path, "move", database, DATABASE_URL=database)
    assert ended.exit_code == 1
    assert re.match(r"Error: postgresql://\S+ is not an SQLite file", ended.stderr)
    assert ended.stderr.count("\n") == 1


def test_psycopg_is_missing(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0].startswith("psycopg")]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in [name for name in sys.modules if name.startswith("marketplace.store.postgresql")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(marketplace.store, "postgresql", raising=False)
    said = r"psycopg is not installed .*\[postgresql\].*in a clone"
    with pytest.raises(StartRefused, match=said):
        open_database("postgresql://market:s3cret@127.0.0.1/market")


def test_an_old_database_is_served_by_nobody(tmp_path, database):
    """A start says what to do; a service that runs already answers 503."""
    app = create_app(**settings(tmp_path) | {"DATABASE_URL": database})
    client = authorized_client(app, "read")
    _set_version(database, SCHEMA.oldest)
    services(app).database.close()
    r = client.get("/v1/orderbook")
    assert r.status_code == 503
    assert "it has changed since the start" in r.json["message"]
    execute(database, "UPDATE property SET value = 'testnet' WHERE name = 'network'")
    real = {"NETWORK": "testnet", "ACCOUNT_ID": "0.0.9001"}
    app = create_app(**settings(tmp_path) | real | {"DATABASE_URL": database})
    with pytest.raises(DatabaseOutdated, match="is of an earlier version"):
        services(app).database.require_current()
    _set_version(database, SCHEMA.oldest - 1)
    with pytest.raises(DatabaseUnreadable, match=r"before 0\.4\.0 .* rebuild TOKEN_ID"):
        create_app(**settings(tmp_path) | real | {"DATABASE_URL": database})


def _set_version(database, version):
    execute(database, f"UPDATE property SET value = '{version}' WHERE name = 'schema_version'")
