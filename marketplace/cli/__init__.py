"""All commands of an operator."""

from flask import Flask

from marketplace.cli import (
    access_tokens,
    backup,
    database,
    export,
    moderation,
    nfts,
    status,
    watch,
    webhooks,
)


def init_app(app: Flask) -> None:
    for command in (
        watch.watch_command,
        watch.sync_command,
        nfts.import_command,
        nfts.rebuild_command,
        nfts.refresh_command,
        nfts.explain_command,
        status.status_command,
        database.upgrade_command,
        database.move_command,
        database.reset_network_command,
        backup.backup_command,
        backup.restore_command,
        backup.prune_command,
        access_tokens.cli,
        webhooks.cli,
        export.cli,
    ):
        app.cli.add_command(command)
    moderation.init_app(app)
    if app.config["NETWORK"] == "sandbox":
        from marketplace.cli import sandbox  # needs hiero_sandbox

        app.cli.add_command(sandbox.cli)
