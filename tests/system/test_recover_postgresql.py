"""deploy/recover-postgresql.sh dumps the database as it was at a moment."""

import shutil

import pytest

from harness.postgresql import DATABASE, new_server, until
from harness.serving import ROOT

ROWS, LATER = range(1, 4), 9
SLOW_COPY = '#!/bin/sh\nsleep 0.3\nexec /bin/cp "$@"\n'


@pytest.fixture(scope="module")
def server():
    """A server that archives what it writes, with a base backup from before all rows."""
    archives = "mkdir -p ../archive && cp %p ../archive/%f"
    with new_server(archive_mode="on", archive_command=archives) as server:
        server.execute(f"CREATE DATABASE market OWNER market {DATABASE}")
        where = ("--host=127.0.0.1", f"--port={server.port}", "--username=postgres")
        base = server.folder / "archive/base"
        server.run("pg_basebackup", *where, "--checkpoint=fast", f"--pgdata={base}")
        server.moments = {}
        ask(server, "CREATE TABLE number (n INT)")
        for n in (*ROWS, LATER):
            ask(server, f"INSERT INTO number VALUES ({n})")
            server.moments[n] = ask(server, "SELECT clock_timestamp()")
            last = ask(server, "SELECT pg_walfile_name(pg_switch_wal())")
        until((server.folder / "archive" / last).exists, "nothing is archived")
        shutil.copy(ROOT / "deploy/recover-postgresql.sh", server.folder / "recover.sh")
        yield server


def ask(server, statement, database="market"):
    address = f"postgresql://postgres@127.0.0.1:{server.port}/{database}"
    return server.run("psql", "--quiet", "-At", f"--command={statement}", address).strip()


@pytest.fixture
def recover(server, monkeypatch):
    """Run the script where each copy of a file takes some time, as that of a large archive does."""
    slow = server.folder / "cp"
    slow.write_text(SLOW_COPY)
    slow.chmod(0o755)
    programs = server.run("pg_config", "--bindir").strip()
    monkeypatch.setenv("PATH", f"{server.folder}:{programs}:/usr/bin:/bin")
    monkeypatch.setenv("PGUSER", "postgres")  # the user who runs it on a real machine

    def recover(moment):
        dump = server.folder / "market.dump"
        server.run(server.folder / "recover.sh", server.folder / "archive/base", moment, dump)
        return dump

    before = {*server.folder.iterdir()}
    yield recover
    assert {*server.folder.iterdir()} - before <= {server.folder / "market.dump"}


@pytest.mark.parametrize("last", ROWS)
def test_it_dumps_what_was_there_at_the_moment(server, recover, last):
    dump = recover(server.moments[last])
    name = f"restored_{last}"
    ask(server, f"CREATE DATABASE {name} OWNER market {DATABASE}")
    server.run("pg_restore", "--no-owner", f"--dbname={server.url(name)}", dump)
    assert ask(server, "SELECT max(n) FROM number", name) == str(last)


def test_it_says_that_the_archive_does_not_reach_the_moment(recover):
    with pytest.raises(AssertionError, match="recovery ended before configured recovery target"):
        recover("2100-01-01 00:00:00+00")
