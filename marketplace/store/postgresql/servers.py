"""The servers of a database: which one is the primary, how long they are waited for, and what they say."""

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import abc, errors, generators
from psycopg.abc import RV, PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult
from psycopg.rows import DictRow, dict_row

from marketplace.errors import (
    DatabaseBusy,
    DatabaseUnreachable,
    DatabaseUnusable,
    MarketplaceError,
)
from marketplace.store.database_errors import DatabaseUnreadable

# Seconds. Whoever asks us for something is answered within five, whatever the servers do.
ANSWER_SECONDS = 3  # for each answer of the server
LOCK_SECONDS = 2  # for another transaction's lock
FIND_SECONDS = 3  # to begin with another server, where the first ones were not the primary
AGAIN_SECONDS = 1  # after it was not found, until it is looked for again

BEGIN, COMMIT, ROLLBACK = "BEGIN READ WRITE", "COMMIT", "ROLLBACK"
Row = dict[str, Any]

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
CLIENT: dict[str, Any] = {
    "application_name": "nft-marketplace-service",
    "client_encoding": "UTF8",
    "target_session_attrs": "primary",
    "connect_timeout": 2,
}
# SQLSTATEs that no session survives, and those of a server that is no longer the primary.
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
# Classes of SQLSTATE: insufficient resources, errors of the system around the server, and what an
# operator has taken away: privileges, tables, the schema.
UNUSABLE = ("53", "58", "42501", "42P01", "3F000")

# One @ at most, before the first slash: where a password holds these as they are, libpq takes the rest of it
# for a host, a port or a name, and repeats it.
ADDRESS = re.compile(r"postgresql://([^@/]*@)?[^@?]*([?].*)?")
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

# The first half of the keys of our advisory locks; the other half is of the schema.
TURN = 0x6E66746D  # "nftm": who makes the tables, or upgrades them
LEAD = TURN + 1  # who is the one of all machines that does something
EMIT = TURN + 3  # who writes events, until its transaction is visible
USE = TURN + 2  # shared by all who read and write; who upgrades has it alone

# Its warnings are raised as well, such as that it could not end what was under way.
logging.getLogger("psycopg").setLevel(logging.ERROR)


@cache
def translate(sql: str) -> tuple[str, tuple[str, ...]]:
    """Write a statement's parameters as PostgreSQL reads them: ``$1`` is the first of the names."""
    names: dict[str, int] = {}
    text = re.sub(
        r"(?<!:):([a-z_][a-z0-9_]*)\b",
        lambda match: f"${names.setdefault(match[1], len(names) + 1)}",
        sql,
    )
    return text, tuple(names)


class Answer:
    """The rows of a statement, with the methods of a cursor."""

    def __init__(self, result: PGresult, adapter: abc.Transformer) -> None:
        adapter.set_pgresult(result)
        columns = [(result.fname(i) or b"").decode() for i in range(result.nfields)]
        make_row: Callable[..., Row] = lambda row: dict(zip(columns, row))  # noqa: B905, E731
        self._rows = iter(adapter.load_rows(0, result.ntuples, make_row))
        self.rowcount = result.command_tuples or 0

    def __iter__(self) -> Iterator[Row]:
        return self._rows

    def fetchone(self) -> Row | None:
        return next(self._rows, None)

    def fetchall(self) -> list[Row]:
        return list(self._rows)


class Session(psycopg.Connection[DictRow]):
    """One connection to the primary, for statements with named parameters.

    It runs a request's statements without a cursor of the library, which would cost as much again.
    """

    patience: float | None = ANSWER_SECONDS  # for each answer of its server; None: for ever
    host: dict[str, str]  # of those that the address names
    era: int  # of the servers, when it was made
    number: int  # of all that were made
    started: str  # when its server did

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._process = os.getpid()
        self._adapter: abc.Transformer = Transformer(self)
        self._statements: dict[str, bytes] = {}  # statements, and their names

    def execute(
        self, query: Any, params: Any = None, *, prepare: bool | None = None, binary: bool = False
    ) -> psycopg.Cursor[DictRow]:
        if params is not None:
            query, names = translate(query)
            params = [params[name] for name in names]
        return super().execute(query, params, prepare=prepare, binary=binary)

    def run(self, sql: str, parameters: Mapping[str, object]) -> Answer:
        """Run a statement. It is prepared the first time, but for those about a transaction."""
        if sql in (BEGIN, COMMIT, ROLLBACK):
            self.pgconn.send_query(sql.encode())
        else:
            values = [parameters[name] for name in translate(sql)[1]]
            name = self._statements.get(sql) or self._prepare(sql)
            dumped = self._adapter.dump_sequence(values, [PyFormat.TEXT] * len(values))
            self.pgconn.send_query_prepared(name, dumped)
        return Answer(self._receive(), self._adapter)

    def _prepare(self, sql: str) -> bytes:
        name = b"%d" % len(self._statements)
        self.pgconn.send_prepare(name, translate(sql)[0].encode())
        self._receive()
        self._statements[sql] = name
        return name

    def _receive(self) -> PGresult:
        results: list[PGresult] = self.wait(generators.execute(self.pgconn))
        if not results:
            raise psycopg.OperationalError("the server ended the connection")
        if results[-1].status == ExecStatus.FATAL_ERROR:
            raise errors.error_from_result(results[-1])
        return results[-1]

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        return super().wait(gen, interval, self.patience if timeout is None else timeout)

    def close(self) -> None:
        # A child that was forked beside its thread shares the socket, and must not end the session.
        if self._process == os.getpid():
            super().close()


