"""One thread's connection to the primary: statements of queries.py, and what becomes of them without it."""

import os
import select
from collections.abc import Callable, Iterator, Mapping, Sequence

import psycopg
from psycopg import errors
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from marketplace.errors import DatabaseUnreachable
from marketplace.store.postgresql.servers import (
    ANSWER_SECONDS,
    LOST,
    Servers,
    Session,
    explain,
    translate,
)

BEGIN, COMMIT = "BEGIN READ WRITE", "COMMIT"


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
        session = self._session
        if session and session.moves != self._servers.moves and not self._is_writing:
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

    def data_version(self) -> tuple[int, str, bytes]:
        """Which server it is, since when, and what it shows. Raises DatabaseUnreachable.

        A server that has lost a process counts its transactions anew, from the last that it knows to be done,
        and ends all sessions: so those that were begun are counted, too.
        """
        return self._ask_twice(self._read_data_version)

    def _read_data_version(self) -> tuple[int, str, bytes]:
        self._ready()
        # Before it is asked: what is begun after the answer says nothing of it.
        connected = self._servers.connected
        result = self._run("SELECT pg_current_snapshot()")
        return connected, self._started, result.get_value(0, 0)
