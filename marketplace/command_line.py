"""How a command is called here: every message that names one names it so."""

import os

import click
from flask.cli import ScriptInfo

FOUND_BY_FLASK = ("wsgi.py", "app.py")  # in the current folder, such as a clone's
OWN = ("nft-marketplace", "python -m marketplace")  # programs of our own
# The variable that names a script around flask, such as deploy/nft-marketplace.
CALLED = "NFT_MARKETPLACE_COMMAND"


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
