"""What we keep: the door to the database, all SQL by hand, upgrades of the schema, and images."""

from flask import Flask

from marketplace.store import database, media, token_usage


def init_app(app: Flask) -> None:
    database.init_app(app)
    token_usage.init_app(app)
    media.init_app(app)
