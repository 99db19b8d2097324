"""Honest buyers beside visitors who prepare purchases as fast as they can, and sign nothing.

``python -m stress.attack --only "silent visitors"`` runs it on both engines. An honest buyer prepares a
purchase, signs it and hands it in, one NFT after the other.
"""

import base64
import json
import tempfile
import time
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from harness.cast import ALICE, TOKEN
from harness.engines import database_settings, execute, running_on
from harness.serving import Service, sandbox_market
from marketplace.sandbox import wallet

BUDGET = 20  # HBAR an hour: the default on the real networks
BUYER = "0.0.1100"
HELD = """
    SELECT COUNT(*), COALESCE(SUM(fee_tinybars), 0) FROM prepared_transaction
    WHERE kind = 'purchase' AND account_id <> '0.0.1100'
"""


class Got(NamedTuple):
    """What honest buyers got, and what visitors cost."""

    answers: list[tuple[int, float]]  # status and seconds of each preparation and each handing in
    visitors: list[dict]  # what wrk measured of the visitors' requests
    held: int  # purchases of visitors that are stored
    tinybars: int  # reserved or paid for them


@contextmanager
def besieged(engine: str) -> Iterator[Service]:
    """A service with ten listed NFTs."""
    with running_on(engine), tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        settings = {"SALE_FEE_BUDGET": BUDGET, "MIRROR_NODE_RATE": 10_000}
        with sandbox_market(folder, "--workers", "2", **settings) as service:
            nfts = {"accountId": ALICE, "tokenId": TOKEN, "serialNos": [*range(1, 11)]}
            service.call("/v1/add", nfts)
            prepared = service.call("/v1/list/extwallet", nfts | {"listingPrice": 5})
            signed = {"transaction": sign(prepared, ALICE)}
            assert service.call("/sandbox/transactions", signed)["result"] == "SUCCESS"
            assert service.call("/v1/comingsoon", nfts)["result"] == "OK"
            yield service


def sign(prepared: dict, account_id: str) -> str:
    signed = wallet.sign(account_id, base64.b64decode(prepared["byteArray"]))
    return base64.b64encode(signed).decode()


def buy_all(service: Service, until: float) -> list[tuple[int, float]]:
    """Buy one NFT after the other; returns each answer's status and seconds."""
    answers: list[tuple[int, float]] = []
    for serial_no in range(1, 11):
        if time.monotonic() > until:
            break
        order = {"accountId": BUYER, "tokenId": TOKEN, "serialNo": serial_no}
        prepared = _ask(service, "/v1/buy/extwallet", order, answers)
        if prepared:
            signature = {"signedTransaction": sign(prepared, BUYER)}
            _ask(service, "/v1/comingsoon", order | signature, answers)
    return answers


def _ask(service: Service, path: str, body: dict, answers: list[tuple[int, float]]) -> dict | None:
    began = time.monotonic()
    try:
        answer = service.call(path, body)
        status = 202 if answer.get("result") == "PENDING" else 200
    except urllib.error.HTTPError as error:
        answer, status = None, error.code
        print(f"{path}: {json.load(error)}")
    answers.append((status, time.monotonic() - began))
    return answer


def count_held(service: Service) -> tuple[int, int]:
    """The visitors' purchases that the service stores, and their fees in tinybars."""
    url = database_settings(service.folder).get("DATABASE_URL")
    [(count, tinybars)] = execute(url or service.folder / "instance/marketplace.db", HELD)
    return count, int(tinybars)
