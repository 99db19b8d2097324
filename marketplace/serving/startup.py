"""The messages at the start: what is served, where, for which network, and what is unsafe."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from flask import Flask

from marketplace.command_line import command
from marketplace.errors import StartRefused
from marketplace.hedera import hbar
from marketplace.market import freshness
from marketplace.market.buying import account_key
from marketplace.services import read, services
from marketplace.settings import SETTINGS
from marketplace.store import orderbook
from marketplace.store.orderbook import ALL
from marketplace.version import __version__

# The address of a socket: host and port first, or the path of a Unix socket.
Address = tuple[Any, ...] | str


def make_served(make: Callable[[], Flask]) -> Flask:
    """Create a server's application. Exits with one sentence if it could not serve.

    Commands such as ``flask upgrade`` also create it, but require less.
    """
    try:
        app = make()
        if os.environ.get("FLASK_RUN_FROM_CLI") != "true":
            require_ready(app)
            if sandbox := services(app).sandbox:
                sandbox.make_token(app)
    except StartRefused as error:
        sys.exit(f"Error: {error}")
    return app


def require_ready(app: Flask) -> None:
    """Raise StartRefused if the database is outdated, or the key cannot be read. Uses no network."""
    own = services(app)
    own.database.require_current()
    if own.signer:
        own.signer.load()


def require_account(app: Flask) -> None:
    """Check the signer's key at the start, if purchases are signed. Raises StartRefused."""
    if (signer := services(app).signer) and app.config["SALE_FEE_BUDGET"]:
        with app.app_context():
            account_key.require_account(signer)


def describe(app: Flask, addresses: Sequence[Address], watches: bool = False) -> str:
    """Return the lines to print.

    ``addresses``: of the listening sockets. ``watches``: whether this server is the watcher, too.
    """
    config, database = app.config, services(app).database
    rate = config["MIRROR_NODE_RATE"]
    share = " (this machine's MARKETPLACE_MIRROR_NODE_RATE)" if database.is_shared else ""
    lines = [
        f"NFT Marketplace Service {__version__}: {config['NETWORK']}, account {config['ACCOUNT_ID']}",
        f"Serving {config['PUBLIC_URL']}{config['API_PREFIX']}/v1 on"
        f" {', '.join(map(_format, addresses))}, data in {database.name}",
        f"Mirror node {config['MIRROR_NODE_URL']}, at most {rate} requests a second{share}",
        *_selling(app),
        *([] if watches else _next_steps(app)),
        *(f"Warning: {warning}" for warning in warnings(config, addresses, database.is_shared)),
    ]
    if sandbox := services(app).sandbox:
        lines.append(sandbox.describe(app, _served_url(config, addresses)))
    return "\n".join(lines)


def _served_url(config: Mapping[str, Any], addresses: Sequence[Address]) -> str:
    """Return PUBLIC_URL; if it is not set, and nothing listens there, the first address that listens."""
    url: str = config["PUBLIC_URL"]
    ports = [address[1] for address in addresses if isinstance(address, tuple)]
    if url != SETTINGS["PUBLIC_URL"].default or not ports or urlsplit(url).port in ports:
        return url
    return f"http://127.0.0.1:{ports[0]}"


def _selling(app: Flask) -> Iterator[str]:
    """Say how much signed purchases may cost, on a real network."""
    if app.config["NETWORK"] == "sandbox" or services(app).signer is None:
        return
    if budget := app.config["SALE_FEE_BUDGET"]:
        most = f"{hbar.format_amount(budget)} HBAR"
        yield f"Signing purchases: {app.config['ACCOUNT_ID']} pays at most {most} an hour in fees"
    else:
        yield "Signing no purchases: MARKETPLACE_SALE_FEE_BUDGET is 0"


def _next_steps(app: Flask) -> Iterator[str]:
    """Say how to add the sandbox's sample while nothing is for sale, and to start a watcher if none runs."""
    with app.app_context():
        if app.config["NETWORK"] == "sandbox" and not orderbook.list_selected(read(), ALL, limit=1):
            yield f"Nothing is for sale yet: {command('sandbox seed')} adds sample collections"
        if not freshness.is_watched():
            yield (
                f"No watcher has run in the last minute: start one ({command('watch')}). Without it, no"
                " metadata or image is fetched, and only reports change the order book"
            )


def warnings(
    config: Mapping[str, Any], addresses: Sequence[Address], is_shared: bool = False
) -> Iterator[str]:
    """Yield a sentence for each setting that is unsafe with these addresses.

    ``is_shared``: other machines may use the same database.
    """
    url = urlsplit(config["PUBLIC_URL"])
    real = config["NETWORK"] != "sandbox"
    served = _served_url(config, addresses)
    exposed = [address for address in addresses if not _is_local(address)]
    if real and _is_local((url.hostname, url.port)):
        yield (
            f"MARKETPLACE_PUBLIC_URL is {config['PUBLIC_URL']}: only this machine can load the images."
            " Set it to the service's public address"
        )
    elif not real and served != config["PUBLIC_URL"]:
        yield f"image URLs begin with {config['PUBLIC_URL']}. Set MARKETPLACE_PUBLIC_URL to {served}"
    elif real and url.scheme == "http":
        yield (
            f"MARKETPLACE_PUBLIC_URL is {config['PUBLIC_URL']}: access tokens travel unencrypted."
            " Put TLS in front, and set it to https"
        )
    if exposed and not real:
        yield (
            f"the sandbox listens on {_format(exposed[0])}: anyone who can reach it can sign for any account."
            " Listen on 127.0.0.1, or set MARKETPLACE_NETWORK"
        )
    if exposed and config["TRUSTED_PROXIES"]:
        yield (
            f"MARKETPLACE_TRUSTED_PROXIES is {config['TRUSTED_PROXIES']}, but clients may reach"
            f" {_format(exposed[0])} without the proxy, and then forge their address"
        )
    is_limited = config["WRITE_LIMIT"] != "off"
    if real and is_limited and url.scheme == "https" and not config["TRUSTED_PROXIES"]:
        yield (
            "MARKETPLACE_TRUSTED_PROXIES is 0, but a proxy terminates TLS: all of its clients count as one"
            " address for MARKETPLACE_WRITE_LIMIT. Set it to the number of proxies"
        )
    if is_shared and config["MEDIA_URL"].startswith("file:"):
        yield (
            f"MARKETPLACE_MEDIA_URL is {config['MEDIA_URL']}, a folder of this machine: other machines on"
            " the same database lack its images. Set it to a bucket (s3://bucket/prefix), unless this is the"
            " only machine, or all machines share the folder"
        )
    if real and config["CORS_ORIGINS"] == ("*",):
        yield (
            "MARKETPLACE_CORS_ORIGINS is *: any web page can use its visitors' tokens."
            " List the origins that may"
        )


def _is_local(address: Address) -> bool:
    """Tell whether only this machine can reach an address: a (host, port), or a Unix socket's path."""
    if not isinstance(address, tuple):
        return True
    host: str = address[0]
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _format(address: Address) -> str:
    if not isinstance(address, tuple):
        return f"unix:{address}"
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
