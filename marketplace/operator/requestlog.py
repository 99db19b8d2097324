"""The access log: one line a request, in text or JSON, without headers and without query strings."""

import json
import logging

from marketplace import times

LOGGER = "gunicorn.access"


def destination(form: str) -> str | None:
    """Where gunicorn writes it: standard output, or nowhere. create_app() checks the setting itself."""
    return None if form == "off" else "-"


class RequestFormatter(logging.Formatter):
    """Reads gunicorn's atoms; https://gunicorn.org/reference/settings/#access_log_format names them."""

    def fields(self, record: logging.LogRecord) -> dict:
        atoms = record.args
        return {
            "time": times.to_iso(int(record.created * times.SECOND))[:23] + "Z",
            "client": atoms["h"],
            "method": atoms["m"],
            # As it was sent, percent-encoded; the path that the application saw lacks its mount.
            "path": atoms["{raw_uri}e"].partition("?")[0],
            "status": int(atoms["s"]),
            "bytes": atoms["B"],
            "ms": atoms["D"] / 1000,
            "agent": atoms["a"].replace('\\"', '"'),  # gunicorn escapes quotes
        }


class TextFormatter(RequestFormatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = self.fields(record)
        return "{time} {client} {method} {path} {status} {bytes} B {ms} ms".format_map(fields)


class JsonFormatter(RequestFormatter):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(self.fields(record))


FORMATTERS = {"text": TextFormatter, "json": JsonFormatter}


def init_server(form: str) -> None:
    """Have gunicorn's access log written in this form: text, json or off."""
    if form in FORMATTERS:
        for handler in logging.getLogger(LOGGER).handlers:
            handler.setFormatter(FORMATTERS[form]())
