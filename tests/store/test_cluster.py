"""The clusters of the tests do what the tests of a failover take for granted."""

import os
import subprocess
import sys
import tempfile
import threading
import uuid
from pathlib import Path

import psycopg
import pytest

from tests.postgresql import cluster, until
from tests.serving import ROOT

pytestmark = pytest.mark.once("has servers of its own")

WRITING = {"target_session_attrs": "read-write", "connect_timeout": 2, "autocommit": True}


@pytest.fixture(scope="module")
def servers():
    with cluster() as servers:
        with psycopg.connect(servers.url, **WRITING) as connection:
            connection.execute("CREATE TABLE written (i INTEGER)")
        yield servers


@pytest.fixture
def write(servers):
    """Write a row where it can be written, over the proxies; returns all that are stored."""

    def write():
        with psycopg.connect(servers.url, **WRITING) as connection:
            connection.execute("INSERT INTO written SELECT count(*) FROM written")
            return [row[0] for row in connection.execute("SELECT i FROM written ORDER BY i")]

    servers.wait()
    before = write()
    yield lambda: write()[len(before) :]


def test_a_planned_switch(servers, write):
    before, (standby, _) = servers.primary, servers.standbys
    servers.switch(standby)
    assert len(write()) == 1
    servers.wait()
    assert before.execute("SELECT pg_is_in_recovery()") == [(True,)]


def test_a_primary_that_is_killed(servers, write):
    killed, (standby, _) = servers.primary, servers.standbys
    killed.kill()
    with pytest.raises(psycopg.OperationalError):
        write()
    servers.promote(standby)
    assert len(write()) == 1
    servers.join(killed)


def test_standbys_that_are_lost(servers, write):
    one, other = servers.standbys
    one.stop()
    assert len(write()) == 1
    other.freeze()
    writing = threading.Thread(target=write)
    writing.start()
    writing.join(0.5)
    assert writing.is_alive()  # a commit that no standby has is acknowledged to nobody
    other.thaw()
    writing.join()
    assert len(write()) == 3
    one.start()


def test_a_proxy_that_hangs_and_one_that_is_cut(servers, write):
    proxy = servers.proxies[servers.primary]
    with psycopg.connect(servers.url, **WRITING) as connection:
        proxy.freeze()
        with pytest.raises(psycopg.OperationalError, match="timeout"):
            psycopg.connect(servers.url, **WRITING)
        proxy.thaw()
        assert connection.execute("SELECT 1").fetchone() == (1,)
        proxy.cut()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    proxy.mend()
    servers.wait()
    assert len(write()) == 1


def test_nothing_is_left_of_a_session_that_is_killed():
    session = uuid.uuid4().hex
    folder = Path(tempfile.gettempdir(), f"postgresql-{session}")
    script = (
        "import os, tests.postgresql as postgresql\n"
        "with postgresql.new_database():\n"
        f"    assert os.path.exists('{folder}/url')\n"
        "    os.kill(os.getpid(), 9)"
    )
    environ = os.environ | {"PYTEST_XDIST_TESTRUNUID": session}
    environ.pop("TEST_POSTGRESQL", None)
    killed = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environ)
    assert killed.returncode == -9
    until(lambda: not folder.exists(), "the server goes on")
