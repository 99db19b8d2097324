"""How an answer is kept, and why it can never be stale: a WSGI layer in front of the application.

An answer to a GET under /v1 is kept with the database's version that was read before the answer was made.
It is given again only while the database still has that version, which is read again for every request:
no commit of any process on this machine lies between. A token that is revoked is a commit; one that
expires is compared with the clock each time.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

from flask import Flask

from marketplace.api.answers import WholeAnswer, ask
from marketplace.store.database import Database

MAX_KEPT_BYTES = 64 * 1024 * 1024
MAX_KEY_LENGTH = 1000  # characters: nobody asks twice for a longer address
MAX_TOKENS = 10_000

# In the WSGI environment, Unix time: until when the request's token may read. Set by authenticate(), or
# here before it is asked, where it said so about this version of the database.
EXPIRES_AT = "marketplace.expires_at"


class _Version:
    """What is kept about one version of the database: answers, and tokens with their expiry."""

    def __init__(self, stamp: tuple[int, int] | None) -> None:
        self.stamp = stamp
        self._answers: OrderedDict[tuple, WholeAnswer] = OrderedDict()
        self._tokens: dict[str, float] = {}
        self._size = 0
        self._lock = threading.Lock()

    def find(self, key: tuple) -> WholeAnswer | None:
        return self._answers.get(key)

    def expiry(self, authorization: str | None) -> float | None:
        """Until when this header may read; None where that is not known, or over."""
        expires_at = self._tokens.get(authorization)
        return expires_at if expires_at is not None and time.time() < expires_at else None

    def keep(self, authorization: str, expires_at: float, key: tuple, answer: WholeAnswer) -> None:
        if len(authorization) > MAX_KEY_LENGTH or sum(map(len, key)) > MAX_KEY_LENGTH:
            return
        with self._lock:
            if len(self._tokens) >= MAX_TOKENS:
                self._tokens.clear()
            self._tokens[authorization] = expires_at
            replaced = self._answers.pop(key, None)
            self._answers[key] = answer
            self._size += _size(answer) - (_size(replaced) if replaced else 0)
            while self._size > MAX_KEPT_BYTES:
                _, oldest = self._answers.popitem(last=False)
                self._size -= _size(oldest)


def _size(answer: WholeAnswer) -> int:
    """Bytes, generously: with the headers and the key."""
    return answer.size + 2 * MAX_KEY_LENGTH


class KeptAnswers:
    """The layer. Where a host brings its own authentication, nothing is kept: it is asked each time."""

    def __init__(self, application, prefix: str, database: Database, may_keep: bool) -> None:
        self._application = application
        self._prefix = f"{prefix}/v1/"
        self._database = database
        self._may_keep = may_keep
        self._version = _Version(None)

    def __call__(self, environ: dict, start_response: Callable) -> Iterable[bytes]:
        path = f"/{environ.get('PATH_INFO', '').lstrip('/')}"  # as werkzeug reads it
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD") or not path.startswith(self._prefix):
            return self._application(environ, start_response)
        environ.pop(EXPIRES_AT, None)  # what another service of the same host may have found
        stamp = self._database.stamp() if self._may_keep else None
        if stamp is None:
            return ask(self._application, environ).send(environ, start_response)
        version = self._version
        if version.stamp != stamp:
            version = self._version = _Version(stamp)
        variables = ("QUERY_STRING", "SCRIPT_NAME", "HTTP_ORIGIN")
        key = (path, *[environ.get(name, "") for name in variables])
        authorization = environ.get("HTTP_AUTHORIZATION")
        expires_at = version.expiry(authorization)
        if expires_at is not None:
            answer = version.find(key)
            if answer is not None:
                return answer.send(environ, start_response)
            environ[EXPIRES_AT] = expires_at
        answer = ask(self._application, environ)
        if isinstance(answer, WholeAnswer) and EXPIRES_AT in environ:
            version.keep(authorization, environ[EXPIRES_AT], key, answer)
        return answer.send(environ, start_response)


def init_app(app: Flask, *, may_keep: bool) -> None:
    app.wsgi_app = KeptAnswers(
        app.wsgi_app, app.config["API_PREFIX"], app.extensions["database"], may_keep
    )
