"""A move to PostgreSQL takes all with it, or nothing: nobody who calls the service sees a difference."""

import signal
from contextlib import closing

import psycopg
import pytest

from harness.apps import authorized_client, settings
from harness.cast import ALICE, BOB, TOKEN
from harness.engines import END_OTHERS, connect, execute
from harness.postgresql import Proxy, new_database, standing_before, until
from harness.serving import begin_flask, run_flask
from marketplace import create_app
from marketplace.services import services
from marketplace.store import filling
from marketplace.store.database import SCHEMA
from tests.store.released import TESTNET, put
from tests.system.rows import insert

LARGE = 30_000


@pytest.fixture
def postgresql_url():
    """The address of an empty database on a PostgreSQL server."""
    with new_database() as url:
        yield url


def move(folder, *arguments, **settings):
    """What the command ends with, in this process."""
    return run_flask(folder, "move", *arguments, **settings)


def moved_all(folder, url):
    """What the command says where it succeeds."""
    result = move(folder, url)
    assert result.exit_code == 0, result.output
    return result.output


def assert_refused(ended, *words):
    assert ended.exit_code in (1, 2), ended.output
    assert "Error: " in ended.output
    assert "Traceback" not in ended.output
    for word in words:
        assert word in ended.output, ended.output


def held(url):
    """How many rows each table holds, but for those that a start makes."""
    return {table: execute(url, f"SELECT count(*) FROM {table}")[0][0] for table in NOTHING}


NOTHING = dict.fromkeys(SCHEMA.tables - {"property"}, 0)


def start(url, tmp_path):
    """The service on PostgreSQL, with its sandbox where it was."""
    return create_app(**settings(tmp_path) | {"DATABASE_URL": url})


@pytest.fixture
def source(tmp_path):
    """A database of the sandbox with an access token in it; nobody has it open."""
    result = run_flask(tmp_path, "token", "create", "kept")
    assert result.exit_code == 0, result.output
    return tmp_path / "marketplace.db"


@pytest.mark.usefixtures("nft")
def test_every_answer_is_the_same_after_the_move(
    app, client, ledger, lister, tmp_path, postgresql_url
):
    for serial_no in range(1, 31):
        lister((TOKEN, serial_no), 100 + serial_no % 7, ALICE if serial_no % 3 else BOB)
    keys = {"accountId": ALICE, "tokenId": "0.0.7002", "serialNo": 1}
    assert client.post("/v1/add", json=keys).json == {"result": "OK"}
    prepared = client.post("/v1/list/extwallet", json=keys | {"listingPrice": 77}).json
    listed, owned = "/v1/orderbook", f"/v1/user/{ALICE}/listed"
    paths = [listed, owned, f"{listed}?sort=price", f"/v1/nftslisted/{TOKEN}"]
    paths += [f"/v1/nft/{nft}" for nft in (f"{TOKEN}/7", "0.0.7002/1", "0.0.7002/2")]
    paths += [f"/v1/collection/{token}" for token in (TOKEN, "0.0.7002")]
    for path in (listed, owned, f"{listed}?sort=-price"):
        paths.append(client.get(path).headers["Link"].split(">")[0][1:])
    before = [client.get(path) for path in paths]
    services(app).database.close()
    output = moved_all(tmp_path, postgresql_url)
    assert "Copy nft: 31\n" in output
    assert "Copy prepared_transaction: 31\n" in output
    assert f"Moved {tmp_path}/marketplace.db to postgresql://127.0.0.1:" in output
    assert "never start the service on " in output

    moved = start(postgresql_url, tmp_path).test_client()
    moved.environ_base["HTTP_AUTHORIZATION"] = client.environ_base["HTTP_AUTHORIZATION"]
    for path, was in zip(paths, before, strict=True):
        now = moved.get(path)
        assert (now.status_code, now.data) == (was.status_code, was.data), path
        assert now.headers.get("Link") == was.headers.get("Link")
    transaction_id = ledger.sign_and_submit(prepared["byteArray"])
    reported = moved.post("/v1/comingsoon", json=keys | {"transactionId": transaction_id})
    assert reported.json["result"] == "OK"
    assert moved.get("/v1/orderbook?limit=1").json[0]["token"] == "0.0.7002"


def test_pages_are_read_in_the_index_alone_from_the_start(source, tmp_path, postgresql_url):
    insert(source, count=1000)
    moved_all(tmp_path, postgresql_url)
    sql = "SELECT reltuples, relpages - relallvisible FROM pg_class WHERE oid = 'nft'::regclass"
    [(rows, others)] = execute(postgresql_url, sql)
    assert rows == 1000
    assert others <= 1, "pages that are not visible to all"


def test_what_it_was_moved_from_stays_as_it_is(source, tmp_path, postgresql_url):
    insert(source)
    moved_all(tmp_path, postgresql_url)
    assert "kept" in run_flask(tmp_path, "token", "list").output
    # A second time it would take away what was written since.
    app = start(postgresql_url, tmp_path)
    authorized_client(app, "read")
    services(app).database.close()
    assert_refused(
        move(tmp_path, postgresql_url),
        "postgresql://127.0.0.1:",
        "is not empty: there are rows in its table nft",
    )
    assert held(postgresql_url) == NOTHING | {"nft": 1, "access_token": 2}


def test_nul_characters_are_left_out(source, tmp_path, postgresql_url):
    insert(source, name="\0N\0UL", count=2)
    moved_all(tmp_path, postgresql_url)
    assert set(execute(postgresql_url, "SELECT name FROM nft")) == {("NUL",)}


# What is refused


