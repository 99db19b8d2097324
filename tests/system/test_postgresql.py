"""A PostgreSQL server that goes away, comes back, is upgraded or shared: nothing lost, nothing stale."""

import multiprocessing
import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from harness.apps import authorized_client, settings
from harness.cast import KEYS, TOKEN
from harness.engines import execute
from harness.forks import fork, join
from harness.network import PATIENCE_SECONDS
from harness.postgresql import Proxy, new_server, standing_before, until
from harness.serving import ROOT, begin_flask, serve
from marketplace import create_app
from marketplace.errors import DatabaseBusy, DatabaseUnreachable
from marketplace.services import services
from marketplace.store import postgresql
from marketplace.store.connection import DatabaseInUse, DatabaseUnreadable
from marketplace.store.database import SCHEMA
from marketplace.store.postgresql import PostgreSQLDatabase
from marketplace.store.schema import Schema
from tests.answers import assert_error
from tests.metrics import scrape
from tests.store.released import earlier_schema, newer
from tests.store.tokens import insert_token, names

__all__ = ["newer"]

OWNERS = {"network": "sandbox", "account_id": "0.0.9001"}
THREADS = 6
BUSY_SECONDS = 15  # that a busy machine may add to what is promised


@pytest.fixture(scope="module")
def own_server():
    with new_server(autovacuum="off") as server:  # its transactions are seen in a data version, too
        yield server


@pytest.fixture
def server(own_server):
    """A server of this module's, which runs before each test."""
    if not own_server.is_running:
        own_server.start()
    return own_server


@pytest.fixture
def url(server):
    with server.new_database() as url:
        yield url


@pytest.fixture
def database(url):
    return PostgreSQLDatabase(url, SCHEMA, OWNERS)


@pytest.fixture
def app(tmp_path, url):
    return create_app(**settings(tmp_path) | {"DATABASE_URL": url})


@pytest.fixture
def client(app):
    return authorized_client(app, "read", "write")


@pytest.fixture
def threads(app, client):
    """Several threads of the service, each with a connection of its own: calls a request in each of them."""
    meeting = threading.Barrier(THREADS)

    def ask_one(method, path, body):
        meeting.wait(PATIENCE_SECONDS)
        started = time.monotonic()
        header = {"Authorization": client.environ_base["HTTP_AUTHORIZATION"]}
        r = app.test_client().open(path, method=method, headers=header, json=body)
        return r, time.monotonic() - started

    def ask(method, path, body=None):
        return list(pool.map(lambda _: ask_one(method, path, body), range(THREADS)))

    with ThreadPoolExecutor(THREADS) as pool:
        assert {r.status_code for r, _ in ask("GET", "/v1/orderbook")} == {200}
        yield ask


def require_answers(answers, statuses):
    assert {r.status_code for r, _ in answers} == statuses, [r.text for r, _ in answers]


REQUESTS = [
    ("GET", "/v1/orderbook", None),
    ("GET", "/v1/user/0.0.1001/listed", None),
    ("POST", "/v1/add", KEYS),
    ("POST", "/v1/comingsoon", KEYS),
    ("GET", "/status", None),
]


def require_unreachable(server, answers, seconds=PATIENCE_SECONDS):
    for r, took in answers:
        assert_error(r, 503, "cannot be reached at the moment. Try again: nothing is done twice")
        assert "Nothing was changed" not in r.text
        assert r.headers["Retry-After"] == "2"
        for word in ("127.0.0.1", str(server.port), "market", server.password):
            assert word not in r.text
        assert took < seconds


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_server_that_is_gone_and_comes_back(server, threads, caplog, how):
    getattr(server, how)()
    for request in REQUESTS:
        require_unreachable(server, threads(*request))
    assert server.password not in caplog.text
    assert "127.0.0.1" in caplog.text  # the operator sees it
    server.start()
    require_answers(threads("POST", "/v1/add", KEYS), {200})
    require_answers(threads("GET", "/v1/orderbook"), {200})


