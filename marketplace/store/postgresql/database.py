"""One PostgreSQL database: how it is made, read, written, upgraded and filled."""

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
# SQLite's types and words, as schema.sql and the upgrades have them.
DDL = {
    r"\bINTEGER\b": "BIGINT",
    r"\bBLOB\b": "BYTEA",
    r"\) STRICT(, WITHOUT ROWID)?": ")",
    r"\) VIRTUAL\b": ") STORED",
}
CREATE = "CREATE DATABASE ... TEMPLATE template0 LOCALE 'C' ENCODING 'UTF8'"
POOLER = "a pooler (such as pgbouncer) stands before it: connect to PostgreSQL itself"
# A server's reasons to refuse a connection, and the way out.
WAYS_OUT = {
    'database ".*" does not exist': f"Create it: {CREATE}",
    "startup parameter": f"Perhaps {POOLER}",
    "SSL|pg_hba|certificate": "See to sslmode in the address, and to the server's ssl and pg_hba.conf",
    "password|authentication|role": "See to the user and the password in the address, or in ~/.pgpass",
    "": "One of its servers must be there as the primary: see to the address, and to the servers",
}

# The keys of our advisory locks: a number, from "nftm" on, and a hash of the schema.
TURN = f"{0x6E66746D}, hashtext(current_schema())"  # who makes the tables, or upgrades them
LEAD = f"{0x6E66746E}, hashtext(current_schema() || :name)"  # who has a role, of all machines
# All who read and write; who upgrades has it alone.
USE = f"{0x6E66746F}, hashtext(current_schema())"
EMIT = f"{0x6E667470}, hashtext(current_schema())"  # who writes events, until they are visible

# The timeline of the server, and the table: others after a failover, or where tables were restored. The
# property events_home holds those that the word events_epoch is of.
HOME = """
    convert_to(concat_ws(
        '.', (pg_control_system()).system_identifier, LEFT(pg_walfile_name(pg_current_wal_lsn()), 8),
        to_regclass('event')::oid
    ), 'UTF8')
"""

LEADER_SECONDS = 20  # without a word from a leader, until its server takes it for dead