def assert_empty(url):
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    assert execute(url, tables) == [] or held(url) == NOTHING


@pytest.mark.parametrize(
    ("addresses", "words"),
    [
        ([], "Name one PostgreSQL database"),
        (["sqlite:///other.db"], "The target is not the address of a PostgreSQL database"),
        (["postgresql://a:sec%ret@h/x"], "The target is not the address of a PostgreSQL database"),
        (["postgresql://a:secret@127.0.0.1:1/x"], "postgresql://127.0.0.1:1/x can't be used"),
    ],
)
def test_no_address_of_an_empty_database(source, tmp_path, monkeypatch, addresses, words):
    monkeypatch.chdir(tmp_path)
    refused = move(tmp_path, *addresses)
    assert_refused(refused, words)
    assert "sec" not in refused.output
    assert not (tmp_path / "other.db").exists()


def test_a_service_that_is_up(source, tmp_path, postgresql_url):
    with connect(source) as db:
        db.execute("SELECT * FROM nft").fetchall()
        refused = move(tmp_path, postgresql_url)
    assert_refused(refused, f"{source} is in use", "Nothing was changed: stop the service")
    assert_empty(postgresql_url)
    database = services(start(postgresql_url, tmp_path)).database
    database.connection.execute("SELECT 1")
    refused = move(tmp_path, postgresql_url)
    database.close()
    assert_refused(refused, "/test_", "is in use: a service or another command has it open")
    assert_empty(postgresql_url)


def test_somebody_elses_database(source, tmp_path, postgresql_url):
    execute(postgresql_url, "CREATE TABLE wallet (id BIGINT)")
    assert_refused(move(tmp_path, postgresql_url), "is not a database of this service")
    assert execute(postgresql_url, "SELECT * FROM wallet") == []


def test_an_older_database(tmp_path, postgresql_url):
    put(tmp_path, **TESTNET)
    refused = move(tmp_path, postgresql_url, **TESTNET)
    assert_refused(refused, "is of an earlier version", "flask upgrade")
    assert_empty(postgresql_url)


def test_what_is_on_postgresql_already(tmp_path, postgresql_url):
    own = {"DATABASE_URL": postgresql_url}
    refused = move(tmp_path, "postgresql://127.0.0.1:1/other", **own)
    assert_refused(refused, "Error: postgresql://127.0.0.1:", "it is on PostgreSQL already")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            "UPDATE nft SET name = CAST(x'ff' AS TEXT)",
            "marketplace.db cannot be read: Could not decode",
        ),
        (
            "INSERT INTO prepared_nft VALUES ('x', '0.0.1', 1, 1, NULL)",
            "violates foreign key constraint",
        ),
    ],
    ids=["its text", "a listed NFT without its listing"],
)
def test_what_cannot_be_moved(source, tmp_path, postgresql_url, spoil, words):
    insert(source)
    execute(source, spoil)
    assert_refused(move(tmp_path, postgresql_url), words)
    assert_empty(postgresql_url)


TRIGGER = """
    CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF NEW.serial_no = 2 THEN RETURN NULL; END IF; RETURN NEW; END $$;
    CREATE TRIGGER meddle BEFORE INSERT ON nft FOR EACH ROW EXECUTE FUNCTION meddle()
"""


def test_rows_that_do_not_arrive(source, tmp_path, postgresql_url):
    insert(source, count=3)
    start(postgresql_url, tmp_path)
    execute(postgresql_url, TRIGGER)
    assert_refused(move(tmp_path, postgresql_url), "of 3 rows of nft: either ")
    assert_empty(postgresql_url)


# Interruptions


@pytest.fixture
def large(source):
    """A database so large that a move takes a moment."""
    insert(source, count=LARGE)
    return source


def interrupt(process, url):
    process.send_signal(signal.SIGINT)
    return 1, "Error: Interrupted. Nothing was moved, unless it was being committed"


def lose_the_server(process, url):
    assert execute(url, END_OTHERS)
    return 1, "Error: The database cannot be reached: "


@pytest.mark.parametrize("stop", [interrupt, lose_the_server])
def test_nothing_is_left_of_what_was_interrupted(large, tmp_path, postgresql_url, stop):
    process = begin_flask(settings(tmp_path), "move", postgresql_url, text=False)
    output = b""
    while b"Copy nft" not in output:
        output += process.stdout.read1()
        assert process.poll() is None, output
    returncode, words = stop(process, postgresql_url)
    error = process.communicate()[1].decode()
    assert process.returncode == returncode, error
    assert error.startswith(words)
    assert "Traceback" not in error
    assert held(postgresql_url) == NOTHING
    moved_all(tmp_path, postgresql_url)
    assert held(postgresql_url) == NOTHING | {"nft": LARGE, "access_token": 1}


def test_what_is_interrupted_ends_where_the_server_cannot_be_reached(
    source, tmp_path, postgresql_url, monkeypatch
):
    insert(source)
    with standing_before(postgresql_url, Proxy) as (proxy, address):

        def interrupt(session, *_):
            session.pgconn.send_query(b"SELECT pg_sleep(60)")
            sleeping = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            until(lambda: execute(postgresql_url, sleeping), "it does not sleep")
            proxy.cut()
            raise KeyboardInterrupt

        monkeypatch.setattr(filling, "_require_all", interrupt)
        ended = move(tmp_path, address)
        proxy.mend()
    assert_refused(ended, "Error: Interrupted. Nothing was moved, unless it was being committed")
    with closing(psycopg.connect(postgresql_url, options="-c lock_timeout=60s")) as connection:
        assert connection.execute("SELECT count(*) FROM nft").fetchone() == (0,)