@pytest.mark.parametrize("request_", REQUESTS[:3])
def test_a_server_that_is_restarted_between_two_requests(server, threads, request_):
    for end in (server.stop, server.kill):
        end()
        server.start()
        require_answers(threads(*request_), {200})


def test_a_server_that_says_nothing(server, threads, caplog):
    """Each answer is there within the time that is promised, whatever a request asks of the database."""
    server.freeze()
    promised = postgresql.ANSWER_SECONDS + postgresql.CONNECT_SECONDS + BUSY_SECONDS
    try:
        for request in REQUESTS:
            require_unreachable(server, threads(*request), seconds=promised)
            require_unreachable(server, threads(*request), seconds=promised)
    finally:
        server.thaw()
    require_answers(threads("POST", "/v1/add", KEYS), {200})


def test_metrics_are_unavailable_while_the_server_says_nothing(server, app):
    scraper = authorized_client(app, "metrics")
    assert scrape(scraper)["marketplace_listings",] == 0
    server.freeze()
    try:
        started = time.monotonic()
        assert_error(scraper.get("/metrics"), 503, "cannot be reached")
        assert time.monotonic() - started < PATIENCE_SECONDS
        assert scraper.get("/status?alive").status_code == 200
        assert_error(scraper.get("/status?ready"), 503, "cannot be reached")
    finally:
        server.thaw()


def test_the_primary_is_found_after_a_server_that_says_nothing(url):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent_first = url.replace("@", f"@127.0.0.1:{silent.getsockname()[1]},")
        assert names(PostgreSQLDatabase(silent_first, SCHEMA, OWNERS).connection) == []


def test_a_statement_that_takes_long_is_no_silent_server(database):
    reader = database.connection
    version = reader.data_version()
    with pytest.raises(DatabaseBusy, match="or took too long"):
        reader.execute("SELECT pg_sleep(4)")
    with pytest.raises(DatabaseBusy), database.write() as db:
        db.execute("SELECT pg_sleep(4)")
    assert reader.data_version()[0] == version[0]  # on the same connection


def end_sessions(server):
    """End what the service has open, and wait until it has ended."""
    patience = 1000 * PATIENCE_SECONDS
    ended = server.execute(
        f"SELECT pg_terminate_backend(pid, {patience}) FROM pg_stat_activity WHERE usename = 'market'"
    )
    assert all(is_ended for (is_ended,) in ended)


def test_a_session_that_is_lost_in_a_transaction(server, database):
    with pytest.raises(DatabaseUnreachable), database.write() as db:
        insert_token(db, "first")
        end_sessions(server)
        insert_token(db, "second")
    assert names(database.connection) == []
    with database.write() as db:
        insert_token(db, "third")
    assert names(database.connection) == ["third"]


class Deaf(Proxy):
    """Loses the answer to the first COMMIT that it passes on."""

    commits = 9
    is_deaf = False

    def alter(self, received, is_answer):
        if b"COMMIT\0" in received and not is_answer:
            self.commits += 1
            self.is_deaf = self.commits == 1
        if is_answer and self.is_deaf:
            self.is_deaf = False
            return b""
        return received


def test_a_commit_whose_answer_is_lost(server, url, client, tmp_path):
    with standing_before(url, Deaf) as (proxy, address):
        app = create_app(**settings(tmp_path) | {"DATABASE_URL": address})
        through = app.test_client()
        through.environ_base = client.environ_base
        assert through.get("/v1/orderbook").status_code == 200
        proxy.commits = 0  # the start's own were let through
        require_unreachable(server, [(through.post("/v1/add", json=KEYS), 0)])
        assert proxy.commits == 1  # it was done, and not again
        assert client.get(f"/v1/nft/{TOKEN}/7").status_code == 200
        assert through.post("/v1/add", json=KEYS).json == {"result": "OK"}
        services(app).database.close()


# What stands before each answer


