"""What an operator runs: commands, the server's configuration, and what is said at the start."""

from flask import Flask

from marketplace.operator import backup, importer, log, move, status, tokens, upgrade


def init_app(app: Flask) -> None:
    log.init_app(app)
    upgrade.init_app(app)
    for module in (backup, importer, move, status):
        module.init_app(app)
    app.cli.add_command(tokens.cli)
