"""What all programs share: the spelling of a command, printing, and settings of their process."""

import logging
import os
from contextlib import suppress
from typing import Any

import click
from flask.cli import ScriptInfo

from marketplace.text import printable

FOUND_BY_FLASK = ("wsgi.py", "app.py")  # in the current folder, such as a clone's
OWN = ("nft-marketplace", "python -m marketplace")  # programs of our own
# The variable that names a script around flask, such as deploy/nft-marketplace.
CALLED = "NFT_MARKETPLACE_COMMAND"
# Options of the system's resolver: nothing can interrupt a thread that waits for a silent name server.
RESOLVER_OPTIONS = "timeout:2 attempts:1"


def command(words: str) -> str:
    """The command line to type: ``flask upgrade``, with --app where flask does not find the service alone."""
    if called := os.environ.get(CALLED):
        return f"{called} {words}"
    context = click.get_current_context(silent=True)
    program = context and context.find_root().info_name
    if program in OWN:
        return f"{program} {words}"
    info = context and context.find_object(ScriptInfo)
    path = info and info.app_import_path
    if not path and not any(map(os.path.exists, FOUND_BY_FLASK)):
        path = "marketplace"
    return f"flask --app {path} {words}" if path else f"flask {words}"


def echo(text: str, **options: Any) -> None:
    """Print a text without control characters: strangers may have written a part of it."""
    click.echo(printable(text), **options)


def echo_log(text: str, **options: Any) -> None:
    """Print a line of the log. It is lost if the disk is full or the pipe is closed."""
    with suppress(OSError):
        echo(text, **options)


def prepare_process() -> None:
    """Set what a process of our own needs, a server or a command. A host's process sets its own."""
    os.environ.setdefault("RES_OPTIONS", RESOLVER_OPTIONS)
    # psycopg also raises what it warns of, for example that it could not cancel a statement.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
