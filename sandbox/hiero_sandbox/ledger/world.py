"""Whether every id exists: accounts and collections that nobody has made, as a demo wants it."""

from flask import current_app


def every_id_exists() -> bool:
    return bool(current_app.config.get("EVERY_ID_EXISTS"))
