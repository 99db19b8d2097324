"""One PostgreSQL database: how it is made, read, written and upgraded, and what a lost server means.

All goes to the primary, the one server of those in the address that takes writes: what a standby shows may
be old. Nothing here cancels a statement: a commit that waits for its standbys may be done all the same.
"""

import logging
import os
import re
import select
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from urllib.parse import quote

import psycopg
from psycopg import errors
from psycopg.adapt import PyFormat, Transformer
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult
from psycopg.rows import dict_row

from marketplace.errors import (
    DatabaseBusy,
    DatabaseUnreachable,
    DatabaseUnusable,
    MarketplaceError,
)
from marketplace.store import filling, queries
from marketplace.store.engine import Engine, Found, require_ours
from marketplace.store.faults import DatabaseInUse, DatabaseUnreadable, NoFile
from marketplace.store.schema import PROPERTY, Schema, VersionUnknown, parse_version

OLDEST_SERVER = 15
# Seconds. Whoever asks us for something is answered within five, whatever the servers do.
ANSWER_SECONDS = 3  # for each answer of the server
LOCK_SECONDS = 2  # for another transaction's lock
CONNECT_SECONDS = 4  # to find the primary among the servers; each has two
AGAIN_SECONDS = 1  # after it was not found, until it is looked for again
LEADER_SECONDS = 20  # without a word from a leader, until its server takes it for dead
BEAT_SECONDS = 5  # between two words of it

# A session reads, and no more, until a transaction says that it writes.
SESSION = {
    "default_transaction_read_only": "on",
    "lock_timeout": f"{LOCK_SECONDS}s",
    "idle_in_transaction_session_timeout": "10s",
    # Whose machine is lost without a word keeps its locks for half a minute, not for hours.
    "tcp_keepalives_idle": 15,
    "tcp_keepalives_interval": 5,
    "tcp_keepalives_count": 3,
}
CLIENT = {
    "application_name": "nft-marketplace-service",
    "client_encoding": "UTF8",
    "target_session_attrs": "primary",
    "connect_timeout": 2,
}
# What no session outlives, and what says that the server is no longer the primary.
LOST = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleSessionTimeout,
    errors.IdleInTransactionSessionTimeout,
    errors.ReadOnlySqlTransaction,
)
BUSY = (
    errors.LockNotAvailable,
    errors.QueryCanceled,
    errors.DeadlockDetected,
    errors.SerializationFailure,
)
# What SQLSTATE begins with: insufficient resources, errors of the system around the server, and what an
# operator has taken away: privileges, tables, the schema.
UNUSABLE = ("53", "58", "42501", "42P01", "3F000")

# One @ at most, before the first slash: where a password holds these as they are, libpq takes the rest of it
# for a host, a port or a name, and repeats it.
ADDRESS = re.compile(r"postgresql://([^@/]*@)?[^@?]*([?].*)?")
CREATE = "CREATE DATABASE ... TEMPLATE template0 LOCALE 'C' ENCODING 'UTF8'"
POOLER = "a pooler (such as pgbouncer) stands before it: connect to PostgreSQL itself"
# What a server says of a connection that it refuses, and the way out.
WAYS_OUT = {
    'database ".*" does not exist': f"Create it: {CREATE}",
    "startup parameter": f"Perhaps {POOLER}",
    "SSL|pg_hba|certificate": "See to sslmode in the address, and to the server's ssl and pg_hba.conf",
    "password|authentication|role": "See to the user and the password in the address, or in ~/.pgpass",
    "": "One of its servers must be there as the primary: see to the address, and to the servers",
}

BEGIN, COMMIT = "BEGIN READ WRITE", "COMMIT"

# SQLite's types and words, as schema.sql and the upgrades have them.
DDL = {
    r"\bINTEGER\b": "BIGINT",
    r"\bBLOB\b": "BYTEA",
    r"\) STRICT\b": ")",
    r"\) VIRTUAL\b": ") STORED",
}
# The first half of the keys of our advisory locks; the other half is of the schema.
TURN = 0x6E66746D  # "nftm": who makes the tables, or upgrades them
LEAD = TURN + 1
USE = TURN + 2  # shared by all who read and write; who upgrades has it alone

