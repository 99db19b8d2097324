"""The log: escapes what strangers wrote, so that it cannot begin a line or control a terminal."""

import logging
from textwrap import indent

from flask import Flask
from flask.logging import create_logger


def printable(text: str) -> str:
    """Escape all characters that a terminal cannot print, except line ends."""
    return "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1]
        for character in text
    )


def _escape(record: logging.LogRecord) -> bool:
    """Escape the message and the traceback. Returns True: each record is logged."""
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
    """Make an application's log, when it is first used: until then a host may configure logging."""
    logger = create_logger(app)
    logger.addFilter(_escape)
    return logger
