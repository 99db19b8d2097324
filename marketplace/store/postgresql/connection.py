"""A thread's connection to the primary, which reconnects after a loss."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus

from marketplace.errors import DatabaseBusy, DatabaseUnreachable, DatabaseUnusable
from marketplace.store.postgresql.servers import Cursor, Servers, Session, translate, words
from marketplace.store.rows import NOTHING

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
UNHURRIED = "SET LOCAL statement_timeout = 0"
# Classes of SQLSTATE: insufficient resources, errors of the server's system, and privileges, tables or a
# schema that an operator has removed.
UNUSABLE = ("53", "58", "42501", "42P01", "3F000")


class Connection:
    """One connection to the primary, opened on demand, and again after a loss.

    Outside of a transaction a statement can only read, so it is repeated once on a new connection. Inside a
    transaction nothing is repeated: its fate is unknown. The rows of a statement must be read before the next
    statement.
    """

    def __init__(self, connect: Callable[[], Session], servers: Servers, opened: int = 0) -> None:
        self._connect = connect
        self._servers = servers
        self._session: Session | None = None
        self.opened = opened  # how many times
        self._cursor: Cursor  # kept: a new one for each would take a third of a statement
        self._is_writing = False
        self._at_commit: list[str] = []

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def execute(self, sql: str, parameters: Mapping[str, object] = NOTHING, /) -> Cursor:
        """Run one statement. Raises DatabaseUnreachable, DatabaseBusy or DatabaseUnusable."""
        was_open = self._session is not None
        try:
            return self._run(sql, parameters)
        except DatabaseUnreachable:
            if self._is_writing or not was_open:
                raise
        return self._run(sql, parameters)

    def _run(self, sql: str, parameters: Mapping[str, object] | None) -> Cursor:
        session = self._open()
        try:
            return self._cursor.execute(sql, parameters)
        except psycopg.Error as error:
            raise self._explain(error, session) from error
        except BaseException:
            self.close()  # the answer of an interrupted statement is still unread
            raise

    def _open(self) -> Session:
        """Return the session. If it was lost, or its server was given up, open a new one."""
        session = self._session
        if self._is_writing and session is None:
            raise DatabaseUnreachable("the connection was lost in the transaction")
        is_left = session and session.generation != self._servers.generation
        if session is None or (is_left and not self._is_writing):
            self.close()
            session = self._session = self._connect()
            self._cursor = Cursor(session)
            self.opened += 1
        return session

    def _explain(self, error: psycopg.Error, session: Session) -> Exception:
        """Close a lost session. Return the error for the client, or the error itself if it is a bug."""
        is_silent = session.info.transaction_status is TransactionStatus.ACTIVE
        if is_silent:
            self._servers.give_up(session)
        if is_silent or session.broken or isinstance(error, LOST):
            self.close()
            return DatabaseUnreachable(words(error))
        if isinstance(error, BUSY):
            return DatabaseBusy()
        if (error.sqlstate or "").startswith(UNUSABLE):
            return DatabaseUnusable(words(error))
        return error

    @contextmanager
    def transaction(self) -> Iterator["Connection"]:
        """A write transaction: committed at the end, or rolled back."""
        self.execute("BEGIN READ WRITE")
        self._is_writing = True
        try:
            yield self
            self._run("; ".join([*self._at_commit, UNHURRIED, "COMMIT"]), None)
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._is_writing = False
            self._at_commit = []

    def _roll_back(self) -> None:
        if self._session is not None:
            try:
                self._session.execute("ROLLBACK")
            except psycopg.Error:
                self.close()  # the server rolls back by itself

    def execute_at_commit(self, sql: str, parameters: Mapping[str, object]) -> None:
        """Send a statement in one message with COMMIT, so that others wait for its lock only briefly."""
        cursor = psycopg.ClientCursor(self._open())
        self._at_commit.append(cursor.mogrify(translate(sql), parameters))

    def data_version(self) -> tuple[int, str]:
        """The number of the connection, and the server's snapshot. Raises DatabaseUnreachable.

        After a crash, a server counts transactions again from the last one that it knows to be done. But it
        also ends all connections, which changes the number.
        """
        [row] = self.execute("SELECT pg_current_snapshot() AS snapshot").fetchall()
        return self.opened, row["snapshot"]
