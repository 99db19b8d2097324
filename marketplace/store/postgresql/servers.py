"""The servers of a database: how their primary is found, and how long they are waited for."""

import logging
import re
import threading
import time
from functools import cache
from typing import Any

import psycopg
from psycopg.abc import RV, PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg.types.numeric import Int8Dumper

from marketplace.errors import DatabaseUnreachable
from marketplace.store.database_errors import DatabaseUnreadable

# Seconds.
ANSWER_SECONDS = 3  # for each answer of the server, which is silent then
STATEMENT_SECONDS = 2.5  # for each statement but COMMIT: the server says so itself
LOCK_SECONDS = 2  # for another transaction's lock
CONNECT_SECONDS = 2  # to connect to each server
AGAIN_SECONDS = 1  # after no primary was found, until it is looked for again

# A session reads, and no more, until a transaction says that it writes.
SESSION = {
    "default_transaction_read_only": "on",
    "lock_timeout": f"{LOCK_SECONDS}s",
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "idle_in_transaction_session_timeout": "10s",
    # A client whose machine is lost without a word keeps its locks for half a minute, not for hours.
    "tcp_keepalives_idle": 15,
    "tcp_keepalives_interval": 5,
    "tcp_keepalives_count": 3,
}
CLIENT: dict[str, Any] = {
    "application_name": "nft-marketplace-service",
    "client_encoding": "UTF8",
    "target_session_attrs": "primary",
    "connect_timeout": CONNECT_SECONDS,
}
# One @ at most, before the first slash: where a password holds these as they are, libpq takes the rest of it
# for a host, a port or a name, and repeats it.
ADDRESS = re.compile(r"postgresql://([^@/]*@)?[^@?]*([?].*)?")

# Its warnings are raised as well, such as that it could not end what was under way.
logging.getLogger("psycopg").setLevel(logging.ERROR)


class Cursor(psycopg.Cursor[DictRow]):
    """Runs statements with named parameters as SQLite writes them: ``:name``.

    What comes without any, not even none, is not prepared: it may be several statements.
    """

    def execute(
        self, query: Any, params: Any = None, *, prepare: bool | None = None, binary: Any = None
    ) -> "Cursor":
        if params is None:
            prepare = False
        else:
            query = translate(query)
        return super().execute(query, params, prepare=prepare, binary=binary)


@cache
def translate(sql: str) -> str:
    """Write a statement's parameters as psycopg reads them."""
    return re.sub(r"(?<!:):([a-z_][a-z0-9_]*)\b", r"%(\1)s", sql.replace("%", "%%"))


class Session(psycopg.Connection[DictRow]):
    """One connection to the primary. It waits for an answer for so long, and no longer."""

    answer_seconds: float | None = ANSWER_SECONDS  # None: for ever
    generation: int  # of the servers, when it was made

    def __del__(self, *_: Any) -> None:
        """Its thread has ended, or it was a parent's: libpq closes it in the process that opened it."""

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        return super().wait(gen, interval, self.answer_seconds if timeout is None else timeout)


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
        settings = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
        given["options"] = f"{given.get('options', '')} {settings}".strip()
        self._address = given | CLIENT
        self.name = re.sub("//[^@/]*@", "//", url).partition("?")[0]
        self._connecting = threading.Lock()
        self._failure: tuple[float, str] = 0, ""  # until when nobody tries, and why
        self._primary: tuple[str, int] | None = None
        self.generation = 0  # another one when a server is given up, or another one is the primary

    def connect(self) -> Session:
        """Connect to the primary. Raises DatabaseUnreachable; at once, where another thread just tried."""
        with self._connecting:
            until, reason = self._failure
            if time.monotonic() < until:
                raise DatabaseUnreachable(reason)
            try:
                return self._find_primary()
            except psycopg.Error as error:
                self._failure = time.monotonic() + AGAIN_SECONDS, words(error)
                raise DatabaseUnreachable(words(error)) from error

    def _find_primary(self) -> Session:
        session = Session.connect(
            **self._address,
            autocommit=True,
            cursor_factory=Cursor,
            row_factory=dict_row,
            prepare_threshold=0,
        )
        session.adapters.register_dumper(int, Int8Dumper)  # one type, or each has a plan of its own
        session.read_only = False  # a transaction is begun to write
        self._failure = 0, ""
        primary = session.info.host, session.info.port
        if self._primary not in (None, primary):
            self.generation += 1
        self._primary = primary
        self._ask_first(*primary)
        session.generation = self.generation
        return session

    def give_up(self, session: Session) -> None:
        """Leave the server of a session, which has just said nothing: no thread waits for it again."""
        with self._connecting:
            if session.generation == self.generation:
                self.generation += 1
                self._ask_first_server_last()

    def _ask_first(self, host: str, port: int) -> None:
        """Begin with this server from now on."""
        for _ in str(self._address.get("host", "")).split(","):
            first = [str(self._address.get(name, "")).split(",")[0] for name in ("host", "port")]
            if first in ([host, str(port)], [host, ""]):
                break
            self._ask_first_server_last()

    def _ask_first_server_last(self) -> None:
        for name in ("host", "hostaddr", "port"):
            first, *others = str(self._address.get(name, "")).split(",")
            if others:
                self._address[name] = ",".join([*others, first])

    def after_fork(self) -> None:
        self._connecting = threading.Lock()


def words(error: psycopg.Error) -> str:
    """The server's own words, in one line."""
    return " ".join((error.diag.message_primary or str(error)).split())


def _are_ports(ports: object) -> bool:
    return all(re.fullmatch("[0-9]{0,5}", port) for port in str(ports).split(","))
