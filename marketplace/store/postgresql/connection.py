"""One connection to the primary, made again where it was lost."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import psycopg
from psycopg.pq import TransactionStatus

from marketplace.errors import DatabaseUnreachable
from marketplace.store.postgresql.servers import (
    BEGIN,
    COMMIT,
    LOST,
    ROLLBACK,
    Answer,
    Servers,
    Session,
    explain,
)
from marketplace.store.rows import NOTHING


class Connection:
    """One connection to the primary, opened when it is needed, and again where it was lost.

    Outside of a transaction a statement can only read, so it is repeated once on a new connection. Inside
    of one nothing is repeated: nobody knows what became of it.
    """

    def __init__(self, connect: Callable[[], Session], servers: Servers) -> None:
        self._connect = connect
        self._servers = servers
        self._session: Session | None = None
        self._is_writing = False

    def __del__(self) -> None:
        self.close()  # its thread has ended

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def execute(self, sql: str, parameters: Mapping[str, object] = NOTHING, /) -> Answer:
        """Run one statement. Raises DatabaseUnreachable, DatabaseBusy or DatabaseUnusable."""
        was_open = self._session is not None
        try:
            return self._run(sql, parameters)
        except DatabaseUnreachable:
            if self._is_writing or not was_open:
                raise
        return self._run(sql, parameters)

    def _run(self, sql: str, parameters: Mapping[str, object] = NOTHING) -> Answer:
        session = self._open()
        try:
            return session.run(sql, parameters)
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
        if session is None or (session.era != self._servers.era and not self._is_writing):
            self.close()
            session = self._session = self._connect()
        return session

    def _explain(self, error: psycopg.Error, session: Session) -> Exception:
        """Close what is lost, and say what a caller is told; the error itself where the fault is ours."""
        is_silent = session.info.transaction_status is TransactionStatus.ACTIVE
        if is_silent:
            self._servers.give_up(session)
        if is_silent or session.broken or isinstance(error, LOST):
            self.close()
            return DatabaseUnreachable(self._servers.words(error))
        return explain(error, self._servers) or error

    @contextmanager
    def transaction(self) -> Iterator["Connection"]:
        """Commit what is written, or undo all of it."""
        self.execute(BEGIN)
        self._is_writing = True
        try:
            yield self
            self._run(COMMIT)
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._is_writing = False

    def _roll_back(self) -> None:
        if self._session is not None:
            try:
                self._session.run(ROLLBACK, NOTHING)
            except psycopg.Error:
                self.close()  # the server undoes it by itself

    def data_version(self) -> tuple[int, str, str]:
        """The server's start and what it shows, and how many connections were made to servers before.

        A server that has lost a process counts its transactions anew, from the last that it knows to be done,
        and ends all connections: so these are counted, too. Raises DatabaseUnreachable.
        """
        connected = self._servers.connected
        [row] = self.execute("SELECT pg_current_snapshot() AS snapshot").fetchall()
        session = self._session
        if session is None:
            raise DatabaseUnreachable("the connection was lost")
        return max(connected, session.number), session.started, row["snapshot"]
