"""``flask webhook``: add, list, test, resume and remove the addresses that events are delivered to."""

import re

import click

from marketplace.cli.command import Group
from marketplace.command_line import command, echo
from marketplace.events import EventKind
from marketplace.hedera import times
from marketplace.services import read, write
from marketplace.store import webhooks
from marketplace.store.webhooks import WebhookRow
from marketplace.text import quote

URL = r"https?://[^\s/?#@\\]+([/?][^\s#\\]{0,1000})?"
ALLOW_PRIVATE = "Allow a URL in your own network: any host and port, http or https."

cli = Group("webhook", help="Deliver events to other services (docs/webhooks.md).")


@cli.command("add")
@click.argument("url")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice([*EventKind]),
    help="Only events of this kind. Can be repeated.",
)
@click.option("--allow-private", is_flag=True, help=ALLOW_PRIVATE)
def add_command(url: str, kinds: tuple[str, ...], allow_private: bool) -> None:
    """Deliver new events to URL, and print the secret that signs them. It cannot be shown again."""
    from marketplace.watcher.webhooks import find_id, make_secret  # not in the web process

    scheme, colon, rest = url.partition(":")
    url = scheme.lower() + colon + rest
    if fault := _find_fault(url, allow_private):
        raise click.ClickException(f"The URL {fault}")  # which is not shown: it may have a password
    secret = make_secret()
    id, kind_names = find_id(secret), " ".join(dict.fromkeys(kinds))
    webhook = {"id": id, "url": url, "kinds": kind_names, "is_private": int(allow_private)}
    with write() as db:
        webhooks.insert_webhook(db, webhook | {"secret": secret})
    echo(f"Added webhook {id}. To try it: {command(f'webhook test {id}')}", err=True)
    echo("Its secret, shown only once:", err=True)
    echo(secret)


def _find_fault(url: str, allow_private: bool) -> str | None:
    """What is wrong with the URL of a webhook."""
    host = url.partition("://")[2].partition("/")[0].partition("?")[0]
    if "#" in url:
        return "has a part after #, which no server receives: leave it out"
    if "@" in host:
        return (
            "has a user name or a password, which are not sent: verify the messages' signatures, or put a"
            " secret into the query"
        )
    if url.startswith("http://") and not allow_private:
        return "is not an https address. For http in your own network: --allow-private"
    if not url.isprintable() or not re.fullmatch(URL, url):
        return "is not an https address of 1,000 characters at most (https://shop.example/hooks)"
    return None


def _show(webhook: WebhookRow) -> str:
    """The URL of a webhook without its query, which may have a secret."""
    address, mark, _ = webhook["url"].partition("?")
    return f"{address}?..." if mark else address


@cli.command("list")
def list_command() -> None:
    """List webhooks and the state of their deliveries."""
    rows = webhooks.list_webhooks(read())
    if not rows:
        echo(f"There is no webhook yet: {command('webhook add URL')}")
    for row in rows:
        echo(f"{row['id']}  {_show(row)}  [{row['kinds'] or 'all kinds'}]  {_describe_state(row)}")


def _describe_state(webhook: WebhookRow) -> str:
    failure = f"{webhook['failure']}, since {times.to_second(webhook['failed_since'] or '')}"
    if webhooks.is_given_up(webhook):
        resume = command(f"webhook resume {webhook['id']}")
        return f"given up: {failure}. To go on: {resume}"
    if webhook["failure"]:
        return f"fails: {failure}; next try {times.to_second(webhook['due_at'] or '')}"
    event = webhooks.get_undelivered_event(read(), webhook)
    return f"waits since {times.to_second(event['seen_at'])}" if event else "all delivered"


@cli.command("test")
@click.argument("id")
def test_command(id: str) -> None:
    """Post a message of the type webhook.test, and print whether it was accepted."""
    from marketplace.watcher.webhooks import post_test  # not in the web process

    webhook = _find(id)
    if failure := post_test(webhook):
        raise click.ClickException(f"{_show(webhook)} did not accept the message: {failure}")
    echo(f"{_show(webhook)} accepted the message")


@cli.command("resume")
@click.argument("id")
def resume_command(id: str) -> None:
    """Try again at once, starting with the first undelivered event."""
    with write() as db:
        webhook = _find(id)
        webhooks.mark_webhook(db, webhook, webhook["delivered_to"])
    echo(f"Resumed webhook {id}")


@cli.command("remove")
@click.argument("id")
def remove_command(id: str) -> None:
    """Remove a webhook. No more events are delivered to it."""
    with write() as db:
        webhooks.delete_webhook(db, _find(id)["id"])
    echo(f"Removed webhook {id}")


def _find(id: str) -> WebhookRow:
    webhook = webhooks.get_webhook(read(), id)
    if webhook is None:
        shows = command("webhook list")
        raise click.ClickException(f"There is no webhook {quote(id)}: {shows} shows all")
    return webhook
