"""A role that one machine of all has at a time."""

import threading

import psycopg

from marketplace.errors import DatabaseUnreachable
from marketplace.store.postgresql.servers import LEAD, Servers, Session

# Seconds.
LEADER_SECONDS = 20  # without a word from a leader, until its server takes it for dead
BEAT_SECONDS = 5  # between two words of it


class Leadership:
    """A role that one machine has at a time. A silent holder loses it within half a minute."""

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
                [row] = session.execute(sql, parameters).fetchall()
            except psycopg.Error as error:
                session.close()
                raise DatabaseUnreachable(self._servers.words(error)) from error
            if row["is_ours"]:
                self._session = session
            else:
                session.close()
            return self._session is not None

    def _has_it(self) -> bool:
        """Say a word to the server, which says whether the session lives."""
        if self._session is None:
            return False
        try:
            self._session.execute("SELECT 1")
            return True
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
