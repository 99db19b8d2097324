"""The servers of a database: finds the primary, and limits how long we wait for it."""

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
ANSWER_SECONDS = 3  # for each answer; later the server counts as silent
STATEMENT_SECONDS = 2.5  # for each statement except COMMIT: the server ends it itself
LOCK_SECONDS = 2  # for another transaction's lock
CONNECT_SECONDS = 2  # to connect to each server
AGAIN_SECONDS = 1  # after no primary was found, until the next search

# A session can only read until a transaction begins to write.
SESSION = {
    "default_transaction_read_only": "on",
    "lock_timeout": f"{LOCK_SECONDS}s",
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "idle_in_transaction_session_timeout": "10s",
    # If a client's machine disappears, its locks end after half a minute, not after hours.
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
# At most one @, before the first slash. If a password has an unescaped @ or /, libpq takes the rest of it for
# a host, a port or a name, and repeats it in messages.
ADDRESS = re.compile(r"postgresql://([^@/]*@)?[^@?]*([?].*)?")


class Cursor(psycopg.Cursor[DictRow]):
    """Runs statements with named parameters in SQLite's form: ``:name``.

    If ``params`` is None, the query may be several statements, and is not prepared.
    """

    def execute(
        self, query: Any, params: Any = None, *, prepare: bool | None = None, binary: Any = None
    ) -> "Cursor":
        if params is None:
            prepare = False
        else:
            query = translate(query)
        return super().execute(query, params, prepare=prepare, binary=binary)

    def executemany(self, query: Any, params_seq: Any, *, returning: bool = False) -> None:
        super().executemany(translate(query), params_seq, returning=returning)


@cache
def translate(sql: str) -> str:
    """Rewrite a statement's ``:name`` parameters in psycopg's form."""
    return re.sub(r"(?<!:):([a-z_][a-z0-9_]*)\b", r"%(\1)s", sql.replace("%", "%%"))


class Session(psycopg.Connection[DictRow]):
    """One connection to the primary. It waits at most ``answer_seconds`` for an answer."""

    answer_seconds: float | None = ANSWER_SECONDS  # None: no limit
    generation: int  # Servers.generation when it was made

    def __del__(self, *_: Any) -> None:
        """Do not warn: its thread has ended, or it was a parent's. libpq closes it in its own process."""

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        return super().wait(gen, interval, self.answer_seconds if timeout is None else timeout)


class Servers:
    """The servers in an address. Finds the primary among them, which may change."""

    def __init__(self, url: str, called: str) -> None:
        """``called``: the name of the address in messages. Raises DatabaseUnreadable if it is malformed."""
        try:
            given: dict[str, Any] = conninfo_to_dict(url)
        except (psycopg.ProgrammingError, UnicodeError):
            given = {}
        if not given or not ADDRESS.fullmatch(url) or not _are_ports(given.get("port", "")):
            # The message quotes neither the library nor the address: they may have the password.
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
        self._failure: tuple[float, str] = 0, ""  # until when no thread tries again, and why
        self._primary: tuple[str, int] | None = None
        self.generation = 0  # grows when a server is given up, or the primary changes

    def connect(self) -> Session:
        """Connect to the primary. Raises DatabaseUnreachable, at once if another thread has just failed."""
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
        session.adapters.register_dumper(int, Int8Dumper)  # one type: one plan
        session.read_only = False  # session.transaction() is READ WRITE
        self._failure = 0, ""
        primary = session.info.host, session.info.port
        if self._primary not in (None, primary):
            self.generation += 1
        self._primary = primary
        self._ask_first(*primary)
        session.generation = self.generation
        return session

    def give_up(self, session: Session) -> None:
        """Give up the server of a session that did not answer, so that no other thread waits for it."""
        with self._connecting:
            if session.generation == self.generation:
                self.generation += 1
                self._ask_first_server_last()

    def _ask_first(self, host: str, port: int) -> None:
        """From now on, try this server first."""
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
    """The server's own message, in one line."""
    return " ".join((error.diag.message_primary or str(error)).split())


def _are_ports(ports: object) -> bool:
    return all(re.fullmatch("[0-9]{0,5}", port) for port in str(ports).split(","))
