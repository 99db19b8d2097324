"""The operator's commands, the server's configuration, and the lines printed at the start."""

from flask import Flask

from marketplace.cli import access_tokens, backup, log, move, status, upgrade


def init_app(app: Flask) -> None:
    log.init_app(app)
    upgrade.init_app(app)
    for module in (backup, move, status):
        module.init_app(app)
    app.cli.add_command(access_tokens.cli)
