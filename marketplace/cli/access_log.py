"""The access log: one line a request, in text or JSON, without headers and without query strings."""

import json
import logging
import re
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

from marketplace import times
from marketplace.wsgi_environ import REQUEST_ID, TOKEN_NAME

LOGGER = "gunicorn.access"
LINE = "{time} {client} {method} {path} {status} {bytes} B {ms} ms {request} {token}"


def destination(form: str) -> str | None:
    """gunicorn's accesslog: standard output, or none. create_app() checks the setting itself."""
    return None if form == "off" else "-"


class RequestFormatter(logging.Formatter):
    """Reads gunicorn's atoms; https://gunicorn.org/reference/settings/#access_log_format names them."""

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        atoms: Any = record.args
        return {
            "time": times.to_iso(int(record.created * times.SECOND))[:23] + "Z",
            "client": _address(atoms["h"]),
            "method": atoms["m"],
            # As it was sent, percent-encoded; the path that the application saw lacks its mount.
            "path": atoms["{raw_uri}e"].partition("?")[0],
            "status": int(atoms["s"]),
            "bytes": atoms["B"],
            "ms": atoms["D"] / 1000,
            "agent": _unescaped(atoms["a"]),
            "request": atoms[f"{{{REQUEST_ID}}}e"],
            "token": _unescaped(atoms[f"{{{TOKEN_NAME}}}e"]),
        }


def _address(text: str) -> str:
    """A client's address, or "-": what stands in X-Forwarded-For may be any text, and would forge a line."""
    if match := re.fullmatch(r"(?:\[(.*)\]|([0-9.]+)):[0-9]+", text):
        text = match[1] or match[2]  # some proxies add a port
    try:
        # Without its zone, which may be any text, too.
        return str(ip_address(text.partition("%")[0]))
    except ValueError:
        return "-"


def _unescaped(text: str) -> str:
    return text.replace('\\"', '"')  # gunicorn escapes quotes


class TextFormatter(RequestFormatter):
    def format(self, record: logging.LogRecord) -> str:
        return LINE.format_map(self.fields(record))


class JsonFormatter(RequestFormatter):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(self.fields(record))


FORMATTERS = {"text": TextFormatter, "json": JsonFormatter}


def init_server(form: str, count_lost: Callable[[], None]) -> None:
    """Have gunicorn's access log written in this form: text, json or off.

    A line that can not be written, as on a full disk, is counted. By itself logging would write a traceback
    for each, beside what has no room.
    """
    if form in FORMATTERS:
        for handler in logging.getLogger(LOGGER).handlers:
            handler.setFormatter(FORMATTERS[form]())
            handler.handleError = lambda record: count_lost()  # type: ignore[method-assign]