# What it warns of, such as that it could not end what was under way, is raised as well.
logging.getLogger("psycopg").setLevel(logging.ERROR)

_databases: "weakref.WeakSet[Database]" = weakref.WeakSet()


@cache
def translate(sql: str) -> tuple[str, tuple[str, ...]]:
    """Write a statement's parameters as PostgreSQL reads them: ``$1`` is the first of the names."""
    names = {}
    text = re.sub(
        r"(?<!:):([a-z_]+)\b", lambda match: f"${names.setdefault(match[1], len(names) + 1)}", sql
    )
    return text, tuple(names)


class Session(psycopg.Connection):
    """One connection to the primary, for statements as queries.py writes them."""

    patience: float | None = ANSWER_SECONDS  # with its server; None is for ever
    host: dict  # of those that the address names

    def execute(self, sql, parameters=None, **options):
        if parameters is not None:
            sql, names = translate(sql)
            parameters = [parameters[name] for name in names]
        return super().execute(sql, parameters, **options)

    def wait(self, gen, interval=0.1, timeout=None):
        return super().wait(gen, interval, self.patience if timeout is None else timeout)


class Servers:
    """The servers that an address names. Finds the primary among them, which may be another one by now."""

    def __init__(self, url: str, called: str) -> None:
        """``called`` is the address in sentences. Raises DatabaseUnreadable where it makes no sense."""
        try:
            given = conninfo_to_dict(url)
        except (psycopg.ProgrammingError, UnicodeError):
            given = {}
        if not given or not ADDRESS.fullmatch(url) or not _are_ports(given.get("port", "")):
            # Without a word of the library, or of the address: they may repeat the password.
            raise DatabaseUnreadable(
                f"{called} is not the address of a PostgreSQL database"
                " (postgresql://user:password@host-a,host-b/market): in a user and a password,"
                " % @ : / are written as %25 %40 %3A %2F"
            )
        self._password = given.get("password") or os.environ.get("PGPASSWORD")
        settings = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
        given["options"] = f"{given.get('options', '')} {settings}".strip()
        self._hosts = _split_hosts(given, called)
        self._common = given | CLIENT
        addresses = ",".join(_written(host) for host in self._hosts)
        self.name = f"postgresql://{addresses}/{given.get('dbname', '')}"
        self._connecting = threading.Lock()
        self._failure: tuple[float, str] | None = None
        self._silent: tuple[float, dict] | None = None
        self._primary: dict | None = None
        self.moves = 0  # how often the primary was found to be another one
        self.connected = 0  # how often

    def connect(self) -> Session:
        """Connect to the primary. Raises DatabaseUnreachable; at once, where somebody just tried."""
        with self._connecting:
            if self._failure and time.monotonic() < self._failure[0]:
                raise DatabaseUnreachable(self._failure[1])
            try:
                return self._find_primary()
            except psycopg.Error as error:
                self.give_up(self.words(error))
                raise DatabaseUnreachable(self._failure[1]) from error

    def give_up(self, reason: str) -> None:
        """Do without for a moment: nobody waits for what another one has just waited for."""
        self._failure = time.monotonic() + AGAIN_SECONDS, reason

    def distrust(self, host: dict) -> None:
        """Look for the primary elsewhere for a moment: this server has just said nothing."""
        self._silent = time.monotonic() + AGAIN_SECONDS, host

    def _find_primary(self) -> Session:
        until = time.monotonic() + CONNECT_SECONDS
        reasons = []
        for _ in range(len(self._hosts)):
            host = self._hosts[0]
            if self._silent and self._silent[1] is host and time.monotonic() < self._silent[0]:
                reasons.append(f"{_written(host)} gave no answer within {ANSWER_SECONDS} s")
                self._hosts.append(self._hosts.pop(0))
                continue
            try:
                session = Session.connect(
                    **self._common | host,
                    autocommit=True,
                    cursor_factory=psycopg.RawCursor,
                    row_factory=dict_row,
                )
            except psycopg.Error as error:
                reasons.append(self.words(error))
                self._hosts.append(self._hosts.pop(0))  # whoever comes next begins with another one
                if time.monotonic() > until - CLIENT["connect_timeout"]:
                    break
            else:
                self._failure = None
                session.host = host
                if self._primary not in (None, host):
                    self.moves += 1
                self._primary = host
                self.connected += 1
                return session
        raise psycopg.OperationalError("; ".join(reasons))

    def words(self, error: psycopg.Error | str) -> str:
        """The server's own words, in one line, without the password."""
        primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        words = " ".join((primary or str(error)).split())
        if not self._password:
            return words
        return re.sub(rf"(?<!\w){re.escape(self._password)}(?!\w)", "...", words)

    def renew(self) -> None:
        """After a fork: nobody of this process is connecting."""
        self._connecting = threading.Lock()


