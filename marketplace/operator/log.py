"""The log: what strangers wrote reaches it in printable characters, and can begin no line of its own."""

import logging

from flask import Flask

from marketplace.errors import printable


def make_printable(record: logging.LogRecord) -> bool:
    """Escape what is not printable, in the message and in a traceback; every record is logged."""
    record.msg, record.args = printable(record.getMessage()).replace("\n", r"\n"), ()
    if record.exc_info:
        record.exc_text = printable(logging.Formatter().formatException(record.exc_info))
    return True


def init_app(app: Flask) -> None:
    app.logger.addFilter(make_printable)
