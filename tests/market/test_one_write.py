"""What a request stores of several NFTs is one write, all or none, whatever ends it in the middle."""

import os
import signal

import pytest

from harness.apps import write_sql
from harness.cast import ALICE, TOKEN
from harness.forks import fork
from harness.network import PATIENCE_SECONDS
from marketplace.services import read, services
from marketplace.store.connection import count
from tests.answers import assert_error
from tests.engines import both_engines

pytestmark = both_engines

FIRST, MIDDLE, LAST = 7, 16, 26  # serial numbers
SEVERAL = {"accountId": ALICE, "tokenId": TOKEN, "serialNos": [*range(FIRST, LAST + 1)]}
TABLES = ("nft", "collection", "event", "recheck")
# What the databases do at the NFT in the middle.
FAULTS = {
    ("sqlite", "locked"): "SELECT RAISE(ABORT, 'database is locked')",
    ("sqlite", "killed"): "SELECT end_this_process()",
    ("postgresql", "locked"): "RAISE lock_not_available",
    ("postgresql", "killed"): "PERFORM pg_terminate_backend(pg_backend_pid())",
}


class Fault:
    """Something that happens in the database when the NFT in the middle is written."""

    def __init__(self, app, engine):
        self.app, self.engine = app, engine

    def begin(self, act, kind):
        when = f"{act} ON nft FOR EACH ROW WHEN (NEW.serial_no = {MIDDLE})"
        happens = FAULTS[self.engine, kind]
        run = f"BEGIN {happens}; END"
        if self.engine == "postgresql":
            body = f"BEGIN {happens}; RETURN NEW; END"
            sql = f"CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS '{body}'"
            write_sql(self.app, sql)
            run = "EXECUTE FUNCTION fault()"
        write_sql(self.app, f"CREATE TRIGGER fault BEFORE {when} {run}")

    def end(self):
        if self.engine == "postgresql":
            write_sql(self.app, "DROP FUNCTION IF EXISTS fault() CASCADE")
        else:
            write_sql(self.app, "DROP TRIGGER IF EXISTS fault")


@pytest.fixture
def fault(app, engine):
    fault = Fault(app, engine)
    yield fault
    fault.end()


def count_rows(app):
    with app.app_context():
        return [count(read(), f"SELECT COUNT(*) AS n FROM {table}") for table in TABLES]


def add(client):
    return client.post("/v1/add", json=SEVERAL)


def assert_nothing_is_stored(app, client):
    assert count_rows(app) == [0, 0, 0, 0]
    for serial_no in SEVERAL["serialNos"]:
        assert client.get(f"/v1/nft/{TOKEN}/{serial_no}").status_code == 404


def test_an_add_of_several_that_meets_a_lock_in_the_middle_stores_none(app, client, fault):
    fault.begin("INSERT", "locked")
    assert_error(add(client), 503, "Nothing was changed")
    assert_nothing_is_stored(app, client)
    fault.end()
    assert add(client).json == {"result": "OK"}
    assert count_rows(app) == [20, 1, 20, 20]


def test_an_add_of_several_that_is_killed_in_the_middle_stores_none(app, client, engine, fault):
    """PostgreSQL: its session is killed. SQLite: the process."""
    fault.begin("INSERT", "killed")

    def add_and_die():
        with app.app_context():
            connection = services(app).database.connection
            if engine == "sqlite":
                end = lambda: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
                connection.create_function("end_this_process", 0, end)
            assert_error(add(client), 503, "Try again: nothing is done twice")

    process = fork(add_and_die)
    process.join(PATIENCE_SECONDS)
    assert process.exitcode == (-signal.SIGKILL if engine == "sqlite" else 0)
    assert_nothing_is_stored(app, client)
    fault.end()
    assert add(client).json == {"result": "OK"}
    assert count_rows(app)[0] == 20


def test_a_report_of_several_that_meets_a_lock_in_the_middle_lists_none(app, client, ledger, fault):
    """It stored each NFT by itself: the order book had the first nine."""
    assert add(client).json == {"result": "OK"}
    prepared = client.post("/v1/list/extwallet", json=SEVERAL | {"listingPrice": 30})
    ledger.sign_and_submit(prepared.json["byteArray"])
    fault.begin("UPDATE", "locked")
    assert_error(client.post("/v1/comingsoon", json=SEVERAL), 503, "Nothing was changed")
    assert client.get("/v1/orderbook").json == []
    fault.end()
    assert client.post("/v1/comingsoon", json=SEVERAL).json["result"] == "OK"
    assert len(client.get(f"/v1/nftslisted/{TOKEN}").json) == 20
