"""``flask hide``, ``block``, ``verify``, what undoes them, and ``flask hidden``, which lists all of it."""

import json
import sys
from pathlib import Path

import click
from flask import Flask

from marketplace.cli.command import Command
from marketplace.command_line import command, echo
from marketplace.errors import MarketplaceError
from marketplace.hedera import times
from marketplace.hedera.ids import is_entity_id
from marketplace.ledger import Deadline
from marketplace.market import moderation
from marketplace.market.moderation import Ruling, Subject
from marketplace.services import mirror_node, read
from marketplace.store import decisions
from marketplace.text import quote

STDIN = Path("-")
LOOK_SECONDS = 5  # for an account on the ledger


def subject(text: str) -> Subject:
    """Parse a token id, or an NFT."""
    parsed = Subject.parse(text)
    if parsed is None:
        raise click.BadParameter(f"{text!r} is not a token id (0.0.1234), nor an NFT (0.0.1234:7)")
    return parsed


def entity_id(text: str) -> str:
    if not is_entity_id(text):
        raise click.BadParameter(f"{text!r} is not an id (0.0.1234)")
    return text


def reason_text(text: str) -> str:
    if not moderation.is_reason(text):
        raise click.BadParameter(f"must have 1 to {moderation.MAX_REASON} printable characters")
    return text.strip()


_reason = click.option(
    "--reason", type=reason_text, required=True, help="Why. The command hidden shows it."
)
_public = click.option(
    "--public", "is_public", is_flag=True, help="Clients see the reason in the error's message."
)


@click.command("hide", cls=Command)
@click.argument("what", type=subject, metavar="TOKEN[:SERIAL]")
@_reason
@_public
def hide_command(what: Subject, reason: str, is_public: bool) -> None:
    """Hide an NFT (0.0.5001:7) or a whole collection (0.0.5001).

    Requests for it get a 451, and no list shows it. Nobody can list or buy it here; its owner can still
    withdraw it. Its images are deleted, and not stored again. An NFT that is not stored yet is hidden once it
    is added. If the command is interrupted, run it again.
    """
    count = moderation.hide(what, Ruling(reason, is_public))
    echo(f"Hid {what}. NFTs newly hidden: {count:,}. To undo: {command(f'unhide {what}')}")


@click.command("unhide", cls=Command)
@click.argument("what", type=subject, metavar="TOKEN[:SERIAL]")
def unhide_command(what: Subject) -> None:
    """Show an NFT or a collection again. The watcher fetches its images again."""
    count = moderation.unhide(what)
    if count is None:
        raise click.ClickException(f"{what} is not hidden by itself: {command('hidden')} lists all")
    echo(f"{what} is no longer hidden by itself. NFTs shown again: {count:,}")


@click.command("block", cls=Command)
@click.argument("account", type=entity_id, required=False)
@click.option(
    "--file",
    type=click.Path(
        path_type=Path, dir_okay=False, exists=True, resolve_path=True, allow_dash=True
    ),
    help="Block the accounts in a file, or in standard input (-): one account id per line, # starts a"
    " comment. Accounts that you removed from the file since the last time are unblocked. Standard input"
    " counts as one file.",
)
@_reason
@_public
def block_command(account: str | None, file: Path | None, reason: str, is_public: bool) -> None:
    """Block an account: take its NFTs off sale here, and prepare only withdrawals for it."""
    if (account is None) == (file is None):
        raise click.UsageError("Name an account, or a file of accounts with --file")
    if account:
        count = moderation.block(account, Ruling(reason, is_public))
        undo = command(f"unblock {account}")
        echo(f"Blocked {account}. Listings ended: {count:,}. To undo: {undo}")
        if not count and _is_unknown(account):
            echo(f"Warning: {account} is not an account on the ledger", err=True)
    if file:
        if file == STDIN:
            name, text = "standard input", sys.stdin.read()
        else:
            name, text = str(file), file.read_text(errors="replace")
        blocked, unblocked = moderation.block_list(
            _read(name, text), Ruling(reason, is_public, name)
        )
        echo(f"{name}: blocked {len(blocked):,}, unblocked {len(unblocked):,}")


