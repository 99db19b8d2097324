"""How an answer is kept, and why it can never be stale: a WSGI layer in front of the application.

The database has a stamp: another one after each commit, of whomever. It is read at the beginning of each
request under /v1. An answer is kept with the stamp that was read before it was made, and with the row that it
was made of. While the stamp is the same, nothing was committed, and the answer is given again.

Where it has moved, the row is read again. If it is the same, so is the answer, which is kept with the stamp
that was read before the row. If not, or where no row was noted, as of a list, the application answers.

What a token may is kept in the same way, and looked at first, as the application does; one that expires is
compared with the clock each time.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from sys import getsizeof
from typing import Any, NamedTuple

from flask import Flask, request

from marketplace.api.answers import WholeAnswer, ask
from marketplace.counts import Counts, key_of
from marketplace.environ import KEPT, TOKEN
from marketplace.store.database import read
from marketplace.store.engine import Engine
from marketplace.store.uses import Uses

MAX_KEPT_BYTES = 64 * 1024 * 1024
HIT, MISS = (key_of("kept_answers_asked", outcome=outcome) for outcome in ("hit", "miss"))
MAX_KEY_LENGTH = 1000  # characters: nobody asks twice for a longer address

# In the WSGI environment: the Bearer of the request, set by authenticate(), or here before it is asked;
# and each Look that the answer is made of.
BEARER = "marketplace.bearer"
LOOKS = "marketplace.looks"


class Look(NamedTuple):
    """A query of store/queries.py, and the row that it found."""

    query: Callable
    arguments: tuple
    row: Any

    def finds_the_same(self, db) -> bool:
        return self.query(db, *self.arguments) == self.row

    @property
    def size(self) -> int:
        """Bytes, generously: with the names of the columns."""
        return 4000 + sum(map(getsizeof, dict(self.row or ()).values()))


class Bearer(NamedTuple):
    """Who may read until a Unix time, by the row of an access token."""

    expires_at: float
    look: Look


def look(query: Callable, *arguments):
    """Ask a query for a row, and note what it found: the answer is kept for as long as it finds the same.

    A view reads all that its answer is made of in this way, or nothing.
    """
    row = query(read(), *arguments)
    request.environ.setdefault(LOOKS, []).append(Look(query, arguments, row))
    return row


class _Kept:
    """An answer or a bearer, with the stamp that it is true of, and what was looked at for it."""

    __slots__ = ("_looks", "_stamp", "size", "what")

    def __init__(self, what: WholeAnswer | Bearer, size: int, stamp, looks: list[Look]) -> None:
        self.what = what
        self._stamp = stamp
        self._looks = looks
        # Bytes, generously: with the key, and all that holds them together.
        self.size = size + sum(look.size for look in looks) + 2 * MAX_KEY_LENGTH

    def is_true(self, stamp, database: Engine) -> bool:
        """Tell whether it is true of the database as it is now, whose stamp was read just before."""
        if self._stamp == stamp:
            return True
        if not self._looks:
            return False
        db = database.connection
        if not all(look.finds_the_same(db) for look in self._looks):
            return False
        self._stamp = stamp  # of several threads each says what it saw, and any of them is right
        return True


class _Memory:
    """All that is kept, up to so many bytes: beyond them the oldest is forgotten."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> _Kept | None:
        return self._kept.get(key)

    def keep(self, key: Hashable, kept: _Kept) -> None:
        with self._lock:
            replaced = self._kept.pop(key, None)
            self._kept[key] = kept
            self._size += kept.size - (replaced.size if replaced else 0)
            while self._size > MAX_KEPT_BYTES:
                _, oldest = self._kept.popitem(last=False)
                self._size -= oldest.size
            self._counts.put(("kept_answers",), len(self._kept))
            self._counts.put(("kept_answers_bytes",), self._size)


class KeptAnswers:
    """The layer. Where a host brings its own authentication, nothing is kept: it is asked each time."""

    def __init__(
        self,
        application,
        prefix: str,
        database: Engine,
        uses: Uses,
        counts: Counts,
        may_keep: bool,
    ) -> None:
        self._application = application
        self._prefix = f"{prefix}/v1/"
        self._database = database
        self._uses = uses
        self._may_keep = may_keep
        self._memory = _Memory(counts)

    def __call__(self, environ: dict, start_response: Callable) -> Iterable[bytes]:
        path = f"/{environ.get('PATH_INFO', '').lstrip('/')}"  # as werkzeug reads it
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD") or not path.startswith(self._prefix):
            return self._application(environ, start_response)
        for found in (BEARER, TOKEN, LOOKS):
            environ.pop(found, None)  # by another service of the same host
        stamp = self._database.stamp() if self._may_keep else None
        if stamp is None:
            return ask(self._application, environ).send(environ, start_response)
        variables = ("QUERY_STRING", "SCRIPT_NAME", "HTTP_ORIGIN")
        key = (path, *[environ.get(name, "") for name in variables])
        authorization = environ.get("HTTP_AUTHORIZATION")
        bearer = self._find(authorization, stamp)
        if bearer is not None and (now := time.time()) < bearer.expires_at:
            environ[TOKEN] = bearer.look.row["name"]
            self._uses.note(bearer.look.row["hash"], now)
            answer = self._find(key, stamp)
            if answer is not None:
                environ[KEPT] = HIT
                return answer.send(environ, start_response)
            environ[BEARER] = bearer
        environ[KEPT] = MISS
        answer = ask(self._application, environ)
        if isinstance(answer, WholeAnswer) and BEARER in environ and _is_short(authorization, *key):
            if environ[BEARER] is not bearer:
                bearer = environ[BEARER]
                self._memory.keep(authorization, _Kept(bearer, 0, stamp, [bearer.look]))
            self._memory.keep(key, _Kept(answer, answer.size, stamp, environ.get(LOOKS, [])))
        return answer.send(environ, start_response)

    def _find(self, key: Hashable, stamp) -> WholeAnswer | Bearer | None:
        kept = self._memory.find(key)
        try:
            return kept.what if kept and kept.is_true(stamp, self._database) else None
        except Exception:
            return None  # whatever is wrong, the application is asked, and tells it


def _is_short(authorization: str, *key: str) -> bool:
    return len(authorization) <= MAX_KEY_LENGTH and sum(map(len, key)) <= MAX_KEY_LENGTH


def init_app(app: Flask, *, may_keep: bool) -> None:
    app.wsgi_app = KeptAnswers(
        app.wsgi_app,
        app.config["API_PREFIX"],
        app.extensions["database"],
        app.extensions["uses"],
        app.extensions["counts"],
        may_keep,
    )