def _split_hosts(given: dict, called: str) -> list[dict]:
    """The servers of an address, as libpq reads it: lists of hosts and ports, or of one port for all."""
    lists = {
        name: str(given.pop(name)).split(",")
        for name in ("host", "hostaddr", "port")
        if given.get(name)
    }
    count = max(map(len, lists.values()), default=1)
    for name, values in lists.items():
        if len(values) not in (1, count) or (len(values) < count and name != "port"):
            raise DatabaseUnreadable(
                f"{called} names {count} servers, and {len(values)} of their"
                f" {name}s: name one for each (host-a:5432,host-b:5432)"
            )
    return [{name: values[i % len(values)] for name, values in lists.items()} for i in range(count)]


def _are_ports(ports: str | int) -> bool:
    return all(re.fullmatch("[0-9]{0,5}", port) for port in str(ports).split(","))


def _written(host: dict) -> str:
    name = quote(host.get("host") or host.get("hostaddr") or "", safe=":@")  # a socket's folder
    name = f"[{name}]" if ":" in name else name
    return f"{name}:{host['port']}" if host.get("port") else name


class Answer:
    """What a statement brought, with the face of a cursor."""

    def __init__(self, result: PGresult, adapter: Transformer) -> None:
        adapter.set_pgresult(result)
        columns = [result.fname(number).decode() for number in range(result.nfields)]
        rows = adapter.load_rows(0, result.ntuples, lambda row: dict(zip(columns, row)))  # noqa: B905
        self._rows = iter(rows)
        self.rowcount = result.command_tuples or 0

    def __iter__(self) -> Iterator[dict]:
        return self._rows

    def fetchone(self) -> dict | None:
        return next(self._rows, None)

    def fetchall(self) -> list[dict]:
        return list(self._rows)


