"""``flask status``: shows the settings, and whether the database and the mirror node answer."""

from collections.abc import Iterator

import click
from flask import current_app

from marketplace.cli.command import Command, echo
from marketplace.command_line import command
from marketplace.errors import MarketplaceError, NetworkReset
from marketplace.hedera.hbar import to_hbar
from marketplace.hedera.times import to_iso, to_second
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.market import account_key
from marketplace.market.feed import find_feed
from marketplace.market.freshness import find_reset
from marketplace.market.nodes import list_gone_nodes, list_nodes
from marketplace.services import mirror_node, services
from marketplace.settings import PREFIX, SETTINGS, format_setting
from marketplace.version import __version__


@click.command("status", cls=Command)
def status_command() -> None:
    """Show the version, database, account, mirror node, and all settings without secrets."""
    config, database = current_app.config, services().database
    echo(f"NFT Marketplace Service {__version__}: {config['NETWORK']}")
    old = f", to be upgraded: {command('upgrade')}" if database.is_outdated else ""
    echo(f"Database       {database.name}, schema {database.version}{old}")
    if not database.is_outdated:
        feed = find_feed(database.connection)
        kept = feed["newest"] - feed["oldest"] + 1
        echo(f"Events         {kept:,} kept, the newest is {feed['epoch']}-{feed['newest']}")
        if reason := find_reset():
            echo(f"Reset          {NetworkReset(reason)}")
        echo(f"Nodes          {', '.join(list_nodes())}")
        for node in list_gone_nodes():
            echo(f"  {node} is gone from the network: remove it from {PREFIX}NODE_ACCOUNT_IDS")
    for line in _describe_ledger():
        echo(line)
    if not database.is_outdated and (state := account_key.find_state()):
        fits = "is the account's" if state["reason"] is None else state["reason"]
        echo(f"Signer's key   {fits}, since {to_second(state['since'])}")
    echo("Settings")
    for name in SETTINGS:
        value = database.name if name == "DATABASE_URL" else format_setting(name, config[name])
        echo(f"  {PREFIX}{name}={value}")


def _describe_ledger() -> Iterator[str]:
    account_id, url = current_app.config["ACCOUNT_ID"], current_app.config["MIRROR_NODE_URL"]
    deadline = Deadline(UNHURRIED_SECONDS)
    try:
        present = mirror_node().find_present(deadline)
        account = mirror_node().find_account(account_id, deadline)
    except MarketplaceError as error:
        yield f"Account        {account_id}"
        yield f"Mirror node    {url}: {error}"
        return
    if account is None or account.is_deleted:
        yield f"Account        {account_id}, which is not an account on the ledger"
    elif account.balance is None:
        yield f"Account        {account_id}, balance unknown to the mirror node"
    else:
        yield f"Account        {account_id}, {to_hbar(account.balance):,f} HBAR"
    yield f"Mirror node    {url}, at {to_second(to_iso(present))}"
