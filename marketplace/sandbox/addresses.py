"""The sandbox's addresses and access token: printed at the start, and kept in files beside its ledger."""

import fcntl
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from flask import Flask, current_app

from hiero_sandbox.hapi.address import HOST, find_port
from marketplace.hedera import times
from marketplace.sandbox import catalogue
from marketplace.services import read, services, write
from marketplace.store import access_tokens

PATH = "/sandbox"  # where the service mounts it
OWN_TOKEN = "the sandbox's own"  # its name in the list of tokens  # noqa: S105
# Where SDKs look for a local network, beside the ports of the service and of the node.
REST_PORTS = (5551, 8084, 38081)
GRPC_PORTS = (5600, 35211)


def artwork(token: str, serial_no: str) -> str:
    """The address of an NFT's artwork."""
    return (
        f"{current_app.config['PUBLIC_URL']}{PATH}/ipfs/{catalogue.cid_of(token)}/{serial_no}.png"
    )


def hello(app: Flask, url: str) -> str:
    """The sandbox's addresses, its access token, and a request to try."""
    with app.app_context():
        token = kept_token()
    api_url = url + app.config["API_PREFIX"]
    return f"""
The NFT marketplace serves the sandbox. It needs no network, no account and no key.

  Demo           {url}/
  API reference  {api_url}/reference
  Mirror node    {url}/sandbox/api/v1
  Access token   {token}

Try it, in another terminal:

  curl -H 'Authorization: Bearer {token}' '{api_url}/v1/orderbook?limit=1'
"""


def describe_node(port: int) -> str:
    """The line of code that connects a Hedera SDK."""
    return f'  Hedera SDKs    Client.forNetwork({{"{HOST}:{port}": "0.0.3"}})'


def describe_relay(host: str, port: int) -> str:
    """The line with the address of the wallets' relay."""
    return f"  Wallets        relayUrl: ws://{host}:{port} (WalletConnect)"


def describe_further(what: str, served: Sequence[int], wanted: Sequence[int]) -> str:
    """A line with the ports for Client.forLocalNode(): those that are served, and those that are taken."""
    taken = ", ".join(str(port) for port in wanted if port not in served)
    if not served:
        return f"  forLocalNode() has no {what} here: other programs listen on its ports {taken}"
    others = f" (other programs listen on {taken})" if taken else ""
    return f"  forLocalNode() {what} on {HOST}, ports {', '.join(map(str, served))}{others}"


# The files


def node_file(folder: str) -> Path:
    """The file with the node's address, such as ``127.0.0.1:50211``, while it runs."""
    return Path(folder) / "sandbox-node"


def _environment(folder: str) -> Path:
    return Path(folder) / "sandbox.env"


def find_url(folder: str) -> str | None:
    """The service's address, as the node has written it; None if no node runs."""
    try:
        content = _environment(folder).read_text()
    except OSError:
        return None
    match = re.search("^export MARKET=(.*)$", content, re.MULTILINE)
    return match and match[1]


@contextmanager
def announced(app: Flask, port: int, mirror_port: int | None = None) -> Iterator[None]:
    """Write the node's address to its file, and remove the file at the end.

    Beside it, sandbox.env has all addresses of the sandbox and its access token, for shells and dotenv.
    """
    folder, url = app.config["DATA_DIR"], app.config["PUBLIC_URL"]
    with app.app_context():
        token = kept_token()
        sandbox = services().sandbox
    assert sandbox is not None  # noqa: S101
    environment, file, address = _environment(folder), node_file(folder), f"{HOST}:{port}"
    relay = sandbox.app.config.get("RELAY")  # only make run serves one
    environment.unlink(missing_ok=True)  # a killed process may have left one that others may read
    environment.touch(mode=0o600)
    environment.write_text(
        f"export MARKET={url}\n"
        f"export MIRROR={url}/sandbox/api/v1\n"
        f"export MIRROR_GRPC={HOST}:{mirror_port or port}\n"
        f"export NODE={address}\n"
        + (f"export RELAY={relay}\n" if relay else "")
        + f"export TOKEN={token}\n"
    )
    file.write_text(address)  # last, so that the other file is complete when this one exists
    try:
        yield
    finally:
        if find_port(sandbox.app) == port:  # otherwise a newer node has written its own
            forget(folder)


def forget(folder: str) -> None:
    """Remove the files: no node runs any more."""
    for file in (node_file(folder), _environment(folder)):
        file.unlink(missing_ok=True)


def kept_token() -> str:
    """Read the sandbox's own access token; make one if there is none, or if it was revoked."""
    path = Path(current_app.config["DATA_DIR"], "sandbox-token")
    path.touch(mode=0o600)
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # concurrent processes get the same token
        token = file.read()
        row = access_tokens.get_access_token(read(), access_tokens.hash_token(token))
        if row and row["revoked_at"] is None:
            return token
        with write() as db:
            access_tokens.mark_access_token_revoked(db, OWN_TOKEN, times.to_iso(times.now()))
        token = str(access_tokens.create(OWN_TOKEN, access_tokens.SCOPES, seconds=None))
        path.write_text(token)
        return token
