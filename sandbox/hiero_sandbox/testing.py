"""For tests of what uses Hedera: starts the sandbox, and controls it. Needs the standard library alone."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any
from urllib.request import Request, urlopen

SECONDS = 30  # for an answer
ANY_PORTS = ("--rest-port", "0", "--node-port", "0", "--mirror-port", "0", "--no-relay")


class Sandbox:
    """A running sandbox: its addresses, and what a test may change of it."""

    def __init__(self, url: str = "http://127.0.0.1:5551") -> None:
        self.url = url
        self.mirror = f"{url}/api/v1"

    @property
    def node(self) -> str:
        """The node's address, for Client.forNetwork({node: "0.0.3"})."""
        [node] = self._ask("/api/v1/network/nodes")["nodes"]
        [endpoint] = node["service_endpoints"]
        return f"{endpoint['ip_address_v4']}:{endpoint['port']}"

    def accounts(self) -> list[dict[str, str]]:
        """The accounts that the ledger begins with: accountId, privateKey, keyType, evmAddress."""
        return list(self._ask("/accounts")["accounts"])

    def give(self, account_id: str, tinybars: int) -> None:
        """Give an account HBAR of 0.0.2."""
        self._ask("/faucet", accountId=account_id, amount=tinybars)

    def reset(self) -> None:
        """Begin again, with the known accounts alone. Drops all snapshots."""
        self._ask("/reset", {})

    def snapshot(self) -> int:
        """Copy the ledger and its clock; returns the snapshot's number."""
        return int(self._ask("/snapshot", {})["snapshot"])

    def restore(self, snapshot: int) -> None:
        """Put the ledger and its clock back. Ends lag and faults."""
        self._ask("/restore", snapshot=snapshot)

    def drop(self, snapshot: int) -> None:
        """Give back a snapshot's memory."""
        self._ask("/drop", snapshot=snapshot)

    def clock(self) -> str:
        """The ledger's time as a timestamp: "1795823136.512345678"."""
        return str(self._ask("/clock")["now"])

    def set_clock(self, now: str) -> None:
        """Move the ledger's clock forward to a timestamp."""
        self._ask("/clock", now=now)

    def move_clock(self, seconds: int) -> None:
        """Move the ledger's clock forward."""
        self._ask("/clock", seconds=seconds)

    def set_lag(self, seconds: int) -> None:
        """Let the mirror node lag by this many seconds. Moving the clock counts."""
        self._ask("/lag", seconds=seconds)

    def set_delay(self, seconds: int) -> None:
        """Let receipts be UNKNOWN for this many seconds. Moving the clock counts."""
        self._ask("/delay", seconds=seconds)

    def fail(self, fault: str, requests: int = 1) -> None:
        """Let the next requests fail: NODE_BUSY, NODE_UNAVAILABLE, MIRROR_429 or MIRROR_503.

        With a result code, such as TOKEN_IS_PAUSED, the next transactions fail at consensus.
        """
        self._ask("/fault", fault=fault, requests=requests)

    def _ask(self, path: str, body: dict[str, Any] | None = None, **fields: Any) -> Any:
        content = None if body is None and not fields else json.dumps(body or fields).encode()
        headers = {"Content-Type": "application/json"}
        with urlopen(Request(f"{self.url}{path}", content, headers), timeout=SECONDS) as answer:  # noqa: S310
            return json.load(answer)


@contextmanager
def serving(*options: str, log: IO[str] | None = None) -> Iterator[Sandbox]:
    """Run hiero-sandbox with these options, or on any free ports, until the end of the block.

    Its log goes to the file ``log``, or where this process writes its errors.
    """
    arguments = [sys.executable, "-m", "hiero_sandbox", *(options or ANY_PORTS)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=log, text=True)  # noqa: S603
    assert process.stdout  # noqa: S101
    try:
        found = re.search(r"http://[^, ]+", process.stdout.readline())
        if found is None:
            raise RuntimeError("hiero-sandbox has not started: its error is above")
        yield Sandbox(found[0])
    finally:
        process.terminate()
        process.communicate()
