"""The sandbox answers in the shapes of mirror_shapes.json; its lists have pages and filters."""

import json
import re
from pathlib import Path

import pytest
from hiero_sdk_python import PrivateKey

from hiero_sandbox import times
from hiero_sandbox.ids import MAX_INT64
from sandbox.tests import accounts, airdrops, schedules, tokens, topics
from sandbox.tests import fungible_tokens as coins
from sandbox.tests.bodies import HBAR, approval, association, minting, sign, transfer
from sandbox.tests.people import ALICE, BOB, CHARLIE
from sandbox.tests.tokens import ISSUER, TREASURY

RECORDED = json.loads(Path(__file__).with_name("mirror_shapes.json").read_text())
SIMPLE = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
ORDERS = ("asc", "desc")
EMPTY = {"/contracts", "/contracts/results"}  # lists that have nothing to compare


def differences(shape, value, where):
    """Say where a value has a field too few or too many, or another type."""
    if isinstance(shape, list):
        for each in value:
            yield from differences(shape[0], each, f"{where}[]")
    elif isinstance(shape, dict):
        fields = dict(shape)
        fields = RECORDED["types"][fields.pop("...")] | fields if "..." in fields else fields
        needed = {name for name in fields if not name.endswith("?")}
        known = {name.removesuffix("?"): each for name, each in fields.items()}
        yield from (f"{where} lacks {name}" for name in needed - value.keys())
        yield from (f"{where} also has {name}" for name in value.keys() - known.keys())
        for name in value.keys() & known.keys():
            yield from differences(known[name], value[name], f"{where}.{name}")
    elif type(value) not in [SIMPLE.get(name) for name in shape.split(" | ")]:
        name = shape.removesuffix(" | null")
        if value is None or name in SIMPLE:
            yield f"{where} is {value!r}, not {shape}"
        else:
            yield from differences(RECORDED["types"][name], value, where)


@pytest.fixture
def ids(app, client, ledger, done, created):
    """A sandbox in which there is something of each kind; the ids of what the paths are asked about."""
    wallet = PrivateKey.generate_ecdsa()
    alias = accounts.public(wallet).SerializeToString()
    wallet_id = done(accounts.to_alias(alias, 10 * HBAR), ALICE)["transfers"][-1]["account"]
    fees = [tokens.royalty(), tokens.royalty(fallback=HBAR), tokens.fixed(5)]
    keys = (TREASURY, ISSUER)
    token = created(tokens.creation(custom_fees=fees), *keys)
    coin = created(tokens.creation(tokenType=0, initialSupply=900), *keys)
    done(minting(TREASURY, token, b"one", b"two", b"three"), *keys)
    for account_id in (ALICE, BOB):
        done(association(account_id, token, coin), account_id)
    done(coins.move(TREASURY, coin, {TREASURY: -14, ALICE: 9, BOB: 5}), TREASURY)
    done(transfer(TREASURY, nfts=[((token, 1), TREASURY, ALICE)]), TREASURY)
    for spender in (BOB, CHARLIE):
        done(coins.allow(ALICE, spender, 5), ALICE)
        done(coins.allow(ALICE, spender, 5, coin), ALICE)
        for_all = approval(ALICE, (token, 1), spender=spender)
        [allowance] = for_all.cryptoApproveAllowance.nftAllowances
        del allowance.serial_numbers[:]
        allowance.approved_for_all.value = True
        done(for_all, ALICE)
    sale = transfer(BOB, {BOB: -10 * HBAR, ALICE: 10 * HBAR}, [((token, 1), ALICE, BOB)])
    sold = done(sale, ALICE, BOB)
    for serial_no in (2, 3):
        done(transfer(TREASURY, nfts=[((token, serial_no), TREASURY, ALICE)]), TREASURY)
        ledger.mint(("0.0.5003", serial_no), ALICE, times.now())
    for giver, taker in ((TREASURY, ALICE), (ALICE, BOB), (BOB, ALICE), (ALICE, TREASURY)):
        change = accounts.update(taker, receiverSigRequiredWrapper={"value": True})
        done(change, *{ALICE, taker})
        done(airdrops.drop(giver, coin, {taker: 1}), giver)
        change = accounts.update(taker, receiverSigRequiredWrapper={"value": False})
        done(change, *{ALICE, taker})
    for memo in ("one", "two"):
        scheduled = done(schedules.creation_of(schedules.payment(1), memo=memo), CHARLIE)
    body = topics.new_topic(
        custom_fees=[topics.fee(1)], fee_exempt_key_list=[topics.key(topics.NEW)]
    )
    body.transactionFee = 30 * HBAR
    topic = created(body, ALICE)
    for number in (1, 2):
        chunk = {"initialTransactionID": body.transactionID, "total": 2, "number": 2}
        said = done(topics.message(topic, b"%d" % number, chunkInfo=chunk), ALICE)
    for amount in (5, 6):
        client.post("/rewards", json={"accountId": ALICE, "amount": amount})
        done(transfer(BOB, {BOB: -1, ALICE: 1}), BOB)
    app.config["NODE_PORT"] = 50_211
    yield {
        "account_id": ALICE,
        "block": 0,
        "coin": coin,
        "moment": said["consensus_timestamp"],
        "key": ISSUER.public_key().to_string_raw(),
        "schedule_id": scheduled["entity_id"],
        "sequence_no": 2,
        "serial_no": 1,
        "token": token,
        "topic": topic,
        "transaction_id": sold["transaction_id"],
        "wallet": wallet.public_key().to_string_raw(),
        "wallet_address": accounts.address(wallet).hex(),
        "wallet_id": wallet_id,
    }


