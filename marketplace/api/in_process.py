"""Reads of the API by the host's own code, in the same process: a template that shows listings, a report."""

import json
from contextvars import Context
from typing import Any
from urllib.parse import urlencode

from flask import Flask
from werkzeug.test import create_environ, run_wsgi_app

from marketplace.wsgi_environ import TRUSTED


class AskRefused(Exception):
    """The API refused what the host asked for: with this ``status`` and this ``answer``."""

    def __init__(self, status: int, answer: dict[str, Any]) -> None:
        super().__init__(f"{status} {answer.get('reason')}: {answer.get('message')}")
        self.status, self.answer = status, answer


def ask(app: Flask, path: str, **query: Any) -> Any:
    """Ask a GET under ``/v1`` and return its JSON: ``ask(market, "/orderbook", limit=3)``.

    The host is trusted: neither an access token nor its own authenticate() is asked for. A list of values is
    sent as several. Raises AskRefused.
    """
    values = {
        name: json.dumps(value) if isinstance(value, bool) else value
        for name, value in query.items()
        if value is not None
    }
    environ = create_environ(
        path=f"{app.config['API_PREFIX']}/v1{path}", query_string=urlencode(values, doseq=True)
    )
    environ[TRUSTED] = True
    # In an empty context: the caller's request, if there is one, is not this one.
    body, status, _ = Context().run(run_wsgi_app, app.wsgi_app, environ, buffered=True)
    answer = json.loads(b"".join(body))
    if not status.startswith("200"):
        raise AskRefused(int(status[:3]), answer)
    return answer
