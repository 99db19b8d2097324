"""examples/client/bid.py signs nothing but what was ordered, and forgets no event."""

import json
import runpy
from types import SimpleNamespace

import pytest
from google.protobuf.message import DecodeError

from harness.cast import ALICE, BOB, KEYS, TOKEN
from harness.serving import ROOT
from tests.actions import list_nft

BID = runpy.run_path(str(ROOT / "examples/client/bid.py"))
ORDER = (BOB, TOKEN, 7, 250)
CASES = json.loads((ROOT / "tests/market/tampered.json").read_text())["cases"]
FOR_THE_MARKETPLACE = "the marketplace gets less than it asks for"
VERIFY = {"offer": BID["verify_offer"], "buy": BID["verify_purchase"]}


@pytest.mark.parametrize("order", VERIFY)
def test_it_finds_what_was_tampered_with(order, subtests):
    cases = [each for each in CASES if each["order"] == order and "transaction" in each]
    assert len(cases) > 10
    for case in cases:
        with subtests.test(case["case"]):
            if case["isRight"] or case["case"] == FOR_THE_MARKETPLACE:
                VERIFY[order](case["transaction"], *ORDER)
            else:
                with pytest.raises((ValueError, DecodeError)):
                    VERIFY[order](case["transaction"], *ORDER)


def test_it_takes_what_the_service_prepares(client):
    list_nft(client, 250)
    buyer = KEYS | {"accountId": BOB}
    bought = client.post("/v1/buy/extwallet", json=buyer).json
    BID["verify_purchase"](bought["byteArray"], *ORDER)
    offered = client.post("/v1/offer/extwallet", json=buyer | {"offerPrice": 250}).json
    BID["verify_offer"](offered["byteArray"], *ORDER)


def test_the_next_run_goes_on_where_the_last_one_ended(client, tmp_path):
    def ask(path):
        r = client.get(f"/{path}")
        url = r.headers["Link"].partition("<")[2].partition(">")[0]
        return SimpleNamespace(json=lambda: r.json, links={"next": {"url": url}})

    list_nft(client, 250)
    path = f"v1/nft/{TOKEN}/7/events"
    counts = [BID["follow"](ask, path, tmp_path / "cursor") for _ in range(2)]
    list_nft(client, 240, accountId=ALICE)
    assert [*counts, BID["follow"](ask, path, tmp_path / "cursor")] == [2, 0, 1]
