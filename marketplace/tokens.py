"""Access tokens: made, checked and revoked. Only their hashes are kept. RFC 6750."""

import hashlib
import hmac
import math
import re
import secrets
from collections.abc import Callable
from functools import wraps

import click
from flask import Flask, Request, current_app, request
from flask.cli import AppGroup

from marketplace import queries, times
from marketplace.api import Blueprint
from marketplace.db import read, write
from marketplace.errors import DatabaseBusy, NotAuthenticated, ScopeMissing, shown
from marketplace.kept import EXPIRES_AT

SCOPES = ("read", "write")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class Commands(AppGroup):
    def invoke(self, context):
        try:
            return super().invoke(context)
        except DatabaseBusy as error:
            raise click.ClickException(error.message) from None


cli = Commands("token", help="Make, list and revoke access tokens.")


def authenticate(request: Request, scope: str) -> bool:
    """Check the request's bearer token. Raises NotAuthenticated (401) or ScopeMissing (403)."""
    if scope == "read" and EXPIRES_AT in request.environ:
        return True  # found valid a moment ago, for this version of the database
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
    if scope not in row["scopes"].split():
        raise ScopeMissing(scope)
    if scope == "read":
        expires_at = row["expires_at"]
        request.environ[EXPIRES_AT] = times.from_iso(expires_at) if expires_at else math.inf
    return True


def require_scope(scope: str) -> Callable:
    """Let a view be called only by who may: the app's authenticate(request, scope) decides."""
    document = Blueprint.doc(
        security=[{"bearerToken": []}], responses={401: "NotAuthenticated", 403: "ScopeMissing"}
    )

    def decorator(view):
        @wraps(view)
        def guarded(*args, **kwargs):
            if not current_app.extensions["authenticate"](request, scope):
                raise NotAuthenticated("You are not allowed to call this", "invalid_token")
            return view(*args, **kwargs)

        return document(guarded)

    return decorator


def create(name: str, scopes: tuple[str, ...], seconds: int | None) -> str | None:
    """Store a new access token and return it, or None where the name is taken by a living one."""
    token = f"nftm_{secrets.token_urlsafe(32)}"
    now = times.now()
    access_token = {
        "hash": hash_token(token),
        "name": name,
        "scopes": " ".join(sorted(set(scopes))),
        "created_at": times.to_iso(now),
        "expires_at": None if seconds is None else times.to_iso(now + seconds * times.SECOND),
    }
    with write() as db:
        row = queries.insert_access_token(db, access_token)
    return token if row else None


def hash_token(token: str) -> str:
    """The only form in which a token is kept: SHA-256, hexadecimal."""
    return hashlib.sha256(token.encode()).hexdigest()


class Duration(click.ParamType):
    """A length of time such as 12h or 90d, in seconds; or never."""

    name = "duration"

    def convert(self, value, param, ctx):
        match = re.fullmatch(r"([1-9][0-9]{0,4})([smhdw])", value)
        if value == "never" or match is None:
            return (
                None if value == "never" else self.fail(f"{value!r} is not like 12h, 90d or never")
            )
        return int(match[1]) * UNITS[match[2]]


@cli.command("create")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    default=("read",),
    show_default=True,
    help="What the token may do: read for GET, write for POST. May be given twice.",
)
@click.option(
    "--expires-in",
    "seconds",
    type=Duration(),
    default="90d",
    show_default=True,
    help="How long the token works: 30m, 12h, 90d, 52w or never.",
)
def create_command(name, scopes, seconds):
    """Make an access token and print it, this once."""
    if not name.isprintable() or not 1 <= len(name) <= 64:
        raise click.ClickException(f"{shown(name)} is not a name of 1 to 64 printable characters")
    token = create(name, scopes, seconds)
    if token is None:
        raise click.ClickException(f"A token named {name} exists: revoke it, or take another name")
    click.echo(token)


@cli.command("list")
def list_command():
    """List access tokens by name.

    The tokens themselves are not kept, and can not be shown again.
    """
    rows = queries.list_access_tokens(read())
    if not rows:
        click.echo("There is no access token yet: flask --app wsgi token create NAME")
    for row in rows:
        state = (
            f"revoked {row['revoked_at']}" if row["revoked_at"] else f"expires {row['expires_at']}"
        )
        if not row["revoked_at"] and row["expires_at"] is None:
            state = "never expires"
        click.echo(f"{row['name']}  [{row['scopes']}]  created {row['created_at']}  {state}")


@cli.command("revoke")
@click.argument("name")
def revoke_command(name):
    """Revoke an access token: it stops working at once."""
    with write() as db:
        row = queries.mark_access_token_revoked(db, name, times.to_iso(times.now()))
    if row is None:
        raise click.ClickException(f"There is no living token named {name}")
    click.echo(f"Revoked {name}")


def init_app(app: Flask, authenticate: Callable[[Request, str], bool]) -> None:
    app.extensions["authenticate"] = authenticate
    app.cli.add_command(cli)
