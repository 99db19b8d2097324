"""The servers of a database: which one is the primary, how long they are waited for, and what they say."""

import logging
import os
import re
import threading
import time
from functools import cache
from urllib.parse import quote

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

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
CONNECT_SECONDS = 4  # to find the primary among the servers; each has two
AGAIN_SECONDS = 1  # after it was not found, until it is looked for again

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

# The first half of the keys of our advisory locks; the other half is of the schema.
TURN = 0x6E66746D  # "nftm": who makes the tables, or upgrades them
LEAD = TURN + 1  # who is the one of all machines that does something
USE = TURN + 2  # shared by all who read and write; who upgrades has it alone

# What it warns of, such as that it could not end what was under way, is raised as well.
logging.getLogger("psycopg").setLevel(logging.ERROR)


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
    moves: int  # of the primary, until it was found here

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
                session.moves = self.moves
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


def explain(error: psycopg.Error, servers: Servers) -> MarketplaceError | None:
    """Tell what is wrong with a database that answers; None where the fault is ours."""
    if isinstance(error, BUSY):
        return DatabaseBusy()
    if (error.sqlstate or "").startswith(UNUSABLE):
        return DatabaseUnusable(servers.words(error))
    return None