def test_the_stamp_is_another_one_after_each_commit_and_each_start(server, url, database):
    other = PostgreSQLDatabase(url, SCHEMA, OWNERS)
    seen = [database.data_version()]
    assert database.data_version() == seen[0]
    for writer in (database, other, database):
        with writer.write() as db:
            insert_token(db, f"token {len(seen)}")
        seen.append(database.data_version())
        assert database.data_version() == seen[-1]
    with ThreadPoolExecutor(1) as pool:
        in_another = pool.submit(database.data_version).result()
        assert in_another[1] == seen[-1][1]
        assert database.data_version() == in_another
        pool.submit(database.close).result()
    server.stop()
    assert database.data_version() is None
    server.start()
    seen.append(database.data_version())
    assert None not in seen
    assert len(set(seen)) == 5


def test_the_stamp_is_another_one_after_a_process_of_the_server_was_killed(server, database):
    """It counts its transactions from zero again."""
    before = database.data_version()
    sql = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
    [[victim]] = server.execute(sql)
    os.kill(victim, signal.SIGKILL)

    def goes_on():
        time.sleep(0.1)
        return database.data_version() is not None

    until(lambda: database.data_version() != before, "nobody notices")
    until(goes_on, "it does not come back")
    after = database.data_version()
    assert after != before
    assert database.data_version() == after


def test_what_patience_a_role_is_given_is_no_matter(server, url, tmp_path):
    name = url.rpartition("/")[2]
    for setting in ("statement_timeout = 250", "lock_timeout = 250", "idle_session_timeout = 250"):
        server.execute(f"ALTER ROLE market IN DATABASE {name} SET {setting}")
    first = PostgreSQLDatabase(url, SCHEMA, OWNERS)
    with ThreadPoolExecutor(1) as pool:
        with first.startup_lock():
            second = pool.submit(PostgreSQLDatabase, url, SCHEMA, OWNERS)
            time.sleep(0.5)
            assert not second.done()
        assert second.result().data_version()
    for number in range(3):
        time.sleep(0.3)  # its session has ended since
        with first.write() as db:
            insert_token(db, f"token {number}")
    assert len(names(first.connection)) == 3


def test_what_only_reads_cannot_write(database):
    with pytest.raises(Exception, match=r"cannot be reached|read-only"):
        insert_token(database.connection, "x")
    assert names(database.connection) == []


def test_a_row_that_another_one_locks(app, client, url):
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE nft IN EXCLUSIVE MODE")
        r = client.post("/v1/add", json=KEYS)
        said = "stayed locked by another writer, or took too long. Nothing was changed; try again"
        assert_error(r, 503, said)
        assert r.headers["Retry-After"] == "1"
        assert client.get("/v1/orderbook").status_code == 200
    assert client.post("/v1/add", json=KEYS).status_code == 200


# The first start


def test_several_processes_may_start_at_once(url, tmp_path):
    own = settings(tmp_path) | {"DATABASE_URL": url}
    join(*[fork(lambda: create_app(**own)) for _ in range(6)])


def test_a_start_that_is_killed_leaves_nothing_half_made(url, server):
    execute(url, "CREATE TABLE other (id INTEGER)")  # of nobody: it must not be in the way
    execute(url, "DROP TABLE other")
    broken = Schema(SCHEMA_FOLDER, tables=SCHEMA.tables)
    broken.sql = f"{SCHEMA.sql}; SELECT 1 / 0"
    with pytest.raises(DatabaseUnreadable, match="division by zero"):
        PostgreSQLDatabase(url, broken, OWNERS)
    assert names(PostgreSQLDatabase(url, SCHEMA, OWNERS).connection) == []


SCHEMA_FOLDER = ROOT / "marketplace/store"


def test_it_serves(server, url, tmp_path):
    """gunicorn, with its fork; then the server is restarted under it."""
    with serve(tmp_path, "--workers", "3", DATABASE_URL=url) as service:
        for restart in (False, True):
            if restart:
                server.stop()
                server.start()
            for _ in range(30):
                service.call("/v1/orderbook")
        output = service.flask("rebuild", "0.0.7002").stdout
    assert "Traceback" not in service.output
    assert server.password not in service.output + output
    assert f"data in postgresql://127.0.0.1:{server.port}/test_" in service.output