class Connection:
    """One thread's connection, made when it is needed, and made again where it was lost.

    Outside of a transaction a statement can only read, so that it may be asked again on a new connection.
    What is inside is never asked again: nobody knows what became of it.
    """

    def __init__(self, connect: Callable[[], Session], servers: Servers) -> None:
        self._connect = connect
        self._servers = servers
        self._session: Session | None = None
        self._process = 0
        self._answers: select.poll
        self._either: select.poll  # an answer, or room for what is sent
        self._adapter: Transformer
        self._prepared: dict[str, bytes]  # statements, and their names
        self._started: str  # when its server did
        self._moves = 0  # of the primary, until then
        self._is_writing = False

    def __del__(self) -> None:
        self.close()  # its thread has ended

    def close(self) -> None:
        session, self._session = self._session, None
        # A child that was forked beside this thread shares the socket, and must not say good-bye.
        if session is not None and self._process == os.getpid():
            session.close()

    def execute(self, sql: str, parameters: Mapping | None = None) -> Answer:
        """Ask one statement. Raises DatabaseUnreachable, DatabaseBusy or DatabaseUnusable."""
        names = translate(sql)[1]
        values = [parameters[name] for name in names] if names else []
        if self._is_writing:
            result = self._run(sql, values)
        else:
            result = self._ask_twice(lambda: self._run(sql, values))
        return Answer(result, self._adapter)

    def _run(self, sql: str, values: Sequence = ()) -> PGresult:
        """Ask a statement once. It is prepared the first time, and then costs half of what a cursor does."""
        pgconn = self._ready().pgconn
        try:
            if sql in (BEGIN, COMMIT):  # never in two steps
                return self._exchange(pgconn.send_query, sql.encode())
            name = self._prepared.get(sql) or self._prepare(sql)
            if values:
                values = self._adapter.dump_sequence(values, [PyFormat.TEXT] * len(values))
            return self._exchange(pgconn.send_query_prepared, name, values)
        except psycopg.Error as error:
            raise self._explain(error) from error
        except BaseException:
            self.close()  # whoever was interrupted has left an answer behind
            raise

    def _ready(self) -> Session:
        """The session: a new one, where the old one was lost, or leads to what others have seen replaced."""
        if self._moves != self._servers.moves and not self._is_writing:
            self.close()  # and that may never say a word
        if self._session is None:
            if self._is_writing:
                raise DatabaseUnreachable("the connection was lost in the transaction")
            self._open()
        return self._session

    def _prepare(self, sql: str) -> bytes:
        name = b"%d" % len(self._prepared)
        self._exchange(self._session.pgconn.send_prepare, name, translate(sql)[0].encode())
        self._prepared[sql] = name
        return name

    def _exchange(self, send: Callable, *arguments) -> PGresult:
        """Send something, and return the answer to it."""
        pgconn = self._session.pgconn
        send(*arguments)
        while pgconn.flush():  # more than the socket takes at once
            self._wait(self._either)
        return self._receive()

    def _receive(self) -> PGresult:
        """Wait for an answer, up to its end. Nothing of the library's that would wait by itself is called."""
        pgconn, result = self._session.pgconn, None
        while True:
            while pgconn.is_busy():
                self._wait(self._answers)
            more = pgconn.get_result()
            if more is None:
                break
            result = more
        if result is None:
            raise psycopg.OperationalError("the server ended the connection")
        if result.status == ExecStatus.FATAL_ERROR:
            raise errors.error_from_result(result)
        return result

    def _wait(self, socket: select.poll) -> None:
        if not socket.poll(ANSWER_SECONDS * 1000):
            raise errors._WaitTimeout
        self._session.pgconn.consume_input()

    def _open(self) -> None:
        session = self._connect()
        self._moves = self._servers.moves
        try:
            sql = "SELECT pg_postmaster_start_time() AS started"
            self._started = str(session.execute(sql).fetchone()["started"])
        except psycopg.Error as error:
            session.close()
            raise DatabaseUnreachable(self._servers.words(error)) from error
        self._answers, self._either = select.poll(), select.poll()
        self._answers.register(session.pgconn.socket, select.POLLIN)
        self._either.register(session.pgconn.socket, select.POLLIN | select.POLLOUT)
        self._adapter = Transformer(session)
        self._prepared = {}
        self._session, self._process = session, os.getpid()

    def _ask_twice(self, ask: Callable):
        """Ask once more, on a new connection, where the old one was lost since it was last used."""
        was_open = self._session is not None
        try:
            return ask()
        except DatabaseUnreachable:
            if not was_open:
                raise
        return ask()

    def _explain(self, error: psycopg.Error) -> Exception:
        """Close what is lost, and say what a caller is told; the error itself where the fault is ours."""
        if isinstance(error, errors._WaitTimeout):
            self._servers.distrust(self._session.host)
            self.close()
        elif isinstance(error, LOST) or self._session.broken:
            self.close()
        if self._session is None:
            return DatabaseUnreachable(self._servers.words(error))
        return explain(error, self._servers) or error

    def begin(self) -> None:
        self._ask_twice(lambda: self._run(BEGIN))
        self._is_writing = True

    def commit(self) -> None:
        self._run(COMMIT)
        self._is_writing = False

    def rollback(self) -> None:
        """Undo all since begin(), unless that was committed."""
        was_writing, self._is_writing = self._is_writing, False
        if was_writing and self._session is not None:
            try:
                self._session.execute("ROLLBACK")
            except psycopg.Error:
                self.close()  # the server undoes it by itself

    def stamp(self) -> tuple[int, str, bytes]:
        """Which server it is, since when, and what it shows. Raises DatabaseUnreachable.

        A server that has lost a process counts its transactions anew, from the last that it knows to be done,
        and ends all sessions: so those that were begun are counted, too.
        """
        result = self._ask_twice(lambda: self._run("SELECT pg_current_snapshot()"))
        return self._servers.connected, self._started, result.get_value(0, 0)


