"""The log. It escapes strangers' text, which could otherwise begin a line or control a terminal."""

import logging
from textwrap import indent

from flask import Flask
from flask.logging import create_logger

from marketplace.api.request_metrics import name_request
from marketplace.text import printable


def make_printable(record: logging.LogRecord) -> bool:
    """Escape unprintable characters in the message and the traceback. Returns True: each record is logged."""
    try:
        message = record.getMessage()
    except Exception:
        return True  # logging itself reports what is wrong with the record
    record.msg, record.args = printable(message).replace("\n", r"\n"), ()
    if record.exc_info:
        traceback = logging.Formatter().formatException(record.exc_info)
        record.exc_text = indent(printable(traceback), "  ")
    return True


def make_logger(app: Flask) -> logging.Logger:
    """Make an application's log. If the host has already configured logging, Flask adds no handler."""
    logger = create_logger(app)
    logger.addFilter(make_printable)
    logger.addFilter(name_request)
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)  # includes what was signed, unless a host has set a level
    return logger
