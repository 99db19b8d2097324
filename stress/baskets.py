"""Baskets that are asked for at once, beside single purchases: ``python -m stress.baskets`` prints the table.

Each caller prepares baskets of nine NFTs, of nine collections and sellers, one after the other. Two more
callers prepare purchases of one NFT. All wait as long as ``Retry-After`` says. Nothing is signed.
"""

import argparse
import itertools
import logging
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from harness.apps import settings
from harness.ledger import Ledger
from marketplace import create_app
from marketplace.hedera import times
from marketplace.store import access_tokens

RATE = 40  # requests a second to the mirror node: the default
LATENCY_SECONDS = 0.05  # of each answer of the mirror node
NFTS = 9
SINGLES = 2  # callers that prepare purchases of one NFT
LATE_SECONDS = 6  # a request may spend 4 s on the mirror node
PAUSE_SECONDS = 0.5  # after a purchase


class Answered(NamedTuple):
    """The answers to one kind of purchase."""

    statuses: Counter[int]
    slowest: float = 0  # seconds

    def __str__(self) -> str:
        counts = " | ".join(str(self.statuses[status]) for status in (200, 429, 503))
        return f"{counts} | {self.slowest:.1f} s"


class Shop:
    """A service whose mirror node answers as late as one on the internet."""

    def __init__(self, folder: Path) -> None:
        more = {"SALE_FEE_BUDGET": "10000", "MIRROR_NODE_RATE": "10000"}
        seller = create_app(**settings(folder) | more)
        self._addresses: dict[str, str] = {}  # of callers: each is an end user
        self._ledger = Ledger(seller)
        with seller.app_context():
            self._token = access_tokens.create("shop", ("read", "write"), 3600)
        for number in range(NFTS):
            self._list(seller, number)
        self._app = create_app(**settings(folder) | more | {"MIRROR_NODE_RATE": str(RATE)})
        sandbox = Ledger(self._app).sandbox
        answer = sandbox.wsgi_app

        def answer_late(*request):
            time.sleep(LATENCY_SECONDS)
            return answer(*request)

        sandbox.wsgi_app = answer_late

    def _list(self, app, number: int) -> None:
        nft = self._name(number)
        seller, token = f"0.0.{31001 + number}", nft["tokenId"]
        self._ledger.mint((token, nft["serialNo"]), seller, times.now() - times.SECOND)
        keys = {"accountId": seller} | nft
        assert self._post(app, "seller", "add", keys).status_code == 200
        prepared = self._post(app, "seller", "list/extwallet", keys | {"listingPrice": 5})
        self._ledger.sign_and_submit(prepared.json["byteArray"], seller)
        assert self._post(app, "seller", "comingsoon", keys).json["result"] == "OK"

    def _name(self, number: int) -> dict:
        return {"tokenId": f"0.0.{32001 + number}", "serialNo": 1}

    def _post(self, app, end_user: str, path: str, body: dict):
        headers = {"Authorization": f"Bearer {self._token}"}
        environ = {
            "REMOTE_ADDR": self._addresses.setdefault(
                end_user, f"10.0.0.{len(self._addresses) + 1}"
            )
        }
        return app.test_client().post(
            f"/v1/{path}", json=body, headers=headers, environ_base=environ
        )

    def prepare_basket(self, caller: int, buyer: str):
        nfts = [self._name(number) for number in range(NFTS)]
        body = {"accountId": buyer, "nfts": nfts}
        return self._post(self._app, f"basket-{caller}", "buy/extwallet", body)

    def prepare_single(self, caller: int, buyer: str):
        body = {"accountId": buyer} | self._name(caller % NFTS)
        return self._post(self._app, f"single-{caller}", "buy/extwallet", body)


def _ask(prepare: Callable, caller: int, until: float, answers: list) -> None:
    """Prepare one purchase after the other, each for another buyer: the same one's is handed out again."""
    for number in itertools.count(1000 * (caller + 1)):
        if time.monotonic() > until:
            return
        began = time.monotonic()
        answer = prepare(caller, f"0.0.{40_000 + number}")
        answers.append((answer.status_code, time.monotonic() - began))
        time.sleep(int(answer.headers.get("Retry-After", 0)) or PAUSE_SECONDS)


def _summarise(answers: list) -> Answered:
    return Answered(
        Counter(status for status, _ in answers), max((took for _, took in answers), default=0)
    )


def crowd(shop: Shop, baskets: int, seconds: float) -> tuple[Answered, Answered]:
    """Ask for this many baskets at once, and for single purchases beside them."""
    of_baskets: list = []
    of_singles: list = []
    until = time.monotonic() + seconds
    asking = [(shop.prepare_basket, number, until, of_baskets) for number in range(baskets)]
    asking += [(shop.prepare_single, 20 + number, until, of_singles) for number in range(SINGLES)]
    threads = [threading.Thread(target=_ask, args=each) for each in asking]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _summarise(of_baskets), _summarise(of_singles)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15, help="for each row")
    parser.add_argument("--at-once", type=int, action="append", help="baskets; once for each row")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    print("| Baskets at once | 200 | 429 | 503 | Slowest | Singles 200 | 429 | 503 | Slowest |")
    print("|---|---|---|---|---|---|---|---|---|")
    for baskets in arguments.at_once or (1, 2, 3, 4, 8):
        with tempfile.TemporaryDirectory() as folder:
            of_baskets, of_singles = crowd(Shop(Path(folder)), baskets, arguments.seconds)
        print(f"| {baskets} | {of_baskets} | {of_singles} |", flush=True)


if __name__ == "__main__":
    main()