# Upgrades


STEP = """-- Keep who bought what
CREATE TABLE purchase (
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    receipt BLOB,
    "order" TEXT NOT NULL GENERATED ALWAYS AS (COALESCE(token, '')) VIRTUAL,
    PRIMARY KEY (token, serial_no)
) STRICT;

-- Name them
UPDATE access_token SET name = name || ' of before; and ''so on''';
"""


def columns(url, table):
    sql = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s"
    return dict(execute(url, sql, table))


def test_an_upgrade(url, database, newer):
    with database.write() as db:
        insert_token(db, "first")
    database.close()
    later = PostgreSQLDatabase(url, newer(STEP), OWNERS)
    assert later.is_outdated
    with pytest.raises(DatabaseUnreadable, match="is of an earlier version"):
        names(later.connection)
    steps = []
    later.upgrade(steps.append)
    assert steps == ["Keep who bought what", "Name them"]
    assert columns(url, "purchase")["serial_no"] == "bigint"
    assert columns(url, "purchase")["receipt"] == "bytea"
    assert names(later.connection) == ["first of before; and 'so on'"]
    assert not PostgreSQLDatabase(url, newer(STEP), OWNERS).is_outdated
    newer_version = rf"is of a newer version \(its schema is {SCHEMA.version + 1}"
    with pytest.raises(DatabaseUnreadable, match=newer_version):
        names(database.connection)
    with pytest.raises(DatabaseUnreadable, match="is of a newer version"):
        PostgreSQLDatabase(url, SCHEMA, OWNERS)


def shape(url):
    """Every table's columns, constraints and indexes, in the public schema."""
    selects = (
        """
            SELECT table_name, column_name, data_type, is_nullable, column_default, generation_expression
            FROM information_schema.columns WHERE table_schema = 'public'
        """,
        """
            SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint
            WHERE connamespace = 'public'::regnamespace
        """,
        """
            SELECT tablename, indexdef FROM pg_indexes
            WHERE schemaname = 'public' AND indexname NOT IN (SELECT conname FROM pg_constraint)
        """,
    )
    return [{*execute(url, select)} for select in selects]


def test_a_database_of_0_4_0_becomes_as_a_new_one(url, tmp_path):
    PostgreSQLDatabase(url, earlier_schema(tmp_path), OWNERS).close()
    later = PostgreSQLDatabase(url, SCHEMA, OWNERS)
    assert later.is_outdated
    later.upgrade()
    later.close()
    upgraded = shape(url)
    execute(url, "DROP SCHEMA public CASCADE")
    execute(url, "CREATE SCHEMA public")
    PostgreSQLDatabase(url, SCHEMA, OWNERS).close()
    assert upgraded == shape(url)


def test_a_step_that_fails_is_undone_and_those_before_it_stay(url, database, newer):
    later = PostgreSQLDatabase(
        url, newer(STEP, "CREATE TABLE t (i INTEGER) STRICT;\nSELECT 1 / 0;"), OWNERS
    )
    with pytest.raises(DatabaseUnreadable, match="division by zero"):
        later.upgrade()
    assert columns(url, "purchase") and not columns(url, "t")
    assert PostgreSQLDatabase(url, newer(STEP), OWNERS).is_outdated is False
    again = PostgreSQLDatabase(url, newer(STEP, "CREATE TABLE t (i INTEGER) STRICT;"), OWNERS)
    again.upgrade()
    assert columns(url, "t") == {"i": "bigint"}


def test_two_upgrades_at_once(url, database, newer, tmp_path):
    database.close()
    schema, steps = newer(f"{STEP}\n-- Wait\nSELECT pg_sleep(0.5);\n"), tmp_path / "steps"

    def upgrade():
        later = PostgreSQLDatabase(url, schema, OWNERS)
        with later.startup_lock(), steps.open("a") as file:
            later.read_version()
            if later.is_outdated:
                later.upgrade(lambda what: print(what, file=file))

    join(fork(upgrade), fork(upgrade))
    assert steps.read_text() == "Keep who bought what\nName them\nWait\n"