def test_every_path_has_the_recorded_shape(app, get, ids):
    rules = [rule.rule for rule in app.url_map.iter_rules()]
    rules = [re.sub("<(path|rest):", "<", rule) for rule in rules]
    ours = {rule.removeprefix("/api/v1") for rule in rules if rule.startswith("/api/v1/")}
    written = {path.replace("{", "<").replace("}", ">") for path in RECORDED["paths"]}
    assert ours == written | EMPTY | {"/<unknown>"}
    found = []
    for path, shape in RECORDED["paths"].items():
        answer = get(path.format(**ids))
        found += differences(shape, answer, path)
        found += [f"{path} has no {name}" for name, rows in answer.items() if rows == []]
    assert found == []


def in_one_order(row):
    """A row without the order of an account's tokens, which is that of the list."""
    return row | {"tokens": sorted(row["tokens"], key=str)} if "tokens" in row else row


def test_lists_are_followed_page_by_page(get, follow, ids):
    lists = {path: shape for path, shape in RECORDED["paths"].items() if "links" in shape}
    del lists["/accounts/{account_id}"]  # an account, with a list
    for path, shape in lists.items():
        [name] = shape.keys() - {"links", "timestamp"}
        # Without what changes by itself: when a balance was read, and new blocks.
        more = {"/accounts": "&balance=false", "/blocks": "&block.number=lt:3"}.get(path, "")
        asked = path.format(**ids) + "?order={}" + more
        ascending, descending = (get(asked.format(order) + "&limit=100")[name] for order in ORDERS)
        assert [*map(in_one_order, ascending)] == [*map(in_one_order, descending[::-1])]
        assert len(ascending) > 1 or path == "/network/nodes", path
        for order, whole in zip(ORDERS, (ascending, descending), strict=True):
            assert follow(asked.format(order) + "&limit=1", name) == whole, path


