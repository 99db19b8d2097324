"""A thread's connection to the primary, made again where it was lost."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus

from marketplace.errors import DatabaseBusy, DatabaseUnreachable, DatabaseUnusable
from marketplace.store.postgresql.servers import Cursor, Servers, Session, translate, words
from marketplace.store.rows import NOTHING

# Errors that no session survives, and that of a server which is no longer the primary.
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
# Classes of SQLSTATE: insufficient resources, errors of the system around the server, and what an
# operator has taken away: privileges, tables, the schema.
UNUSABLE = ("53", "58", "42501", "42P01", "3F000")


class Connection:
    """One connection to the primary, opened when it is needed, and again where it was lost.

    Outside of a transaction a statement can only read, so it is repeated once on a new connection. Inside
    of one nothing is repeated: nobody knows what became of it. The rows of a statement are read before the
    next one.
    """

    def __init__(self, connect: Callable[[], Session], servers: Servers, opened: int = 0) -> None:
        self._connect = connect
        self._servers = servers
        self._session: Session | None = None
        self.opened = opened  # how often
        self._cursor: Cursor  # of the session: one for each statement would cost a third of it
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
            self.close()  # an interrupted statement has left its answer behind
            raise

    def _open(self) -> Session:
        """Return the session: a new one where the old one was lost, or its server was given up."""
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
        """Close what is lost, and say what a caller is told; the error itself where the fault is ours."""
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
        """Commit what is written, or undo all of it."""
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
                self.close()  # the server undoes it by itself

    def execute_at_commit(self, sql: str, parameters: Mapping[str, object]) -> None:
        """Send a statement in one message with COMMIT: nobody who waits for its lock waits for us."""
        cursor = psycopg.ClientCursor(self._open())
        self._at_commit.append(cursor.mogrify(translate(sql), parameters))

    def data_version(self) -> tuple[int, str]:
        """The connection, and what its server shows. Raises DatabaseUnreachable.

        A server that has lost a process counts its transactions anew, from the last that it knows to be done;
        but it ends all connections.
        """
        [row] = self.execute("SELECT pg_current_snapshot() AS snapshot").fetchall()
        return self.opened, row["snapshot"]
