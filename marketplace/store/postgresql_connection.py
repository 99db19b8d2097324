"""A connection to PostgreSQL's primary: runs our statements, and explains its errors."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import psycopg
from psycopg import errors
from psycopg.abc import RV, PQGen
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow

from marketplace.errors import DatabaseBusy, DatabaseUnreachable, DatabaseUnusable
from marketplace.store.connection import NOTHING

ANSWER_SECONDS = 3  # for each answer; after that, the server counts as lost
# Errors that end a session, and the error of a server that is no longer the primary.
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
# Classes of SQLSTATE: insufficient resources, errors of the server's system, and privileges, tables or a
# schema that an operator has removed.
UNUSABLE = ("53", "58", "42501", "42P01", "3F000")


class PostgreSQLCursor(psycopg.Cursor[DictRow]):
    """Runs statements with named parameters in SQLite's form: ``:name``.

    If ``params`` is None, the query may be several statements, and is not prepared.
    """

    def execute(
        self, query: Any, params: Any = None, *, prepare: bool | None = None, binary: Any = None
    ) -> "PostgreSQLCursor":
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
    """One connection to the primary."""

    numbers = itertools.count()
    answer_seconds: float | None = ANSWER_SECONDS  # None: no limit
    number: int  # no other session of this process, or of its parent, has it

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Wait for an answer, by default for at most ``answer_seconds``.

        TCP detects a lost machine, but not a hung server, and libpq has no limit for that.
        """
        return super().wait(gen, interval, self.answer_seconds if timeout is None else timeout)

    def __del__(self, *_: Any) -> None:
        """Do not warn: the session's thread has ended, or it belongs to a parent process. libpq closes it."""


class PostgreSQLConnection:
    """A thread's connection to the primary: opened on demand, closed after an error, and opened again.

    Outside of a transaction a statement can only read, so it is repeated once on a new session. Inside a
    transaction nothing is repeated: its fate is unknown. The rows of a statement must be read before the next
    statement.
    """

    def __init__(self, connect: Callable[[], Session]) -> None:
        self._connect = connect
        self._session: Session | None = None
        self._cursor: PostgreSQLCursor  # kept: a new one for each would take a third of a statement
        self._is_writing = False

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def execute(self, sql: str, parameters: Mapping[str, object] = NOTHING, /) -> PostgreSQLCursor:
        """Run one statement. Raises DatabaseUnreachable, DatabaseBusy or DatabaseUnusable."""
        is_new = self._session is None
        try:
            return self._run(sql, parameters)
        except DatabaseUnreachable:
            if self._is_writing or is_new:
                raise
        return self._run(sql, parameters)

    def _run(self, sql: str, parameters: Mapping[str, object] | None) -> PostgreSQLCursor:
        session = self._session or self._open()
        try:
            return self._cursor.execute(sql, parameters)
        except psycopg.Error as error:
            raise self._explain(error, session) from error
        except BaseException:
            self.close()  # the answer of an interrupted statement is still unread
            raise

    def _open(self) -> Session:
        if self._is_writing:
            raise DatabaseUnreachable("the connection was lost in the transaction")
        session = self._session = self._connect()
        self._cursor = PostgreSQLCursor(session)
        return session

    def _explain(self, error: psycopg.Error, session: Session) -> Exception:
        """Close a lost session. Return the error for the client, or the error itself if it is a bug."""
        is_silent = session.info.transaction_status is TransactionStatus.ACTIVE
        if is_silent or session.broken or isinstance(error, LOST):
            self.close()
            return DatabaseUnreachable(words(error))
        if isinstance(error, BUSY):
            return DatabaseBusy()
        if (error.sqlstate or "").startswith(UNUSABLE):
            return DatabaseUnusable(words(error))
        return error

    @contextmanager
    def transaction(self) -> Iterator["PostgreSQLConnection"]:
        """A write transaction: committed at the end, or rolled back."""
        self.execute("BEGIN READ WRITE")
        self._is_writing = True
        try:
            yield self
            self._run("SET LOCAL statement_timeout = 0; COMMIT", None)
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._is_writing = False

    def _roll_back(self) -> None:
        if self._session is not None:
            try:
                self._session.execute("ROLLBACK")
            except psycopg.Error:
                self.close()  # the server rolls back by itself

    def data_version(self) -> tuple[int, str]:
        """The number of the session, and the server's snapshot. Raises DatabaseUnreachable.

        After a crash, a server may reuse transaction numbers. But it also ends all sessions, which changes
        the session's number.
        """
        [row] = self.execute("SELECT pg_current_snapshot() AS snapshot").fetchall()
        return self._session.number if self._session else -1, row["snapshot"]


def words(error: psycopg.Error) -> str:
    """The server's own message, in one line."""
    return " ".join((error.diag.message_primary or str(error)).split())