def test_no_upgrade_beside_a_service(url, database, newer):
    names(database.connection)
    later = PostgreSQLDatabase(url, newer(STEP), OWNERS)
    with pytest.raises(DatabaseInUse, match="is in use"):
        later.upgrade()
    assert not columns(url, "purchase")
    database.close()
    later.upgrade()


def test_an_upgrade_waits_for_a_server_that_notices_a_closed_connection_late(url, database, newer):
    names(database.connection)
    later = PostgreSQLDatabase(url, newer(STEP), OWNERS)
    end = threading.Timer(0.5, database.connection.close)
    end.start()
    later.upgrade()
    end.join()
    assert columns(url, "purchase")


# Who leads


def test_one_leads_at_a_time(database):
    one, other = database.leadership("watch"), database.leadership("watch")
    third = database.leadership("another")
    assert [one.take(), other.take(), one.take(), third.take()] == [True, False, True, True]
    one.close()
    until(other.take, "nobody leads")
    other.close()
    third.close()


def test_another_watcher_leads_when_the_leader_falls_silent(url, database):
    leads = multiprocessing.Value("b")

    def lead():
        leadership = PostgreSQLDatabase(url, SCHEMA, OWNERS).leadership("watch")
        while True:
            leads.value = leadership.take()
            time.sleep(0.2)

    process = fork(lead)
    try:
        until(lambda: leads.value, "nobody leads")
        with closing(database.leadership("watch")) as next_one:
            os.kill(process.pid, signal.SIGSTOP)
            assert next_one.take() is False
            until(next_one.take, "nobody leads")
            os.kill(process.pid, signal.SIGCONT)
            until(lambda: not leads.value, "two lead")
    finally:
        process.kill()
        process.join()


def test_a_watcher_goes_on_after_its_server_was_away(server, url, tmp_path):
    def leads():
        held = "SELECT count(*) FROM pg_locks WHERE classid = %s AND granted"
        return server.execute(held, (0x6E66746E,)) == [(1,)]

    with begin_flask(settings(tmp_path) | {"DATABASE_URL": url}, "watch") as watcher:
        try:
            assert watcher.stdout.readline() == "Following sandbox\n"
            server.kill()
            said = "The ledger was not followed: The database cannot be reached: "
            assert any(line.startswith(said) for line in iter(watcher.stderr.readline, ""))
            server.start()
            until(leads, "nobody leads")
        finally:
            watcher.send_signal(signal.SIGTERM)
            _, stderr = watcher.communicate(timeout=PATIENCE_SECONDS)
    assert watcher.returncode == 0
    assert "Traceback" not in stderr
    assert server.password not in stderr


# Forks


def test_a_child_leaves_its_parents_sessions_alone(database):
    names(database.connection)
    with ThreadPoolExecutor(1) as pool:
        sessions = pool.submit(lambda: pids(database)).result()

        def work():
            pool._threads.clear()
            names(database.connection)
            with database.write() as db:
                insert_token(db, "of the child")
            database.close()

        join(fork(work))
        assert pool.submit(lambda: pids(database)).result() == sessions
        pool.submit(database.close).result()
    assert names(database.connection) == ["of the child"]


def pids(database):
    return database.connection.execute("SELECT pg_backend_pid() AS pid").fetchone()["pid"]


def test_a_child_does_not_wait_for_a_thread_that_it_does_not_have(database):
    """Another thread may hold the lock of the data version at the moment of the fork."""
    is_over = threading.Event()

    def ask():
        while not is_over.is_set():
            assert database.data_version()

    def work():
        signal.alarm(PATIENCE_SECONDS)
        assert database.data_version()

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask)
        children = [fork(work) for _ in range(10)]
        is_over.set()
        asking.result()
    join(*children)


def test_a_thread_that_ends_closes_its_session(server, url, database):
    def count():
        sql = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'market'"
        return server.execute(sql)[0][0]

    before = count()
    threads = [threading.Thread(target=lambda: names(database.connection)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: count() <= before, "sessions stay")
