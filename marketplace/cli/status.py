"""``flask status``: shows the settings, and whether the service, its watcher and the mirror node work."""

from collections.abc import Iterator
from datetime import timedelta

import click
from flask import current_app

from marketplace.cli.command import Command
from marketplace.command_line import command, echo
from marketplace.errors import MarketplaceError, NetworkReset
from marketplace.hedera.hbar import to_hbar
from marketplace.hedera.times import DAY, MINUTE, SECOND, now, to_iso, to_nanoseconds, to_second
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.market import freshness
from marketplace.market.buying import account_key
from marketplace.market.nodes import list_gone_nodes, list_nodes
from marketplace.services import mirror_node, read, services
from marketplace.settings import PREFIX, SETTINGS, format_setting
from marketplace.store import disks
from marketplace.store.decisions import list_suspended
from marketplace.store.events import get_feed
from marketplace.text import quote
from marketplace.version import __version__

# As in examples/alerts.yml.
OLD_SYNC, OLD_BACKUP = 15 * MINUTE // SECOND, 2 * DAY // SECOND
LITTLE_ROOM = 1_000_000_000  # bytes


@click.command("status", cls=Command)
@click.pass_context
def status_command(context: click.Context) -> None:
    """Show how the service is, its settings without secrets, and what is wrong.

    The exit code is 1 if something is wrong: the database is outdated or its disk full, no watcher is
    running, the last sync is 15 minutes old or the last backup two days, or the mirror node does not answer.
    """
    config, database = current_app.config, services().database
    faults: list[str] = []
    echo(f"NFT Marketplace Service {__version__}: {config['NETWORK']}")
    echo(f"Database       {database.name}, schema {database.version}")
    if database.is_outdated:
        faults.append(f"The database is of an earlier version: {command('upgrade')}")
    else:
        for line in _describe_database(faults):
            echo(line)
    for line in _describe_ledger(faults):
        echo(line)
    if not database.is_outdated and (state := account_key.find_state()):
        fits = "is the account's" if state["reason"] is None else state["reason"]
        echo(f"Signer's key   {fits}, since {to_second(state['since'])}")
        if state["reason"]:
            faults.append("Nobody can buy: the signer's key is not the account's")
    echo("Settings")
    for name in SETTINGS:
        value = database.name if name == "DATABASE_URL" else format_setting(name, config[name])
        echo(f"  {PREFIX}{name}={value}")
    for name, free in disks.find_free().items():
        if free < LITTLE_ROOM:
            faults.append(f"The disk of {PREFIX}{name} is nearly full: {free / 1e6:,.0f} MB left")
    for fault in faults:
        echo(f"Error: {fault}", err=True)
    if faults:
        context.exit(1)
    echo("All is well")


def _describe_database(faults: list[str]) -> Iterator[str]:
    """Yield the lines about what the database says, and add what is wrong to ``faults``."""
    feed = get_feed(services().database.connection)
    kept = feed["newest"] - feed["oldest"] + 1
    yield f"Events         {kept:,} kept, the newest is {feed['epoch']}-{feed['newest']}"
    yield f"Watcher        {_describe_watcher(faults)}"
    yield f"Last sync      {_describe_sync(faults)}"
    yield f"Last backup    {_describe_backup(faults)}"
    if reason := freshness.find_reset():
        yield f"Reset          {NetworkReset(reason)}"
        faults.append("The mirror node shows another ledger")
    for row in list_suspended(read()):
        name, verify = quote(row["name_now"]), command(f"verify {row['token']}")
        yield f"Verified       no more: {row['token']} is {name} now. If that is right: {verify}"
    yield f"Nodes          {', '.join(list_nodes())}"
    for node in list_gone_nodes():
        yield f"  {node} is gone from the network: remove it from {PREFIX}NODE_ACCOUNT_IDS"


def _describe_watcher(faults: list[str]) -> str:
    if freshness.is_watched():
        return "running"
    faults.append(f"No watcher is running: {command('watch')}")
    seen = freshness.find_heartbeat()
    return f"silent since {to_second(seen)}" if seen else "none has run yet"


def _describe_sync(faults: list[str]) -> str:
    """The date of the last sync. A watcher that has just begun is not wrong; without one, that is said."""
    if last_sync := freshness.find_last_sync():
        age = _find_age(last_sync)
        if age > OLD_SYNC:
            faults.append("The ledger was last followed over 15 minutes ago")
        return _with_age(last_sync, age)
    began = freshness.find_beginning()
    if began and _find_age(began) > OLD_SYNC:
        faults.append(f"Not everything was compared with the ledger since {to_second(began)}")
    return "never"


def _describe_backup(faults: list[str]) -> str:
    last_backup = freshness.find_last_backup()
    if last_backup is None:
        return f"none by {command('backup FOLDER')}"
    if (age := _find_age(last_backup)) > OLD_BACKUP:
        faults.append("The last backup is over two days old")
    return _with_age(last_backup, age)


def _find_age(date: str) -> int:
    return max(0, now() - to_nanoseconds(date)) // SECOND


def _with_age(date: str, seconds: int) -> str:
    return f"{to_second(date)}, {timedelta(seconds=seconds)} ago"


def _describe_ledger(faults: list[str]) -> Iterator[str]:
    account_id, url = current_app.config["ACCOUNT_ID"], current_app.config["MIRROR_NODE_URL"]
    deadline = Deadline(UNHURRIED_SECONDS)
    try:
        present = mirror_node().find_present(deadline)
        account = mirror_node().find_account(account_id, deadline)
    except MarketplaceError as error:
        yield f"Account        {account_id}"
        yield f"Mirror node    {url}: {error}"
        faults.append("The mirror node does not answer")
        return
    if account is None or account.is_deleted:
        faults.append(f"{account_id} is not an account on the ledger")
        yield f"Account        {account_id}, which is not an account on the ledger"
    elif account.balance is None:
        yield f"Account        {account_id}, balance unknown to the mirror node"
    else:
        yield f"Account        {account_id}, {to_hbar(account.balance):,f} HBAR"
    yield f"Mirror node    {url}, at {to_second(to_iso(present))}"
