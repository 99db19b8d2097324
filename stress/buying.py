"""Honest buyers among visitors who sign nothing: ``python -m stress.buying`` prints what each of them got.

The budget is that of the real networks. A visitor prepares purchases of all NFTs, for strangers' accounts,
without end. Visitors come one after the other: each holds all that it may before the next one comes. An
honest buyer prepares, signs, submits and reports, one NFT after the other. The first purchase of each has the
marketplace pay for an association.
"""

import argparse
import itertools
import logging
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from flask import Flask

from harness.apps import settings
from harness.cast import ALICE, TOKEN
from harness.engines import ENGINES, running_on
from harness.ledger import Ledger
from marketplace import create_app
from marketplace.hedera import times
from marketplace.market.purchase_fees import find_fees
from marketplace.services import services
from marketplace.store import access_tokens
from marketplace.watcher.follow import Follower
from stress.audit import find_sales

MARKET = "0.0.9001"
BUDGET = 20  # HBAR an hour: the default on the real networks
PATIENCE_SECONDS = 5
PAUSE_SECONDS = 0.05  # after a refusal
BUYERS = 2


def _bearer(token: str) -> dict:
    return {"Authorization": f"Bearer {token}"}


# How callers show who they are: the headers and the address of the visitor or buyer with a number.
DEPLOYMENTS = {
    "a token for each": lambda tokens, n: (_bearer(tokens[n]), "192.0.2.1"),
    "one token, named end users": lambda tokens, n: (
        _bearer(tokens[0]) | {"On-Behalf-Of": f"user-{n}"},
        "192.0.2.1",
    ),
    "one token, addresses": lambda tokens, n: (_bearer(tokens[-1]), f"192.0.2.{n + 1}"),
    "a host's authenticate": lambda tokens, n: ({"X-Session": f"user-{n}"}, "192.0.2.1"),
}


class Got(NamedTuple):
    """What honest buyers got."""

    tries: int
    bought: int
    slowest: float  # the most seconds until a purchase was prepared
    reserved: float  # HBAR that the visitors' purchases may cost


class Siege:
    """One deployment of one or more services on one database, with visitors and buyers."""

    def __init__(self, folder: Path, deployment: str, count: int) -> None:
        more = {"SALE_FEE_BUDGET": str(BUDGET), "MIRROR_NODE_RATE": "10000"}
        if deployment.startswith("a host"):
            more["authenticate"] = lambda request, scope: request.headers.get("X-Session", True)
        self.apps = [create_app(**settings(folder) | more) for _ in range(count)]
        self.identify, self.ledger = DEPLOYMENTS[deployment], Ledger(self.apps[0])
        with self.apps[0].app_context():
            scopes = ("read", "write", "on-behalf")
            self.tokens = [access_tokens.create(f"{n}", scopes, 3600) for n in range(20)]
        self._places = itertools.count()
        self._over = threading.Event()
        self._follower = Follower()

    def list_nfts(self, count: int) -> None:
        call = self._caller(19)
        for serial_no in range(1, count + 1):
            keys = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": serial_no}
            call("add", keys)
            prepared = call("list/extwallet", keys | {"listingPrice": 5}).json
            self.ledger.sign_and_submit(prepared["byteArray"], ALICE)
            assert call("comingsoon", keys).json["result"] == "OK"

    @contextmanager
    def visited(self, visitors: int, nfts: int) -> Iterator[None]:
        """Let visitors ask until the end of the block. It begins when they hold all that they may hold."""
        threads = []
        try:
            for number in range(visitors):
                held = threading.Event()
                threads.append(threading.Thread(target=self._visit, args=(number, nfts, held)))
                threads[-1].start()
                assert held.wait(60)
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def _visit(self, number: int, nfts: int, held: threading.Event) -> None:
        call = self._caller(number)
        for ask in itertools.count():
            if self._over.is_set():
                return
            keys = {"accountId": f"0.0.{10_000 * number + 20_000 + ask}", "tokenId": TOKEN}
            answer = call("buy/extwallet", keys | {"serialNo": 1 + ask % nfts})
            if answer.status_code in (429, 503):
                held.set()
                self._over.wait(PAUSE_SECONDS)

    def buy(self, number: int, serial_no: int) -> float | None:
        """Buy an NFT; returns the seconds until its purchase was prepared, or None if it failed."""
        call, buyer = self._caller(number), f"0.0.{1100 + number}"
        keys = {"accountId": buyer, "tokenId": TOKEN, "serialNo": serial_no}
        began = time.monotonic()
        while (answer := call("buy/extwallet", keys)).status_code != 200:
            if time.monotonic() > began + PATIENCE_SECONDS:
                return None
            time.sleep(PAUSE_SECONDS)
        took = time.monotonic() - began
        signed = self.ledger.sign(answer.json["byteArray"], buyer)
        if self.ledger.submit(signed).result != "SUCCESS":
            return None
        assert call("comingsoon", keys).json["result"] == "OK"
        self.follow()
        return took

    def follow(self) -> None:
        """Settle what was bought, as the watcher does. The first call begins at the present."""
        with self.apps[0].app_context():
            self._follower.step()

    def _caller(self, number: int) -> Callable:
        headers, address = self.identify(self.tokens, number)
        app = self.apps[next(self._places) % len(self.apps)]
        client = app.test_client()

        def call(path: str, body: dict):
            environ = {"REMOTE_ADDR": address}
            return client.post(f"/v1/{path}", json=body, headers=headers, environ_base=environ)

        return call

    def audit(self) -> None:
        """Each NFT that was moved was paid for, and fees stay within the budget."""
        sales = find_sales(services(self.apps[0]).sandbox.app, MARKET)
        assert [sale.fault for sale in sales if sale.fault] == []
        assert sum(_fees(self.apps[0])) <= BUDGET * 10**8


def _fees(app: Flask) -> tuple[int, int]:
    with app.app_context():
        return find_fees(times.now())


def besiege(folder: Path, deployment: str, count: int, visitors: int, tries: int) -> Got:
    """Let buyers buy ``tries`` NFTs from ``count`` services, while ``visitors`` visitors buy, too."""
    siege = Siege(folder, deployment, count)
    siege.list_nfts(tries)
    siege.follow()
    with siege.visited(visitors, tries):
        reserved = _fees(siege.apps[0])[1] / 10**8
        waits = [siege.buy(10 + n % BUYERS, n + 1) for n in range(tries)]
    siege.audit()
    took = [seconds for seconds in waits if seconds is not None]
    return Got(tries, len(took), max(took, default=0), reserved)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument(
        "--only", action="append", choices=DEPLOYMENTS, help="one deployment; may be repeated"
    )
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    print("| Engine | Services | Callers | Visitors | They hold | Bought | Slowest |")
    print("|---|---|---|---|---|---|---|")
    cases = [("sqlite", 1), ("sqlite", 2), ("postgresql", 2)]
    assert {engine for engine, _ in cases} == {*ENGINES}
    for (engine, count), deployment, visitors in itertools.product(
        cases, arguments.only or DEPLOYMENTS, (1, 3, 5)
    ):
        with running_on(engine), tempfile.TemporaryDirectory() as folder:
            got = besiege(Path(folder), deployment, count, visitors, arguments.tries)
        print(
            f"| {engine} | {count} | {deployment} | {visitors} | {got.reserved:.0f} of {BUDGET} HBAR"
            f" | {got.bought} of {got.tries} | {got.slowest:.1f} s |",
            flush=True,
        )


if __name__ == "__main__":
    main()
