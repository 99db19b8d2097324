"""The operator's commands, the server's configuration, and the lines printed at the start."""

from flask import Flask

from marketplace.cli import (
    access_tokens,
    backup,
    explain,
    export,
    moderation,
    move,
    status,
    upgrade,
)


def init_app(app: Flask) -> None:
    for command in (
        upgrade.upgrade_command,
        backup.backup_command,
        backup.restore_command,
        move.move_command,
        status.status_command,
        explain.explain_command,
        access_tokens.cli,
        export.cli,
    ):
        app.cli.add_command(command)
    moderation.init_app(app)
