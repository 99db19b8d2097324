"""The JavaScript SDK encodes our transactions again, byte for byte, at the edges of what they may hold.

Needs node, and the packages of tests/system/wallets: make tools installs them.
"""

import base64
import json
import random
from itertools import product

import pytest

from harness.serving import run_program
from marketplace.hedera.ids import TransactionId
from marketplace.hedera.transactions import (
    SoldNft,
    build_listing,
    build_offer_signature,
    build_offer_withdrawal,
    build_purchase_body,
    build_withdrawal,
    write_unsigned,
)
from tests.system.wallets.programs import FOLDER, needs_wallets

pytestmark = needs_wallets

LARGEST = 2**63 - 1
SERIAL_NOS = [1], [LARGEST], [*range(LARGEST, LARGEST - 10, -1), *range(10, 0, -1)]
STARTS = (TransactionId("0.0.9001", 1_790_000_000, 0), TransactionId("0.0.9001", 1, 999_999_999))
SALES = (  # price in HBAR, the marketplace's part, seller, buyer
    (250, 250, "0.0.1001", "0.0.1002"),
    (50_000_000_000, 5000, "0.0.99999", "0.0.5"),
    (1, 0, "1.2.3", f"0.0.{LARGEST}"),
    (1, 1, "0.0.9002", "0.0.900"),
)


def encode_again(contents):
    """What the SDK makes of each."""
    given = "\n".join(base64.b64encode(content).decode() for content in contents)
    ended = run_program("node", "encode.mjs", cwd=FOLDER, input=given, check=True)
    return [json.loads(line) for line in ended.stdout.splitlines()]


def envelope(start, serial_nos):
    nfts = {"token": "0.0.5005", "serial_nos": serial_nos}
    return limits(start) | nfts


def limits(start):
    capped = {"max_fee_tinybars": 50_000_000, "valid_seconds": 60}
    return {"transaction_id": start, "memo": "für 5"} | capped


def test_what_an_owner_signs():
    contents = []
    for start, serial_nos in product(STARTS, SERIAL_NOS):
        said = envelope(start, serial_nos) | {"node_account_id": "0.0.4"}
        contents += [build_listing(spender="0.0.5", **said), build_withdrawal(**said)]
    for encoded in encode_again(contents):
        assert (encoded["isSameList"], encoded["isSameBody"]) == (True, True)


def test_what_the_sides_of_an_offer_sign():
    contents = []
    for start, schedule_id in product(STARTS, ("0.0.5005", f"0.0.{LARGEST}")):
        said = limits(start) | {"node_account_id": "0.0.4", "schedule_id": schedule_id}
        contents += [build_offer_signature(**said), build_offer_withdrawal(**said)]
    for encoded in encode_again(contents):
        assert (encoded["isSameList"], encoded["isSameBody"]) == (True, True)


def test_what_a_buyer_signs():
    cases, contents = [*product(STARTS, (1, LARGEST), SALES)], []
    for start, serial_no, (price, part, seller, buyer) in cases:
        sold = [SoldNft("0.0.5005", serial_no, seller, price)]
        said = limits(start) | {"node_account_id": "0.0.3"}
        body = build_purchase_body(nfts=sold, buyer=buyer, fee_basis_points=part, **said)
        contents.append(write_unsigned(body))
    for (_, _, (price, _, _, buyer)), encoded in zip(cases, encode_again(contents), strict=True):
        assert (encoded["isSameList"], encoded["isSameBody"]) == (True, True)
        payments = {account: int(amount) for account, amount in encoded["payments"]}
        assert payments[buyer] == -price * 100_000_000
        assert sum(payments.values()) == 0


@pytest.mark.parametrize("part", [0, 250])
def test_what_a_buyer_of_several_signs(part):
    """In whatever order they are named, and their sellers' accounts."""
    chance = random.Random(part)
    tokens = ("0.0.5005", "0.0.999", "0.0.10000", "1.0.3", f"0.0.{LARGEST}")
    sellers = ("0.0.1001", "0.0.999", "0.0.9002", "0.1.5", f"0.0.{LARGEST - 1}")
    serial_nos = (1, 2, 9, 10, 99, 100, LARGEST - 1, LARGEST)
    baskets, contents = [], []
    for _ in range(200):
        moved = chance.sample([*product(tokens, serial_nos)], chance.randint(2, 10))
        nfts = [
            SoldNft(token, serial_no, chance.choice(sellers), chance.randint(1, 1000))
            for token, serial_no in moved
        ]
        said = limits(STARTS[0]) | {"node_account_id": "0.0.3"}
        buyer = chance.choice(("0.0.1002", "0.0.9003", "0.0.99999"))
        body = build_purchase_body(nfts=nfts, buyer=buyer, fee_basis_points=part, **said)
        baskets.append((nfts, buyer))
        contents.append(write_unsigned(body))
    for (nfts, buyer), encoded in zip(baskets, encode_again(contents), strict=True):
        assert (encoded["isSameList"], encoded["isSameBody"]) == (True, True), (nfts, buyer)
        payments = {account: int(amount) for account, amount in encoded["payments"]}
        assert payments[buyer] == -sum(nft.price for nft in nfts) * 100_000_000
        assert sum(payments.values()) == 0
