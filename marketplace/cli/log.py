"""The log: what strangers wrote reaches it in printable characters, and begins no line of its own."""

import logging
from textwrap import indent

from flask import Flask

from marketplace.errors import printable


def make_printable(record: logging.LogRecord) -> bool:
    """Escape what is not printable, in the message and in a traceback; every record is logged."""
    try:
        message = record.getMessage()
    except Exception:
        return True  # logging itself says what is wrong with such a record
    record.msg, record.args = printable(message).replace("\n", r"\n"), ()
    if record.exc_info:
        traceback = logging.Formatter().formatException(record.exc_info)
        record.exc_text = indent(printable(traceback), "  ")
    return True


def init_app(app: Flask) -> None:
    app.logger.addFilter(make_printable)
    if app.logger.level == logging.NOTSET:
        app.logger.setLevel(logging.INFO)  # what was signed is told, too, unless a host wants less
