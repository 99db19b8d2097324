"""The engine for PostgreSQL: makes, reads, writes, upgrades and fills one database."""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress

import psycopg
from psycopg import errors

from marketplace.errors import DatabaseUnreachable, MarketplaceError
from marketplace.store import events, properties
from marketplace.store.database_errors import DatabaseInUse, DatabaseUnreadable
from marketplace.store.engine import EngineBase, close_at_fork, ignore
from marketplace.store.postgresql import filling
from marketplace.store.postgresql.connection import LOST, Connection
from marketplace.store.postgresql.servers import LOCK_SECONDS, Servers, Session, words
from marketplace.store.rows import Connection as AnyConnection
from marketplace.store.rows import only
from marketplace.store.schema import Schema
from marketplace.store.sqlite_files import Contents

OLDEST_SERVER = 15
# SQLite's types and keywords in schema.sql and the upgrades, and PostgreSQL's.
DDL = {
    r"\bINTEGER\b": "BIGINT",
    r"\bBLOB\b": "BYTEA",
    r"\) STRICT(, WITHOUT ROWID)?": ")",
    r"\) VIRTUAL\b": ") STORED",
}
CREATE = "CREATE DATABASE ... TEMPLATE template0 LOCALE 'C' ENCODING 'UTF8'"
POOLER = "a pooler (such as pgbouncer) is in front of it: connect to PostgreSQL itself"
# A server's reasons to refuse a connection, and what to do.
WAYS_OUT = {
    'database ".*" does not exist': f"Create it: {CREATE}",
    "startup parameter": f"Perhaps {POOLER}",
    "SSL|pg_hba|certificate": "Check sslmode in the address, and the server's ssl and pg_hba.conf",
    "password|authentication|role": "Check the user and the password in the address, or in ~/.pgpass",
    "": "One of its servers must run as the primary: check the address and the servers",
}

# The keys of our advisory locks: a number from "nftm" on, and a hash of the schema.
TURN = f"{0x6E66746D}, hashtext(current_schema())"  # held to make or upgrade the tables
LEAD = f"{0x6E66746E}, hashtext(current_schema() || :name)"  # held by the leader of all machines
# Shared by all that read and write; held alone by an upgrade.
USE = f"{0x6E66746F}, hashtext(current_schema())"
EMIT = f"{0x6E667470}, hashtext(current_schema())"  # held to write events, until they are visible

# The server, its timeline, and the table. They change after a failover, or if tables were restored. The
# property events_home holds those for which the word events_epoch was made.
HOME = """
    convert_to(concat_ws(
        '.', (pg_control_system()).system_identifier, LEFT(pg_walfile_name(pg_current_wal_lsn()), 8),
        to_regclass('event')::oid
    ), 'UTF8')
"""

LEADER_SECONDS = 20  # after which the server ends the session of a silent leader