def _is_unknown(account: str) -> bool:
    """Whether the ledger has no such account, perhaps a mistyped one. Not if it does not answer."""
    try:
        return mirror_node().find_account(account, Deadline(LOOK_SECONDS)) is None
    except MarketplaceError:
        return False


def _read(file: str, text: str) -> list[str]:
    """Read the ids in the text of a file. Raises click.ClickException, which names the first wrong line."""
    ids = []
    for number, line in enumerate(text.splitlines(), 1):
        id = line.partition("#")[0].strip()
        if id and not is_entity_id(id):
            raise click.ClickException(
                f"{file}, line {number}: {quote(id)} is not an account id (0.0.1234). Nothing was changed"
            )
        ids += [id] if id else []
    return [*dict.fromkeys(ids)]


@click.command("unblock", cls=Command)
@click.argument("account", type=entity_id)
def unblock_command(account: str) -> None:
    """Unblock an account: its listings are for sale again."""
    count = moderation.unblock(account)
    if count is None:
        raise click.ClickException(f"{account} is not blocked: {command('hidden')} lists all")
    echo(f"{account} is no longer blocked. Listings shown again: {count:,}")


@click.command("verify", cls=Command)
@click.argument("token", type=entity_id)
@click.option("--reason", type=reason_text, help="How you know. The command hidden shows it.")
def verify_command(token: str, reason: str | None) -> None:
    """Verify a collection: clients see that you vouch for its name.

    Other collections with a name that looks like it come last in all lists, unless you verify them, too. If
    it gets another name or symbol, it is verified no more until you verify it again.
    """
    verified = moderation.verify(token, Ruling(reason or ""))
    name = f"{quote(verified.name)} ({quote(verified.symbol)})"
    echo(f"Verified {token} as {name}. To undo: {command(f'unverify {token}')}")


@click.command("unverify", cls=Command)
@click.argument("token", type=entity_id)
def unverify_command(token: str) -> None:
    """Take back a collection's verification."""
    if not moderation.unverify(token):
        raise click.ClickException(f"{token} is not verified: {command('hidden')} lists all")
    echo(f"{token} is no longer verified")


@click.command("hidden", cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def hidden_command(as_json: bool) -> None:
    """List what is hidden, blocked and verified, since when, and why."""
    suspended = {row["token"] for row in decisions.list_suspended(read())}
    rows = [
        {
            "kind": row["kind"],
            "what": str(Subject(row["id"], row["serial_no"])),
            "since": times.to_second(row["since"]),
            "reason": row["reason"],
            "public": bool(row["is_public"]),
            "file": row["list"],
            "name": row["name"],
            "symbol": row["symbol"],
            "by": row["decided_by"],
            "suspended": row["kind"] == "verified" and row["id"] in suspended,
        }
        for row in decisions.list_decisions(read())
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    if not rows:
        echo("Nothing is hidden, blocked or verified")
    for row in rows:
        public = " (public)" if row["public"] else ""
        name = f"  {quote(row['name'])}" if row["kind"] == "verified" else ""
        name += ", suspended: it has another name now" if row["suspended"] else ""
        file = f"  [{row['file']}]" if row["file"] else ""
        by = f" by {row['by']}" if row["by"] else ""
        echo(
            f"{row['kind']:8}  {row['what']:18}  since {row['since']}{by}{name}{file}"
            f"  {row['reason']}{public}"
        )


def init_app(app: Flask) -> None:
    for each in (
        hide_command,
        unhide_command,
        block_command,
        unblock_command,
        verify_command,
        unverify_command,
        hidden_command,
    ):
        app.cli.add_command(each)
