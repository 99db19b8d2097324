"""The second process: it follows the ledger, enriches, refreshes and settles. It alone meets strangers."""

from flask import Flask

from marketplace.watcher import collection_import, commands


def init_app(app: Flask) -> None:
    commands.init_app(app)
    collection_import.init_app(app)
