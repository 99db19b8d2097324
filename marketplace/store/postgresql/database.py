"""One PostgreSQL database: how it is made, read, written, upgraded and filled."""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress

import psycopg
from psycopg import errors

from marketplace.errors import DatabaseUnreachable, MarketplaceError
from marketplace.store import events, properties
from marketplace.store import rows as store_rows
from marketplace.store.database_errors import DatabaseInUse, DatabaseUnreadable
from marketplace.store.engine import Contents, Engine, Found, close_at_fork, require_ours
from marketplace.store.postgresql import filling
from marketplace.store.postgresql.connection import Connection
from marketplace.store.postgresql.leadership import Leadership
from marketplace.store.postgresql.servers import (
    CREATE,
    EMIT,
    LOCK_SECONDS,
    LOST,
    POOLER,
    TURN,
    USE,
    WAYS_OUT,
    Servers,
    Session,
)
from marketplace.store.schema import PROPERTY, Schema, VersionUnknown, parse_version

OLDEST_SERVER = 15
# SQLite's types and words, as schema.sql and the upgrades have them.
DDL = {
    r"\bINTEGER\b": "BIGINT",
    r"\bBLOB\b": "BYTEA",
    r"\) STRICT(, WITHOUT ROWID)?": ")",
    r"\) VIRTUAL\b": ") STORED",
}