def explain(error: psycopg.Error, servers: Servers) -> MarketplaceError | None:
    """Tell what is wrong with a database that answers; None where the fault is ours."""
    if isinstance(error, BUSY):
        return DatabaseBusy(LOCK_SECONDS)
    if (error.sqlstate or "").startswith(UNUSABLE):
        return DatabaseUnusable(servers.words(error))
    return None


class Database(Engine):
    """One PostgreSQL database, with one kept connection for each thread and process.

    What opens a connection late is a fork: none may be open in the forking thread then, nor does a child use
    what it inherited.
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
        with self.turn() as session:
            if not self._tables(session):
                self._make(session)
            self._found = self._look(session)
        _databases.add(self)

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
        row = session.execute(sql).fetchone()
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
        with self._changing(session):
            session.execute(translate_ddl(self.schema.sql))
            self._mark(session, self.schema.version)

    @contextmanager
    def _changing(self, session: Session) -> Iterator[None]:
        session.execute("BEGIN READ WRITE")
        try:
            yield
            session.execute("COMMIT")
        except BaseException:
            if not session.broken:
                session.execute("ROLLBACK")
            raise

    def _mark(self, session: Session, version: int) -> None:
        queries.mark_property(session, PROPERTY, str(version).encode())
        for name, value in self._owners.items():
            queries.insert_property(session, name, value.encode())

    def _look(self, session: Session) -> Found:
        """See of which version the database is, and whose. Raises DatabaseUnreadable."""
        if not self._tables(session) >= self.schema.tables | {"property"}:
            raise DatabaseUnreadable(
                f"{self.name} is not a database of this service: name another database"
            )
        row = queries.get_property(session, PROPERTY)
        try:
            version = parse_version(row and row["value"])
        except VersionUnknown as error:
            raise DatabaseUnreadable(
                f"{self.name} can not be used: {error}. Restore a backup"
            ) from error
        rows = [queries.get_property(session, name) for name in self._owners]
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

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One write transaction: committed at the end, durably, or rolled back whole.

        Raises DatabaseBusy or DatabaseUnusable, and DatabaseUnreachable: then it is not known which.
        """
        connection = self.connection
        connection.begin()
        try:
            yield connection
            connection.commit()
        finally:
            connection.rollback()

    def stamp(self) -> tuple[int, str, bytes] | None:
        """Another value after each commit, by whatever machine; None while the database is out of reach."""
        try:
            return self.connection.stamp()
        except (MarketplaceError, DatabaseUnreadable):
            return None

    def close(self) -> None:
        """Close the calling thread's own connection; it is opened again when it is needed."""
        self.connection.close()

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
            # Where it is interrupted, its last statement ends, too. A server on Windows can not.
            with suppress(errors.InvalidParameterValue):
                session.execute("SET client_connection_check_interval = '1s'")
            self._require_alone(session)
            for step in self.schema.steps_from(self._look(session).version):
                with self._changing(session):
                    for what, statement in step.statements:
                        tell(what)
                        session.execute(translate_ddl(statement))
                    self._mark(session, step.version)
            self._found = self._look(session)

    def fill(self, source: filling.Source, progress: filling.Progress) -> list[str]:
        """Take over all that another database of this version holds, in one transaction.

        Returns the rows that lost a NUL. Raises DatabaseInUse while a service or another command has it open,
        DatabaseUnreadable where it is not empty, or can not take all of it: then nothing was changed.
        DatabaseUnreachable: it is not known whether all was, or nothing.
        """
        self.close()
        self.require_current()
        with self.turn() as session:
            self._require_alone(session)
            try:
                with self._changing(session):
                    # Nothing bounds how long it takes, whatever the server's own settings are.
                    session.execute("SET LOCAL statement_timeout = 0")
                    session.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                    tables = self.schema.in_order
                    altered = filling.fill(session, self.name, tables, source, progress)
                    self._mark(session, self.schema.version)
                    progress.begin("Commit")
            except psycopg.Error as error:
                if session.broken or isinstance(error, LOST):
                    raise DatabaseUnreachable(self._servers.words(error)) from error
                raise
            return altered

    def _require_alone(self, session: Session) -> None:
        """See that nobody else has it open, nor opens it until this session ends."""
        sql = "SELECT pg_try_advisory_lock(:lock, hashtext(current_schema())) AS is_alone"
        if not session.execute(sql, {"lock": USE}).fetchone()["is_alone"]:
            raise DatabaseInUse(f"{self.name} is in use: a service or another command has it open")

    @property
    def path(self):
        raise NoFile(
            f"{self.name} is no file: pg_dump copies it and pg_restore brings it back, and the server's own"
            " archive goes back to any moment. docs/operating.md has the commands"
        )

    def contents(self):
        raise NoFile(f"{self.name} is no SQLite file: pg_dump and pg_restore move it")


