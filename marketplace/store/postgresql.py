"""The engine for PostgreSQL: one database, on several servers, one of which is the primary.

libpq finds the primary among the servers of the address. All statements go to it, because a standby may show
old data. A commit is never cancelled: one that waits for its standbys may still take effect.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg import ProgrammingError, errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg.types.numeric import Int8Dumper

from marketplace.errors import DatabaseUnreachable, MarketplaceError
from marketplace.store import filling, properties
from marketplace.store.connection import (
    Connection,
    DatabaseInUse,
    DatabaseMissing,
    DatabaseUnreadable,
    only,
)
from marketplace.store.engine import Engine, close_at_fork, ignore
from marketplace.store.postgresql_connection import (
    ANSWER_SECONDS,
    LOST,
    PostgreSQLConnection,
    PostgreSQLCursor,
    Session,
    translate,
    words,
)
from marketplace.store.properties import EPOCH
from marketplace.store.schema import Schema
from marketplace.store.sqlite_files import Contents, writing

CONNECT_SECONDS = 2  # to connect to each server
LEADER_SECONDS = 20  # after which the server ends the session of a silent leader
LOCK_TIMEOUT = "2s"  # for another transaction's lock
# Of the client: TCP notices a server whose machine has gone.
CLIENT: dict[str, Any] = {
    "application_name": "nft-marketplace-service",
    "client_encoding": "UTF8",
    "target_session_attrs": "read-write",
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": ANSWER_SECONDS * 1000,
}
# Of the server: if a client's machine has gone, its locks end after half a minute, not after hours.
SESSION = {
    "lock_timeout": LOCK_TIMEOUT,
    "statement_timeout": "2.5s",  # the server ends a statement itself, except COMMIT
    "idle_in_transaction_session_timeout": "10s",
    "tcp_keepalives_idle": 15,
    "tcp_keepalives_interval": 5,
    "tcp_keepalives_count": 3,
}
# SQLite's types and keywords in schema.sql and the upgrades, and PostgreSQL's.
DDL = {
    r"\bINTEGER\b": "BIGINT",
    r"\bBLOB\b": "BYTEA",
    r"\) STRICT(, WITHOUT ROWID)?": ")",
    r"\) VIRTUAL\b": ") STORED",
}
OLDEST_SERVER = 15
# At most one @, before the first slash. If a password has an unescaped @ or /, libpq takes the password's
# rest for a host, a port or a name, and shows it in messages.
ADDRESS = re.compile(r"postgresql://([^@/]*@)?[^@?]*([?].*)?")
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
# Outside of write transactions, a thread's session is read-only, so its statements can be repeated.
BEGIN_SESSION = f"SET default_transaction_read_only = on; SELECT pg_advisory_lock_shared({USE})"

# The server, its timeline, and the table. They change after a failover or a restore. The property events_home
# holds the values for which events_epoch was generated.
HOME = """
    convert_to(concat_ws(
        '.', (pg_control_system()).system_identifier, LEFT(pg_walfile_name(pg_current_wal_lsn()), 8),
        to_regclass('event')::oid
    ), 'UTF8')