class Database(Engine):
    """One PostgreSQL database, with one kept connection for each thread and process.

    A child uses nothing that it inherited over a fork; see close_at_fork().
    """

    is_shared = True

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
        self._data_version: tuple[int, str, str] | None = None
        self._observer = Connection(self._connect, self._servers)
        with self.turn() as session:
            if not self._tables(session):
                self._make(session)
            self._found = self._look(session)
        close_at_fork(self)

    @contextmanager
    def turn(self) -> Iterator[Session]:
        """Let those who start at once take turns; the session waits as long as it takes."""
        with self._refusing(), closing(self._connect_first()) as session:
            _wait_for_ever(session)
            sql = "SELECT pg_advisory_lock(:lock, hashtext(current_schema()))"
            session.execute(sql, {"lock": TURN})
            session.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
            yield session

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Raise DatabaseUnreadable in place of what the server says."""
        try:
            yield
        except errors.InsufficientPrivilege as error:
            raise self._unfit(
                f"{self._servers.words(error)}. Make this user the owner of the database and its tables, or"
                " GRANT it USAGE, CREATE ON SCHEMA and ALL ON ALL TABLES IN SCHEMA public"
            ) from error
        except psycopg.Error as error:
            raise self._unfit(self._servers.words(error)) from error

    def _connect_first(self) -> Session:
        """Connect for other things than a request. Raises DatabaseUnreadable for what is not fit for it."""
        try:
            session = self._servers.connect()
        except DatabaseUnreachable as error:
            reason = error.reason.rstrip(".?")
            way = next(way for words, way in WAYS_OUT.items() if re.search(words, reason))
            raise self._unfit(f"{reason}. {way}") from error
        try:
            # Before anything is locked: a pooler would keep that for whoever comes next.
            self._require_fit(session)
        except BaseException:
            session.close()
            raise
        return session

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
        [row] = session.execute(sql).fetchall()
        if row["pid"] != session.info.backend_pid:
            raise self._unfit(POOLER)
        if row["collation"] not in ("C", "POSIX") or row["encoding"] != "UTF8":
            raise self._unfit(
                f"its collation is {row['collation']} and its encoding {row['encoding']}, where C and"
                f" UTF8 are needed: {CREATE}"
            )
        if row["schema"] is None:
            raise self._unfit("none of the schemas in its search_path exists: create one")

    def _tables(self, session: Session) -> set[str]:
        sql = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        return {row["tablename"] for row in session.execute(sql)}

    def _make(self, session: Session) -> None:
        with session.transaction():
            session.execute(translate_ddl(self.schema.sql))
            self._mark(session, self.schema.version)

    def _mark(self, session: Session, version: int) -> None:
        properties.mark_property(session, PROPERTY, str(version).encode())
        for name, value in self._owners.items():
            properties.insert_property(session, name, value.encode())
        events.insert_epoch(session, self.find_home(session))

    def _look(self, session: Session) -> Found:
        """See of which version the database is, and whose. Raises DatabaseUnreadable."""
        if not self._tables(session) >= self.schema.tables | {"property"}:
            raise DatabaseUnreadable(
                f"{self.name} is not a database of this service: name another database"
            )
        row = properties.get_property(session, PROPERTY)
        try:
            version = parse_version(row and row["value"])
        except VersionUnknown as error:
            raise DatabaseUnreadable(
                f"{self.name} can not be used: {error}. Restore a backup"
            ) from error
        rows = [properties.get_property(session, name) for name in self._owners]
        found = Found(version, {row["name"]: row["value"].decode() for row in rows if row})
        require_ours(self.name, found, self.schema, self._owners)
        return found

    def look(self) -> None:
        """See again of which version the database is, and whose. Raises DatabaseUnreadable."""
        with self._refusing(), closing(self._connect_first()) as session:
            self._found = self._look(session)

    def _connect(self) -> Session:
        """Connect for a thread, and see that the database is what it was at the start."""
        session = self._servers.connect()
        try:
            sql = "SELECT pg_advisory_lock_shared(:lock, hashtext(current_schema()))"
            session.execute(sql, {"lock": USE})
            self._found = self._look(session)
            self.require_current()
        except psycopg.Error as error:
            session.close()
            raise DatabaseUnreachable(self._servers.words(error)) from error
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

    def data_version(self) -> tuple[int, str, str] | None:
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
        [row] = self.connection.execute(sql).fetchall()
        return int(row["bytes"])

    def close(self) -> None:
        """Close the calling thread's own connection and the observer; they are opened again when needed."""
        self.connection.close()
        with self._asking:
            self._observer.close()

    def leadership(self, name: str) -> "Leadership":
        return Leadership(self._servers, name)

    def upgrade(self, tell: Callable[[str], None] = lambda what: None) -> None:
        """Bring it up to this version, each step in one transaction; ``tell`` is called with what is next.

        Raises DatabaseInUse while a service or another command has it open.
        """
        self.close()
        with self._refusing(), closing(self._connect_first()) as session:
            _wait_for_ever(session)
            session.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
            self._require_alone(session)
            for step in self.schema.steps_from(self._look(session).version):
                with session.transaction():
                    for what, statement in step.statements:
                        tell(what)
                        session.execute(translate_ddl(statement))
                    step.fill(session)
                    self._mark(session, step.version)
            self._found = self._look(session)

    def fill(self, source: Contents, progress: filling.Progress) -> None:
        """Take over all that another database of this version holds, in one transaction.

        Raises DatabaseInUse while a service or another command has it open,
        DatabaseUnreadable where it is not empty, or can not take all of it: then nothing was changed.
        DatabaseUnreachable: it is not known whether all was, or nothing.
        """
        self.close()
        self.require_current()
        with self.turn() as session:
            self._require_alone(session)
            try:
                with session.transaction():
                    # Nothing bounds how long it takes, whatever the server's own settings are.
                    session.execute("SET LOCAL statement_timeout = 0")
                    session.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                    tables = self.schema.in_order
                    filling.fill(session, self.name, tables, source, progress)
                    self._mark(session, self.schema.version)
                    events.mark_home(session, self.find_home(session))
                    progress.begin("Commit")
            except psycopg.Error as error:
                if session.broken or isinstance(error, LOST):
                    raise DatabaseUnreachable(self._servers.words(error)) from error
                raise

    def _require_alone(self, session: Session) -> None:
        """See that nobody else has it open, nor opens it until this session ends."""
        sql = "SELECT pg_try_advisory_lock(:lock, hashtext(current_schema())) AS is_alone"
        [row] = session.execute(sql, {"lock": USE}).fetchall()
        if not row["is_alone"]:
            raise DatabaseInUse(f"{self.name} is in use: a service or another command has it open")

    def order_events(self, db: store_rows.Connection) -> None:
        # Released once the transaction is visible. Only writers of events take it.
        db.execute(
            "SELECT pg_advisory_xact_lock(:lock, hashtext(current_schema()))", {"lock": EMIT}
        )

    def find_home(self, db: store_rows.Connection) -> str:
        sql = """
            SELECT (pg_control_system()).system_identifier
                || '.' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
                || '.' || to_regclass('event')::oid AS home
        """
        return str(store_rows.only(db, sql)["home"])

    def after_fork(self) -> None:
        self._asking = threading.Lock()
        self._servers.after_fork()


def _wait_for_ever(session: Session) -> None:
    """Whatever patience an operator has given the role, or the database."""
    session.patience = None
    for name in ("lock_timeout", "statement_timeout", "idle_session_timeout"):
        session.execute(f"SET {name} = 0")
    # Its last statement ends with the session, also where a cancel is lost. A server on Windows can not.
    with suppress(errors.InvalidParameterValue):
        session.execute("SET client_connection_check_interval = '1s'")


def translate_ddl(sql: str) -> str:
    for pattern, replacement in DDL.items():
        sql = re.sub(pattern, replacement, sql)
    return sql
