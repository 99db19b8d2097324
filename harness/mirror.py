"""The mirror node of a test. Its answers can be altered on their way to the service."""

import itertools
import json
import re
import sqlite3
from contextlib import closing
from functools import partial

from werkzeug.wrappers import Response

from hiero_sandbox.database import KEY
from marketplace.hedera import times
from marketplace.sandbox.application import create_sandbox
from marketplace.services import services

MISSING = Response(b'{"_status":{"messages":[{"message":"Not found"}]}}', 404)


class Mirror:
    """Stands before an application's sandbox. ``path`` is a pattern that is searched for in a request's path.

    Where several patterns match, the later alteration is applied to the answer of the earlier one.
    """

    _numbers = itertools.count()

    def __init__(self, app):
        self.asked = []
        self._sandbox = services(app).sandbox.app
        self._answer, self._sandbox.wsgi_app = self._sandbox.wsgi_app, self
        self._alterations = []

    def __call__(self, environ, start_response):
        self.asked.append(environ["PATH_INFO"].removeprefix("/api/v1"))
        answer = self._answer
        for path, alter in self._alterations:
            if re.search(path, environ["PATH_INFO"]):
                answer = partial(alter, answer)
        return answer(environ, start_response)

    def count(self, path):
        """How many requests there were with a path that matches."""
        return sum(1 for asked in self.asked if re.search(path, asked))

    def heal(self):
        self._alterations = []

    def _add(self, path, alter):
        """Let a function answer. It gets the application that would answer, and the arguments for it."""
        self._alterations = [*self._alterations, (path, alter)]

    def answer(self, path, application):
        """Let a WSGI application answer."""
        self._add(path, lambda answer, *request: application(*request))

    def fail(self, path, status=503):
        self.answer(path, Response(b"", status))

    def fail_first(self, *statuses):
        """Answer the next requests with these, without a body."""
        left = iter([Response(b"", status) for status in statuses])
        self._add("/", lambda answer, *request: next(left, answer)(*request))

    def before(self, path, act):
        """Call a function with the environ of each request that matches, then answer."""

        def act_and_answer(answer, environ, start_response):
            act(environ)
            return answer(environ, start_response)

        self._add(path, act_and_answer)

    def alter(self, path, change, status=None):
        """Change the JSON of an answer, and its status."""

        def altered(answer, environ, start_response):
            response = Response.from_app(answer, environ)
            document = json.loads(response.get_data())
            change(document)
            response.set_data(json.dumps(document))
            response.status_code = status or response.status_code
            return response(environ, start_response)

        self._add(path, altered)

    def set_present(self, moment):
        """Let the newest block end at this moment."""
        timestamp = {"to": times.to_consensus(moment)}
        self.alter("/blocks", lambda document: document["blocks"][0]["timestamp"].update(timestamp))

    def answer_later_pages(self, path, replica):
        """Let a replica answer for all pages but the first one."""

        def answer_one(answer, environ, start_response):
            is_first = "timestamp=lt" not in environ["QUERY_STRING"]
            return (answer if is_first else replica)(environ, start_response)

        self._add(path, answer_one)

    def replica(self):
        """A mirror node whose ledger stays as it is now."""
        database = self._sandbox.extensions[KEY]
        path = database.path.with_name(f"replica-{next(self._numbers)}.db")
        with closing(sqlite3.connect(path)) as copy:
            database.connection.backup(copy)
        replica = create_sandbox(str(path))
        replica.config["CLOCK"] = self._sandbox.config["CLOCK"]
        return replica
