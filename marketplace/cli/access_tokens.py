"""``flask token``: creates, lists, rotates and revokes access tokens."""

import re
from typing import Any

import click

from marketplace.cli.command import Group
from marketplace.command_line import command, echo
from marketplace.hedera import times
from marketplace.services import read, write
from marketplace.settings import parse_rate
from marketplace.store import access_tokens
from marketplace.store.access_tokens import SCOPES, VISITORS, create
from marketplace.text import quote

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

cli = Group("token", help="Create, list, rotate and revoke access tokens.")


def duration(value: str) -> int | None:
    """Parse a length of time such as 12h or 90d to seconds; never to None."""
    if value == "never":
        return None
    match = re.fullmatch(r"([1-9][0-9]{0,4})([smhdw])", value)
    if match is None:
        raise click.BadParameter(f"{value!r} is not like 12h, 90d or never")
    return int(match[1]) * UNITS[match[2]]


def overlap(value: str) -> int:
    """Parse a length of time that ends."""
    seconds = duration(value)
    if seconds is None:
        raise click.BadParameter(
            "the earlier token must end: give a length of time such as 12h or 1d"
        )
    return seconds


def rate(value: str) -> str:
    """Parse a rate, such as 600/m or off, as in the settings."""
    try:
        return parse_rate(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} {error}") from error


@cli.command("create")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    default=("read",),
    show_default=True,
    help="What the token may do: read for GET, write for POST, metrics for /metrics. Repeat it for"
    " several.",
)
@click.option(
    "--expires-in",
    "seconds",
    type=duration,
    default="90d",
    show_default=True,
    help="How long the token works: 30m, 12h, 90d, 52w or never.",
)
@click.option(
    "--rate",
    type=rate,
    help="The token's own MARKETPLACE_WRITE_LIMIT: 10/s, 600/m, 5000/h or off.",
)
def create_command(
    name: str, scopes: tuple[str, ...], seconds: int | None, rate: str | None
) -> None:
    """Create an access token and print it. It cannot be shown again."""
    if not name.isprintable() or not 1 <= len(name) <= 64:
        raise click.ClickException(f"{quote(name)} is not a name of 1 to 64 printable characters")
    if name == VISITORS:
        raise click.ClickException(f"{name} stands for all visitors: take another name")
    token = create(name, scopes, seconds, rate)
    if token is None:
        raise click.ClickException(f"A token named {name} exists: rotate it, or take another name")
    click.echo(token)


@cli.command("list")
def list_command() -> None:
    """List access tokens by name. The tokens themselves are not stored."""
    rows = access_tokens.list_access_tokens(read())
    if not rows:
        click.echo(f"There is no access token yet: {command('token create NAME')}")
    for row in rows:
        rate = f"  rate {row['rate']}" if row["rate"] else ""
        echo(
            f"{row['name']}  [{row['scopes']}]{rate}  created {times.to_second(row['created_at'])}"
            f"  {_describe_use(row)}  {_describe_end(row)}"
        )


def _describe_use(row: Any) -> str:
    """When a token was last used: the day, in UTC."""
    return f"last used {row['last_used_at'][:10]}" if row["last_used_at"] else "never used"


def _describe_end(row: Any) -> str:
    if row["revoked_at"]:
        return f"revoked {times.to_second(row['revoked_at'])}"
    if row["replaced_at"]:
        return f"replaced, works until {times.to_second(row['expires_at'])}"
    return f"expires {times.to_second(row['expires_at'])}" if row["expires_at"] else "never expires"


@cli.command("rotate")
@click.argument("name")
@click.option(
    "--overlap",
    type=overlap,
    default="1d",
    show_default=True,
    help="How long the earlier token still works: 30m, 12h, 1d.",
)
def rotate_command(name: str, overlap: int) -> None:
    """Replace an access token, and print the new one. It cannot be shown again.

    The new token has the earlier one's name, scopes, rate and lifetime. The earlier one works until the
    overlap ends. Both count as one caller.
    """
    made = access_tokens.rotate(name, overlap) if name.isprintable() else None
    if made is None:
        raise click.ClickException(
            f"There is no valid token named {name}, or the one it replaced still works:"
            f" {command('token list')}"
        )
    echo(f"The earlier token works until {times.to_second(made.earlier_ends_at)}", err=True)
    click.echo(made.token)


@cli.command("revoke")
@click.argument("name")
def revoke_command(name: str) -> None:
    """Revoke an access token, and the one it replaced. They stop working at once."""
    row = None
    if name.isprintable():  # as all stored names are; no database takes bytes that are not text
        with write() as db:
            row = access_tokens.mark_access_token_revoked(db, name, times.to_iso(times.now()))
    if row is None:
        raise click.ClickException(f"There is no valid token named {name}")
    echo(f"Revoked {name}")
