"""The database of the service, on either engine, and its faults."""

import os
import signal
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from harness.engines import connect
from harness.postgresql import DATABASE, Server, new_server, until

LOCK_SECONDS = 4


class OnSqlite:
    name = "SQLite"

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder}/instance/marketplace.db"
        self.faults = {"a foreign lock": self.lock}

    def lock(self) -> None:
        with connect(self.url) as db:
            db.execute("PRAGMA busy_timeout = 10000")
            db.execute("BEGIN IMMEDIATE")
            time.sleep(LOCK_SECONDS)
            db.execute("ROLLBACK")

    def complaints(self) -> list[str]:
        with connect(self.url) as db:
            found = [row[0] for row in db.execute("PRAGMA integrity_check")]
            found += [str(row) for row in db.execute("PRAGMA foreign_key_check")]
        return [line for line in found if line != "ok"]


class OnPostgresql:
    name = "PostgreSQL"

    def __init__(self, server: Server) -> None:
        self.server = server
        self.url = server.url("soak")
        self.faults = {
            "a foreign lock": self.lock,
            "a killed backend": self.kill_a_backend,
            "a terminated backend": self.terminate_backends,
            "PostgreSQL stopped at once": self.stop_at_once,
            "PostgreSQL restarted": self.restart,
        }

    def lock(self) -> None:
        with suppress(psycopg.OperationalError), psycopg.connect(self.url) as db:
            db.execute("LOCK TABLE nft IN EXCLUSIVE MODE")
            time.sleep(LOCK_SECONDS)
            db.rollback()

    def _backends(self) -> list[int]:
        sql = "SELECT pid FROM pg_stat_activity WHERE usename = 'market' AND datname = 'soak'"
        return [row[0] for row in self.server.execute(sql)]

    def kill_a_backend(self) -> None:
        """kill -9: the server then ends all other backends, and recovers."""
        for pid in self._backends()[:1]:
            os.kill(pid, signal.SIGKILL)
        time.sleep(1)
        until(self.server.answers, "PostgreSQL does not recover")

    def terminate_backends(self) -> None:
        for pid in self._backends():
            self.server.execute("SELECT pg_terminate_backend(%s)", (pid,))

    def stop_at_once(self) -> None:
        """pg_ctl -m immediate, and no server for a moment."""
        self.server.process.send_signal(signal.SIGQUIT)
        self.server.process.wait(60)
        time.sleep(2)
        self.server.start()

    def restart(self) -> None:
        self.server.stop()
        self.server.start()

    def complaints(self) -> list[str]:
        """Read everything in full, and check the rules of the tables again."""
        found = []
        with connect(self.url) as db:
            names = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = %s::regnamespace"
            for (table,) in db.execute(names, ("public",)).fetchall():
                db.execute(f'SELECT count(t.*::text) FROM "{table}" t')
                db.execute(f'REINDEX TABLE "{table}"')
            checks = """
                SELECT conrelid::regclass, conname FROM pg_constraint
                WHERE contype = 'f' AND NOT convalidated
            """
            found += [str(row) for row in db.execute(checks)]
        return found


@contextmanager
def database(folder: Path, *, postgresql: bool):
    if not postgresql:
        yield OnSqlite(folder)
        return
    with new_server(autovacuum="on") as server:
        server.execute(f"CREATE DATABASE soak OWNER market {DATABASE}")
        yield OnPostgresql(server)