"""


def _translate_ddl(sql: str) -> str:
    for pattern, replacement in DDL.items():
        sql = re.sub(pattern, replacement, sql)
    return sql


class PostgreSQLDatabase(Engine):
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
        makes: bool = True,
    ) -> None:
        """Open the database, or make its tables. ``owners``: the network and the account to which it belongs.

        ``called``: the name of the address in messages, because the address may have a password. Raises
        DatabaseUnreadable for an unusable server or database, or for another network or account, and
        DatabaseMissing if there are no tables and none may be created.
        """
        self._called = called
        given = _read_address(url, called)
        settings = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
        options = f"{given.get('options', '')} {settings}".strip()
        self._address = given | {"options": options} | CLIENT
        super().__init__(re.sub("//[^@/]*@", "//", url).partition("?")[0], schema, owners)
        self._local = threading.local()
        self.after_fork()
        self._data_version: tuple[int, str] | None = None
        with self.startup_lock() as session:
            if not self.list_tables(session):
                if not makes:
                    raise DatabaseMissing(self.name)
                self._make(session)
            self.version = self.find_version(session, self.name)
        close_at_fork(self)

    @contextmanager
    def startup_lock(self) -> Iterator[Session]:
        """Hold a lock for any time, so that processes that start at the same time take turns."""
        with self._open() as session:
            _set_no_timeout(session)
            session.execute(f"SELECT pg_advisory_lock({TURN})")
            session.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
            yield session

    @contextmanager
    def _open(self) -> Iterator[Session]:
        """Open a session that serves no request, and close it at the end.

        Raises DatabaseUnreadable for errors of the server, and for an unfit server or database.
        """
        try:
            session = self._find_primary()
        except DatabaseUnreachable as error:
            raise self._unfit(_advise(error.reason)) from error
        with closing(session):
            try:
                # Before any lock: a pooler would keep the lock for the next client.
                if reason := _find_fault(session):
                    raise self._unfit(reason)
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

    def list_tables(self, db: Connection) -> set[str]:
        sql = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        return {row["tablename"] for row in db.execute(sql)}

    def _make(self, session: Session) -> None:
        with session.transaction():
            session.execute(_translate_ddl(self.schema.sql))
            self.mark(session, self.schema.version)

    def mark(self, db: Connection, version: int) -> None:
        super().mark(db, version)
        properties.insert_property(db, "events_home", _find_home(db))

    def read_version(self) -> None:
        """Read the schema's version, and check the owners, again. Raises DatabaseUnreadable."""
        with self._open() as session:
            self.version = self.find_version(session, self.name)

    def _find_primary(self) -> Session:
        """Connect to the primary. Raises DatabaseUnreachable."""
        try:
            session = Session.connect(
                **self._address,
                autocommit=True,
                cursor_factory=PostgreSQLCursor,
                row_factory=dict_row,
                prepare_threshold=0,
            )
        except psycopg.Error as error:
            raise DatabaseUnreachable(words(error)) from error
        session.adapters.register_dumper(int, Int8Dumper)  # one type: one plan
        session.number = next(Session.numbers)
        return session

    def _connect(self) -> Session:
        """Connect for a thread, and check the version and the owners again."""
        session = self._find_primary()
        try:
            session.execute(BEGIN_SESSION)
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
    def connection(self) -> PostgreSQLConnection:
        """The calling thread's own connection. Outside of write() it can only read."""
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = PostgreSQLConnection(self._connect)
        return connection

    def write(self) -> AbstractContextManager[PostgreSQLConnection]:
        """One write transaction: committed at the end, durably, or rolled back whole.

        Raises DatabaseBusy or DatabaseUnusable. After DatabaseUnreachable, it may be committed or not.
        """
        return self.connection.transaction()

    def lock_events(self, db: Connection) -> None:
        """Keep other transactions from writing events until this one is visible."""
        db.execute(f"SELECT pg_advisory_xact_lock({EMIT})")

    def stream(self, sql: str, parameters: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        """Read any number of rows of one moment, one by one, by COPY over a session of their own."""
        with self._open() as session, session.cursor() as cursor:
            _set_no_timeout(session)
            session.execute(BEGIN_SESSION)
            cursor.execute(f"SELECT * FROM ({sql}) AS described LIMIT 0", parameters)
            described = cursor.description or []
            names = [column.name for column in described]
            with cursor.copy(f"COPY ({translate(sql)}) TO STDOUT", parameters) as copy:
                copy.set_types([column.type_code for column in described])
                for row in copy.rows():
                    yield dict(zip(names, row, strict=True))

    def lock_nfts(self, db: Connection) -> None:
        """Wait for all transactions that write NFTs, and keep others from it until this one ends."""
        db.execute("LOCK TABLE nft IN SHARE ROW EXCLUSIVE MODE")

    def data_version(self) -> tuple[int, str] | None:
        """A value that changes with each commit of any machine. None if the database cannot be reached.

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

    def after_fork(self) -> None:
        """Make a new lock and observer: in a child, a thread of the parent may hold the old ones."""
        self._asking, self._questions = threading.Lock(), 0
        self._observer = PostgreSQLConnection(self._connect)

    def leadership(self, name: str) -> "SessionLeadership":
        return SessionLeadership(self._find_primary, name)

    def upgrade(self, report: Callable[[str], None] = ignore) -> None:
        """Upgrade to this version, each step in one transaction. Calls ``report`` with what is next.

        Raises DatabaseInUse while a service or another command has it open.
        """
        self.close()
        with self._open() as session:
            _set_no_timeout(session)
            session.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
            self._require_alone(session)
            version = self.find_version(session, self.name)
            for step in (step for step in self.schema.steps if step.version > version):
                with session.transaction():
                    epoch = only(session, f"SELECT {self.epoch} AS epoch")["epoch"]
                    step.take(session, report, _translate_ddl)
                    self.mark(session, step.version)
                    if epoch:  # a step may make the table of events again
                        self._keep_epoch(session, epoch)
            self.version = self.find_version(session, self.name)

    def _keep_epoch(self, session: Session, epoch: str) -> None:
        properties.mark_property(session, EPOCH, epoch.encode())
        properties.mark_property(session, "events_home", _find_home(session))

    def copy(self, target: Path) -> None:
        """Copy the state of one moment to an SQLite file. Writers do not wait meanwhile."""
        self.require_current()
        with self._open() as session, writing(target) as copy:
            _set_no_timeout(session)
            session.execute("SET idle_in_transaction_session_timeout = 0")
            filling.drain(session, self.schema, copy)

    def fill(
        self, source: Contents, report: Callable[[str], None] = ignore, replaces: bool = False
    ) -> None:
        """Copy everything from another database of this version, in one transaction.

        ``replaces``: whether to replace the current content. Raises DatabaseInUse while a service or another
        command has this database open, DatabaseUnreadable if it has rows that must not be replaced, or cannot
        take all rows: then nothing was changed. After DatabaseUnreachable, all or nothing was copied.
        """
        self.close()
        self.require_current()
        with self.startup_lock() as session:
            self._require_alone(session)
            try:
                with session.transaction():
                    # Turn off the timeout of the server's settings: the copy may take any time.
                    session.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                    if not replaces:
                        filling.require_empty(session, self.name, self.schema.in_order)
                    filling.fill(session, self.name, self.schema.in_order, source, report)
                    self.mark(session, self.schema.version)
                    if replaces:
                        properties.mark_epoch(session)
                    properties.mark_property(session, "events_home", _find_home(session))
                    report("Commit")
                report("Gather statistics")
                # COPY leaves some pages unmarked: without this, index-only scans would visit their rows.
                session.execute(f"VACUUM (ANALYZE) {', '.join(self.schema.in_order)}")
            except psycopg.Error as error:
                if session.broken or isinstance(error, LOST):
                    raise DatabaseUnreachable(words(error)) from error
                raise

    def _require_alone(self, session: Session) -> None:
        """Raise DatabaseInUse if another session uses the database. None can until this session ends.

        Waits a little: a server holds the locks of a closed connection until it notices.
        """
        try:
            session.execute(f"SELECT pg_advisory_lock({USE})")
        except errors.LockNotAvailable:
            raise DatabaseInUse(
                f"{self.name} is in use: a service or another command has it open"
            ) from None


class SessionLeadership(PostgreSQLConnection):
    """A connection with a role that one machine holds at a time.

    A silent holder loses the role within half a minute.
    """

    def __init__(self, connect: Callable[[], Session], name: str) -> None:
        super().__init__(connect)
        self._name = name

    def take(self) -> bool:
        """Take the role, or keep it. Returns whether we hold it. Raises DatabaseUnreachable."""
        sql = f"""
            SELECT set_config('idle_session_timeout', '{LEADER_SECONDS}s', FALSE),
                pg_try_advisory_lock({LEAD}) AS is_ours
        """
        return bool(only(self, sql, {"name": f".{self._name}"})["is_ours"])


def _set_no_timeout(session: Session) -> None:
    """Turn off all timeouts, also those that an operator has set for the role or the database."""
    session.answer_seconds = None
    for name in ("lock_timeout", "statement_timeout", "idle_session_timeout"):
        session.execute(f"SET {name} = 0")
    # The last statement ends with the session, even if a cancel is lost. Servers on Windows cannot do this.
    with suppress(errors.InvalidParameterValue):
        session.execute("SET client_connection_check_interval = '1s'")


def _find_home(db: Connection) -> bytes:
    return bytes(only(db, f"SELECT {HOME} AS home")["home"])


def _read_address(url: str, called: str) -> dict[str, Any]:
    """The parameters of a connection. Raises DatabaseUnreadable, which names the address by ``called``."""
    try:
        given: dict[str, Any] = conninfo_to_dict(url)
    except (ProgrammingError, UnicodeError):
        given = {}
    ports = str(given.get("port", "")).split(",")
    are_ports = all(re.fullmatch("[0-9]{0,5}", port) for port in ports)
    if not given or not ADDRESS.fullmatch(url) or not are_ports:
        # Quote neither the library nor the address: they may contain the password.
        raise DatabaseUnreadable(
            f"{called} is not the address of a PostgreSQL database"
            " (postgresql://user:password@host-a,host-b/market): in a user and a password,"
            " % @ : / are written as %25 %40 %3A %2F"
        )
    return given


def _advise(reason: str) -> str:
    """A server's reason to refuse a connection, and what to do."""
    reason = reason.rstrip(".?")
    way = next(way for words, way in WAYS_OUT.items() if re.search(words, reason))
    return f"{reason}. {way}"


def _find_fault(session: Session) -> str | None:
    """Find why a server or a database cannot be used, and say what to do."""
    version = session.info.server_version
    if version < OLDEST_SERVER * 10_000:
        return (
            f"its server is PostgreSQL {version // 10_000}, and {OLDEST_SERVER} or newer is needed"
        )
    sql = """
        SELECT pg_backend_pid() AS pid, pg_encoding_to_char(encoding) AS encoding,
               CASE datlocprovider WHEN 'i' THEN 'of ICU' WHEN 'b' THEN 'C' ELSE datcollate END
               AS collation, -- b is PostgreSQL's own provider, which sorts by code points, too
               current_schema() AS schema,
               has_function_privilege('pg_control_system()', 'EXECUTE') AS may_identify
        FROM pg_database WHERE datname = current_database()
    """
    row = only(session, sql)
    if row["pid"] != session.info.backend_pid:
        return POOLER
    if row["collation"] not in ("C", "POSIX") or row["encoding"] != "UTF8":
        return (
            f"its collation is {row['collation']} and its encoding {row['encoding']}, but C and"
            f" UTF8 are needed: {CREATE}"
        )
    if not row["may_identify"]:
        return (
            f"its user {session.info.user} may not call pg_control_system(), which tells a failover: GRANT"
            f" EXECUTE ON FUNCTION pg_control_system() TO {session.info.user}, as a superuser"
        )
    if row["schema"] is None:
        return "none of the schemas in its search_path exists: create one"
    return None
