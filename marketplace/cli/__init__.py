"""The operator's commands, the server's configuration, and the lines printed at the start."""

from flask import Flask

from marketplace.cli import (
    access_tokens,
    backup,
    explain,
    export,
    moderation,
    move,
    reset_network,
    status,
    upgrade,
)


def init_app(app: Flask) -> None:
    for command in (
        upgrade.upgrade_command,
        backup.backup_command,
        backup.restore_command,
        backup.prune_command,
        move.move_command,
        reset_network.reset_network_command,
        status.status_command,
        explain.explain_command,
        access_tokens.cli,
        export.cli,
    ):
        app.cli.add_command(command)
    moderation.init_app(app)