class Servers:
    """The servers that an address names. Finds the primary among them, which may be another one by now."""

    def __init__(self, url: str, called: str) -> None:
        """``called`` is the address in sentences. Raises DatabaseUnreadable where it makes no sense."""
        try:
            given: dict[str, Any] = conninfo_to_dict(url)
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
        self._failure: tuple[float, str] = 0, ""  # until when nobody tries, and why
        self._silent: tuple[float, dict[str, str]] = 0, {}
        self._primary: dict[str, str] | None = None
        self.era = 0  # another one when a server is given up, or another one is the primary
        self.connected = 0  # how often

    def connect(self) -> Session:
        """Connect to the primary. Raises DatabaseUnreachable; at once, where another thread just tried."""
        with self._connecting:
            until, reason = self._failure
            if time.monotonic() < until:
                raise DatabaseUnreachable(reason)
            try:
                return self._find_primary()
            except psycopg.Error as error:
                reason = self.words(error)
                self._failure = time.monotonic() + AGAIN_SECONDS, reason
                raise DatabaseUnreachable(reason) from error

    def give_up(self, session: Session) -> None:
        """Leave the server of a session, which has just said nothing; try the others for a moment."""
        if session.era == self.era:
            self._silent = time.monotonic() + AGAIN_SECONDS, session.host
            self.era += 1

    def _find_primary(self) -> Session:
        until = time.monotonic() + FIND_SECONDS
        reasons = []
        for host in list(self._hosts):
            silent_until, silent = self._silent
            if silent is host and time.monotonic() < silent_until:
                reasons.append(f"{_written(host)} gave no answer within {ANSWER_SECONDS} s")
            else:
                try:
                    return self._connect_to(host)
                except psycopg.Error as error:
                    reasons.append(self.words(error))
            self._hosts.append(self._hosts.pop(0))  # the next thread begins with another one
            if time.monotonic() > until:
                break
        raise psycopg.OperationalError("; ".join(reasons))

    def _connect_to(self, host: dict[str, str]) -> Session:
        session = Session.connect(
            **self._common | host,
            autocommit=True,
            cursor_factory=psycopg.RawCursor,
            row_factory=dict_row,
        )
        session.read_only = False  # a transaction is begun to write
        self._failure = 0, ""
        sql = "SELECT pg_postmaster_start_time()::text AS started"
        session.started = session.execute(sql).fetchall()[0]["started"]
        if self._primary not in (None, host):
            self.era += 1
        self._primary = host
        self.connected += 1
        session.host, session.era, session.number = host, self.era, self.connected
        return session

    def words(self, error: psycopg.Error | str) -> str:
        """The server's own words, in one line, without the password."""
        primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        words = " ".join((primary or str(error)).split())
        if not self._password:
            return words
        return re.sub(rf"(?<!\w){re.escape(self._password)}(?!\w)", "...", words)

    def after_fork(self) -> None:
        self._connecting = threading.Lock()


def _split_hosts(given: dict[str, Any], called: str) -> list[dict[str, str]]:
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


def _are_ports(ports: object) -> bool:
    return all(re.fullmatch("[0-9]{0,5}", port) for port in str(ports).split(","))


def _written(host: dict[str, str]) -> str:
    name = quote(host.get("host") or host.get("hostaddr") or "", safe=":@")  # a socket's folder
    name = f"[{name}]" if ":" in name else name
    return f"{name}:{host['port']}" if host.get("port") else name


def explain(error: psycopg.Error, servers: Servers) -> MarketplaceError | None:
    """Tell what is wrong with a database that answers; None where the fault is ours."""
    if isinstance(error, BUSY):
        return DatabaseBusy()
    if (error.sqlstate or "").startswith(UNUSABLE):
        return DatabaseUnusable(servers.words(error))
    return None