class PostgreSQLDatabase(EngineBase):
    """One PostgreSQL database. Each thread of each process keeps one connection.

    A child process uses no connection of its parent: see close_at_fork().
    """

    is_shared = True
    epoch = f"""(
        SELECT CASE (SELECT value FROM property WHERE name = 'events_home')
            WHEN {HOME} THEN convert_from(value, 'UTF8')
            ELSE LEFT(encode(sha256(value || {HOME}), 'hex'), 8)
        END
        FROM property WHERE name = 'events_epoch'
    )"""

    def __init__(
        self,
        url: str,
        schema: Schema,
        owners: Mapping[str, str] | None = None,
        called: str = "MARKETPLACE_DATABASE_URL",
    ) -> None:
        """Open the database, or make its tables. ``owners``: the network and the account to which it belongs.

        ``called``: the name of the address in messages, because the address may have a password. Raises
        DatabaseUnreadable for a server or a database that can not be used, or of another network or account.
        """
        self._called = called
        self._servers = Servers(url, called)
        super().__init__(self._servers.name, schema, owners)
        self._local = threading.local()
        self._asking = threading.Lock()
        self._questions = 0
        self._data_version: tuple[int, str] | None = None
        self._observer = Connection(self._connect, self._servers)
        with self.startup_lock() as session:
            if not self.list_tables(session):
                self._make(session)
            self.version = self.find_version(session, self.name)
        close_at_fork(self)

    @contextmanager
    def startup_lock(self) -> Iterator[Session]:
        """Hold a lock, so that processes that start at the same time take turns, for any time."""
        with self._open() as session:
            _set_no_timeout(session)
            session.execute(f"SELECT pg_advisory_lock({TURN})")
            session.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
            yield session

    @contextmanager
    def _open(self) -> Iterator[Session]:
        """Open a session that serves no request, and close it at the end.

        Raises DatabaseUnreadable for errors of the server, and for an unfit server or database.
        """
        try:
            session = self._servers.connect()
        except DatabaseUnreachable as error:
            reason = error.reason.rstrip(".?")
            way = next(way for words, way in WAYS_OUT.items() if re.search(words, reason))
            raise self._unfit(f"{reason}. {way}") from error
        with closing(session):
            try:
                # Before any lock: a pooler would keep the lock for the next client.
                self._require_fit(session)
                yield session
            except errors.InsufficientPrivilege as error:
                raise self._unfit(
                    f"{words(error)}. Make this user the owner of the database and its tables, or"
                    " GRANT it USAGE, CREATE ON SCHEMA and ALL ON ALL TABLES IN SCHEMA public"
                ) from error
            except psycopg.Error as error:
                raise self._unfit(words(error)) from error

    def _unfit(self, reason: str) -> DatabaseUnreadable:
        return DatabaseUnreadable(f"{self._called}: {self.name} can't be used: {reason}")

    def _require_fit(self, session: Session) -> None:
        version = session.info.server_version
        if version < OLDEST_SERVER * 10_000:
            raise self._unfit(
                f"its server is PostgreSQL {version // 10_000}, and {OLDEST_SERVER} or newer is needed"
            )
        sql = """
            SELECT pg_backend_pid() AS pid, pg_encoding_to_char(encoding) AS encoding,
                   CASE datlocprovider WHEN 'i' THEN 'of ICU' WHEN 'b' THEN 'C' ELSE datcollate END
                   AS collation, -- b is PostgreSQL's own provider, which sorts by code points, too
                   current_schema() AS schema
            FROM pg_database WHERE datname = current_database()
        """
        row = only(session, sql)
        if row["pid"] != session.info.backend_pid:
            raise self._unfit(POOLER)
        if row["collation"] not in ("C", "POSIX") or row["encoding"] != "UTF8":
            raise self._unfit(
                f"its collation is {row['collation']} and its encoding {row['encoding']}, but C and"
                f" UTF8 are needed: {CREATE}"
            )
        if row["schema"] is None:
            raise self._unfit("none of the schemas in its search_path exists: create one")

    def list_tables(self, db: AnyConnection) -> set[str]:
        sql = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        return {row["tablename"] for row in db.execute(sql)}

    def _make(self, session: Session) -> None:
        with session.transaction():
            session.execute(translate_ddl(self.schema.sql))
            self.mark(session, self.schema.version)

    def mark(self, db: AnyConnection, version: int) -> None:
        super().mark(db, version)
        properties.insert_property(db, "events_home", _find_home(db))

    def read_version(self) -> None:
        """Read the schema's version, and check the owners, again. Raises DatabaseUnreadable."""
        with self._open() as session:
            self.version = self.find_version(session, self.name)

    def _connect(self) -> Session:
        """Connect for a thread, and check the version and the owners again."""
        session = self._servers.connect()
        try:
            session.execute(f"SELECT pg_advisory_lock_shared({USE})")
            self.version = self.find_version(session, self.name)
            self.require_current()
        except psycopg.Error as error:
            session.close()
            raise DatabaseUnreachable(words(error)) from error
        except BaseException:
            session.close()
            raise
        return session

    @property
    def connection(self) -> Connection:
        """The calling thread's own connection. Outside of write() it can only read."""
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = Connection(self._connect, self._servers)
        return connection

    def write(self) -> AbstractContextManager[Connection]:
        """One write transaction: committed at the end, durably, or rolled back whole.

        Raises DatabaseBusy or DatabaseUnusable, or DatabaseUnreachable: then it may be either.
        """
        return self.connection.transaction()

    def data_version(self) -> tuple[int, str] | None:
        """A value that changes with each commit of any machine. None if the database can not be reached.

        One query answers all threads that waited for it.
        """
        asked = self._questions
        with self._asking:
            if asked == self._questions:
                self._questions += 1
                try:
                    self._data_version = self._observer.data_version()
                except (MarketplaceError, DatabaseUnreadable):
                    self._data_version = None
            return self._data_version

    def size(self) -> int:
        """The size of the database, in bytes. Raises DatabaseUnreachable."""
        sql = "SELECT pg_database_size(current_database()) AS bytes"
        return int(only(self.connection, sql)["bytes"])

    def close(self) -> None:
        """Close the calling thread's own connection and the observer. They are opened again on demand."""
        self.connection.close()
        with self._asking:
            self._observer.close()

    def leadership(self, name: str) -> "Leadership":
        return Leadership(self._servers, name)

    def upgrade(self, report: Callable[[str], None] = ignore) -> None:
        """Upgrade to this version, each step in one transaction. Calls ``report`` with what is next.

        Raises DatabaseInUse while a service or another command has it open.
        """
        self.close()
        with self._open() as session:
            _set_no_timeout(session)
            session.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
            self._require_alone(session)
            version = self.find_version(session, self.name)
            for step in (step for step in self.schema.steps if step.version > version):
                with session.transaction():
                    step.take(session, report, translate_ddl)
                    self.mark(session, step.version)
            self.version = self.find_version(session, self.name)

    def fill(self, source: Contents, report: Callable[[str], None]) -> None:
        """Copy everything from another database of this version, in one transaction.

        Raises DatabaseInUse while a service or another command has this database open, DatabaseUnreadable if
        it is not empty, or can not take all rows: then nothing was changed. After DatabaseUnreachable, either
        everything or nothing was copied.
        """
        self.close()
        self.require_current()
        with self.startup_lock() as session:
            self._require_alone(session)
            try:
                with session.transaction():
                    # Turn off the timeout of the server's settings: the copy may take any time.
                    session.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                    tables = self.schema.in_order
                    filling.fill(session, self.name, tables, source, report)
                    self.mark(session, self.schema.version)
                    properties.mark_property(session, "events_home", _find_home(session))
                    report("Commit")
            except psycopg.Error as error:
                if session.broken or isinstance(error, LOST):
                    raise DatabaseUnreachable(words(error)) from error
                raise

    def _require_alone(self, session: Session) -> None:
        """Raise DatabaseInUse if another session uses the database. None can until this session ends."""
        sql = f"SELECT pg_try_advisory_lock({USE}) AS is_alone"
        if not only(session, sql)["is_alone"]:
            raise DatabaseInUse(f"{self.name} is in use: a service or another command has it open")

    def insert_events(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Insert events, at the end of the calling thread's transaction.

        No other transaction takes an event's id until this transaction is visible.
        """
        # The lock is released once the transaction is visible. Only writers of events take it.
        self.connection.execute_at_commit(f"SELECT pg_advisory_xact_lock({EMIT})", {})
        for row in rows:
            self.connection.execute_at_commit(events.INSERT, row)

    def after_fork(self) -> None:
        """Make a new lock and observer in the child: a thread of the parent may hold the old ones."""
        self._asking = threading.Lock()
        # Another thread of the parent may have opened the observer again just before the fork.
        self._observer = Connection(self._connect, self._servers, self._observer.opened + 1)
        self._servers.after_fork()


class Leadership(Connection):
    """A connection with a role that one machine holds at a time.

    A silent holder loses the role within half a minute.
    """

    def __init__(self, servers: Servers, name: str) -> None:
        super().__init__(servers.connect, servers)
        self._name = name

    def take(self) -> bool:
        """Take the role, or keep it. Returns whether we hold it. Raises DatabaseUnreachable."""
        sql = f"""
            SELECT set_config('idle_session_timeout', '{LEADER_SECONDS}s', FALSE),
                pg_try_advisory_lock({LEAD}) AS is_ours
        """
        return bool(only(self, sql, {"name": f".{self._name}"})["is_ours"])


def _find_home(db: AnyConnection) -> bytes:
    return bytes(only(db, f"SELECT {HOME} AS home")["home"])


def _set_no_timeout(session: Session) -> None:
    """Turn off all timeouts, also those that an operator has set for the role or the database."""
    session.answer_seconds = None
    for name in ("lock_timeout", "statement_timeout", "idle_session_timeout"):
        session.execute(f"SET {name} = 0")
    # The last statement ends with the session, even if a cancel is lost. Servers on Windows can not do this.
    with suppress(errors.InvalidParameterValue):
        session.execute("SET client_connection_check_interval = '1s'")


def translate_ddl(sql: str) -> str:
    for pattern, replacement in DDL.items():
        sql = re.sub(pattern, replacement, sql)
    return sql