def _wait_for_ever(session: Session) -> None:
    """Whatever patience an operator has given the role, or the database."""
    session.patience = None
    for name in ("lock_timeout", "statement_timeout", "idle_session_timeout"):
        session.execute(f"SET {name} = 0")


class Leadership:
    """What one of all machines has at a time. Who has it and falls silent loses it within half a minute."""

    def __init__(self, servers: Servers, name: str) -> None:
        self._servers = servers
        self._name = name
        self._session: Session | None = None
        self._turn = threading.Lock()
        self._over = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def take(self) -> bool:
        """Have it, from now on or still. Raises DatabaseUnreachable."""
        with self._turn:
            if self._has_it():
                return True
            session = self._servers.connect()
            try:
                session.execute(f"SET idle_session_timeout = '{LEADER_SECONDS}s'")
                sql = """
                    SELECT pg_try_advisory_lock(:lock, hashtext(current_schema() || :name)) AS is_ours
                """
                parameters = {"lock": LEAD, "name": f".{self._name}"}
                if session.execute(sql, parameters).fetchone()["is_ours"]:
                    self._session, session = session, None
                    return True
                return False
            except psycopg.Error as error:
                raise DatabaseUnreachable(self._servers.words(error)) from error
            finally:
                if session is not None:
                    session.close()

    def _has_it(self) -> bool:
        """Say a word to the server, which says whether the session lives."""
        try:
            return self._session is not None and bool(self._session.execute("SELECT 1").fetchone())
        except psycopg.Error:
            self._session.close()
            self._session = None
            return False

    def _beat(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            with self._turn:
                self._has_it()

    def close(self) -> None:
        self._over.set()
        with self._turn:
            if self._session is not None:
                self._session.close()


def translate_ddl(sql: str) -> str:
    for pattern, replacement in DDL.items():
        sql = re.sub(pattern, replacement, sql)
    return sql


def _close_all() -> None:
    for database in list(_databases):
        database.close()


def _renew_all() -> None:
    for database in list(_databases):
        database._servers.renew()


os.register_at_fork(before=_close_all, after_in_child=_renew_all)
