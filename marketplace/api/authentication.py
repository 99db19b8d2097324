"""Who may call: access tokens as bearers show them (RFC 6750), or what a host brings instead."""

import hmac
import math
import re
import time
from collections.abc import Callable
from functools import wraps

from flask import Flask, Request, current_app, request
from werkzeug.exceptions import Unauthorized

from marketplace import times
from marketplace.api.blueprint import Blueprint
from marketplace.api.kept import BEARER, Bearer, Look
from marketplace.api.limits import RATE
from marketplace.api.waiting import one_write
from marketplace.environ import TOKEN
from marketplace.errors import NotAuthenticated, ScopeMissing
from marketplace.store import queries
from marketplace.store.access_tokens import hash_token
from marketplace.store.database import read


def authenticate(request: Request, scope: str) -> bool:
    """Check the request's bearer token. Raises NotAuthenticated (401) or ScopeMissing (403)."""
    if scope == "read" and BEARER in request.environ:
        return True  # found valid since the request began
    header = request.headers.get("Authorization")
    if header is None:
        raise NotAuthenticated("This address asks for the header Authorization: Bearer <token>")
    match = re.fullmatch(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/=-]+) *", header)
    if not match:
        raise NotAuthenticated("The Authorization header is not of the form: Bearer <token>")
    token_hash = hash_token(match[1])
    row = queries.get_access_token(read(), token_hash)
    if row is None or not hmac.compare_digest(row["hash"], token_hash):
        raise NotAuthenticated("This access token is not known here", "invalid_token")
    if row["revoked_at"]:
        raise NotAuthenticated("This access token was revoked", "invalid_token")
    if row["expires_at"] and row["expires_at"] <= times.to_iso(times.now()):
        raise NotAuthenticated(f"This access token expired at {row['expires_at']}", "invalid_token")
    request.environ[TOKEN], request.environ[RATE] = row["name"], row["rate"]
    current_app.extensions["uses"].note(token_hash, time.time())
    if scope not in row["scopes"].split():
        raise ScopeMissing(scope)
    if scope == "read":
        expires_at = row["expires_at"]
        look = Look(queries.get_access_token, (token_hash,), row)
        request.environ[BEARER] = Bearer(
            times.from_iso(expires_at) if expires_at else math.inf, look
        )
    return True


def caller() -> str:
    """The name of the access token that was shown; empty where a host lets callers in."""
    return request.environ.get(TOKEN, "")


def require_scope(scope: str) -> Callable:
    """Let a view be called only by who may, and who writes not too often.

    The app's authenticate(request, scope) decides who may, api/limits.py what is too often.
    """
    document = Blueprint.doc(
        security=[{"bearerToken": []}],
        responses={401: "NotAuthenticated", 403: "ScopeMissing", 429: "LimitExceeded"},
    )

    def decorator(view):
        @wraps(view)
        def guarded(*args, **kwargs):
            limits = current_app.extensions["limits"]
            try:
                if not current_app.extensions["authenticate"](request, scope):
                    raise NotAuthenticated("You are not allowed to call this", "invalid_token")
            except (NotAuthenticated, Unauthorized):
                limits.count_failed()
                raise
            if scope != "write":
                return view(*args, **kwargs)
            limits.count_write()
            with one_write():
                return view(*args, **kwargs)

        return document(guarded)

    return decorator


def init_app(app: Flask, authenticate: Callable[[Request, str], bool]) -> None:
    app.extensions["authenticate"] = authenticate