# Paths with parameters, and which rows they choose, by a field.
CHOICES = [
    ("/tokens?account.id={account_id}&type=fungible_common", "token_id", ["{coin}"]),
    ("/tokens?name=ATS&name=eq:cat", "token_id", ["{token}", "{coin}"]),
    ("/tokens?publickey={key}&order=desc", "token_id", ["{coin}", "{token}"]),
    ("/tokens?token.id=gte:5003&token.id=lt:{coin}", "token_id", ["0.0.5003", "{token}"]),
    ("/tokens/{coin}/balances?account.balance=lt:500", "account", ["0.0.1002", "0.0.1001"]),
    ("/tokens/{token}/balances?account.id=1001", "account", ["0.0.1001"]),
    ("/tokens/{token}/nfts?account.id=1001&serialnumber=gt:2", "serial_number", [3]),
    ("/accounts/1001/nfts?token.id=5003&serialnumber=lte:2", "serial_number", [2]),
    ("/accounts/1001/nfts?spender.id=9001", "serial_number", []),
    ("/accounts/1002/allowances/nfts?owner=false", "owner", ["0.0.1001"]),
    ("/accounts/1001/allowances/crypto?spender.id=gt:1002", "spender", ["0.0.1003"]),
    ("/accounts/1001/allowances/tokens?spender.id=1002", "token_id", ["{coin}"]),
    ("/accounts?account.id=1001&account.id=777", "account", ["0.0.777", "0.0.1001"]),
    ("/accounts?account.publickey={wallet}", "account", ["{wallet_id}"]),
    ("/accounts/{wallet_address}/tokens", "token_id", []),
    ("/balances?account.balance=1000000000", "account", ["{wallet_id}"]),
    ("/network/nodes?node.id=gt:0", "node_id", []),
    ("/accounts/1001/rewards?ORDER=ASC", "amount", [5, 6]),
    ("/accounts/1001/rewards?timestamp=lt:1", "amount", []),
    ("/accounts/1002/rewards", "amount", []),
]


def test_parameters_choose(get, ids):
    for path, column, chosen in CHOICES:
        [rows] = (each for each in get(path.format(**ids)).values() if isinstance(each, list))
        expected = [each.format(**ids) if isinstance(each, str) else each for each in chosen]
        assert [row[column] for row in rows] == expected, path


def test_an_estimate_is_what_a_transaction_costs(client, submit, row):
    body = transfer(BOB, {BOB: -HBAR, ALICE: HBAR})
    path = "/api/v1/network/fees?mode=INTRINSIC"
    estimate = client.post(path, data=sign(body, BOB)).json
    assert estimate["total"] == 10 * row(submit(body, BOB))["charged_tx_fee"]  # ten cents an HBAR
    parts = (estimate["node"]["base"], estimate["network"]["subtotal"], estimate["service"]["base"])
    assert sum(parts) == estimate["total"]
    assert client.post(path, data=b"x").status_code == 400


def test_the_supply_is_shown_in_hbar_too(client):
    answer = client.get("/api/v1/network/supply?q=totalcoins")
    assert answer.text == "50000000000.00000000"


def test_a_list_ends_after_the_largest_serial_number(get, follow, ledger):
    for serial_no in (7, MAX_INT64):
        ledger.mint(("0.0.5050", serial_no), ALICE, times.now())
    path = f"/accounts/0.0.1001/nfts?token.id=0.0.5050&serialnumber={MAX_INT64}"
    [nft] = get(path)["nfts"]
    path = "/accounts/0.0.1001/nfts?token.id=0.0.5050&limit=1&order=asc"
    assert follow(path, "nfts")[1:] == [nft]
    latest = times.to_consensus(MAX_INT64)
    assert get(f"/transactions?timestamp=gt:{latest}")["transactions"] == []
    assert get(f"/blocks?block.number=gt:{MAX_INT64}")["blocks"] == []
    path = "/accounts/0.0.1001/nfts?token.id=0.0.5050&serialnumber=7"
    assert get(f"{path}&serialnumber=gt:{MAX_INT64}")["nfts"] == []
    assert [each["serial_number"] for each in get(path)["nfts"]] == [7]