class Database(EngineBase):
    """One PostgreSQL database, with one kept connection for each thread and process.

    A child uses nothing that it inherited over a fork; see close_at_fork().
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
        """Make its tables where there are none; ``owners`` says whose index it is: network and account.

        ``called`` is the address, which may hold a password, in sentences. Raises DatabaseUnreadable for a
        server or a database that can not be used, or is another's.
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
        """Hold a lock: processes that start at once take turns, however long one takes."""
        with self._open() as session:
            _set_no_timeout(session)
            session.execute(f"SELECT pg_advisory_lock({TURN})")
            session.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
            yield session

    @contextmanager
    def _open(self) -> Iterator[Session]:
        """Connect for other things than a request, and close it.

        Raises DatabaseUnreadable in place of what the server says, and where that is not fit for it.
        """
        try:
            session = self._servers.connect()
        except DatabaseUnreachable as error:
            reason = error.reason.rstrip(".?")
            way = next(way for words, way in WAYS_OUT.items() if re.search(words, reason))
            raise self._unfit(f"{reason}. {way}") from error
        with closing(session):
            try:
                # Before anything is locked: a pooler would keep that for whoever comes next.
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
                f"its collation is {row['collation']} and its encoding {row['encoding']}, where C and"
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
        """Read again of which version it is, and whose. Raises DatabaseUnreadable."""
        with self._open() as session:
            self.version = self.find_version(session, self.name)

    def _connect(self) -> Session:
        """Connect for a thread, and see that the database is what it was at the start."""
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
        """The calling thread's own connection, which only reads outside of write()."""
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = Connection(self._connect, self._servers)
        return connection

    def write(self) -> AbstractContextManager[Connection]:
        """One write transaction: committed at the end, durably, or rolled back whole.

        Raises DatabaseBusy or DatabaseUnusable, and DatabaseUnreachable: then it is not known which.
        """
        return self.connection.transaction()

    def data_version(self) -> tuple[int, str] | None:
        """Another value after each commit, by whatever machine; None while the database is out of reach.

        One question serves all threads that came before it was asked.
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
        """Bytes that the server keeps of it. Raises DatabaseUnreachable."""
        sql = "SELECT pg_database_size(current_database()) AS bytes"
        return int(only(self.connection, sql)["bytes"])

    def close(self) -> None:
        """Close the calling thread's own connection and the observer; they are opened again when needed."""
        self.connection.close()
        with self._asking:
            self._observer.close()

    def leadership(self, name: str) -> "Leadership":
        return Leadership(self._servers, name)

    def upgrade(self, report: Callable[[str], None] = ignore) -> None:
        """Bring it up to this version, each step in one transaction; ``report`` is called with what is next.

        Raises DatabaseInUse while a service or another command has it open.
        """
        self.close()
        with self._open() as session:
            _set_no_timeout(session)
            session.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
            self._require_alone(session)
            for step in self.schema.steps_from(self.find_version(session, self.name)):
                with session.transaction():
                    step.take(session, report, translate_ddl)
                    self.mark(session, step.version)
            self.version = self.find_version(session, self.name)

    def fill(self, source: Contents, report: Callable[[str], None]) -> None:
        """Take over all that another database of this version holds, in one transaction.

        Raises DatabaseInUse while a service or another command has it open,
        DatabaseUnreadable where it is not empty, or can not take all of it: then nothing was changed.
        DatabaseUnreachable: it is not known whether all was, or nothing.
        """
        self.close()
        self.require_current()
        with self.startup_lock() as session:
            self._require_alone(session)
            try:
                with session.transaction():
                    # Nothing bounds how long it takes, whatever the server's own settings are.
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
        """See that nobody else has it open, nor opens it until this session ends."""
        sql = f"SELECT pg_try_advisory_lock({USE}) AS is_alone"
        if not only(session, sql)["is_alone"]:
            raise DatabaseInUse(f"{self.name} is in use: a service or another command has it open")

    def insert_events(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Insert events, at the end of the calling thread's transaction.

        No other transaction draws an event's id until this one has become visible.
        """
        # The lock is released once the transaction is visible. Only writers of events take it.
        self.connection.execute_at_commit(f"SELECT pg_advisory_xact_lock({EMIT})", {})
        for row in rows:
            self.connection.execute_at_commit(events.INSERT, row)

    def after_fork(self) -> None:
        """In the child: no other thread of it holds a lock."""
        self._asking = threading.Lock()
        # Another thread of the parent may have opened the observer again, just before the fork.
        self._observer = Connection(self._connect, self._servers, self._observer.opened + 1)
        self._servers.after_fork()


class Leadership(Connection):
    """A connection with a role that one machine has at a time.

    A silent holder loses it within half a minute.
    """

    def __init__(self, servers: Servers, name: str) -> None:
        super().__init__(servers.connect, servers)
        self._name = name

    def take(self) -> bool:
        """Have it, from now on or still. Raises DatabaseUnreachable."""
        sql = f"""
            SELECT set_config('idle_session_timeout', '{LEADER_SECONDS}s', FALSE),
                pg_try_advisory_lock({LEAD}) AS is_ours
        """
        return bool(only(self, sql, {"name": f".{self._name}"})["is_ours"])


def _find_home(db: AnyConnection) -> bytes:
    return bytes(only(db, f"SELECT {HOME} AS home")["home"])


def _set_no_timeout(session: Session) -> None:
    """Set no timeout, whatever an operator has set for the role or the database."""
    session.answer_seconds = None
    for name in ("lock_timeout", "statement_timeout", "idle_session_timeout"):
        session.execute(f"SET {name} = 0")
    # Its last statement ends with the session, also where a cancel is lost. A server on Windows can not.
    with suppress(errors.InvalidParameterValue):
        session.execute("SET client_connection_check_interval = '1s'")


def translate_ddl(sql: str) -> str:
    for pattern, replacement in DDL.items():
        sql = re.sub(pattern, replacement, sql)
    return sql
