"""Rows to write and to read again, also for programs that import as little as they can."""

import secrets

from marketplace.store import access_tokens


def insert_token(connection, name):
    token = {"hash": secrets.token_hex(), "name": name, "scopes": "read", "created_at": "x"}
    token |= {"expires_at": None, "rate": None}
    return access_tokens.insert_access_token(connection, token)


def names(connection):
    return [row["name"] for row in access_tokens.list_access_tokens(connection)]
