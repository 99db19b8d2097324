"""The accounts that the sandbox begins with as a program of its own, and its faucet."""

import base64

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey

from hiero_sandbox import node
from hiero_sandbox.application import create_sandbox
from hiero_sandbox.conditions import now
from hiero_sandbox.ledger.genesis import known_accounts
from hiero_sandbox.messages import account
from sandbox.tests.bodies import FIRST, HBAR, make, sign, transfer

OPERATOR = "0.0.2"
SUPPLY = 50_000_000_000 * HBAR


@pytest.fixture
def give(alone):
    def give(**fields):
        return alone.client.post("/faucet", json=fields)

    return give


def test_the_keys_are_those_of_hiero_local_node(alone):
    """As its README and accountConfiguration.json have them."""
    first, *others = alone.client.get("/accounts").json["accounts"]
    assert first == {
        "accountId": OPERATOR,
        "evmAddress": None,
        "keyType": "ED25519",
        "privateKey": "0x91132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137",
        "privateKeyDer": "302e020100300506032b6570042204209113"
        "2178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137",
        "publicKey": "302a300506032b6570032100"
        "0aa8e21064c61eab86e2a9c164565b4e7a9a4146106e0a6cd03a8c395a110e92",
    }
    assert [each["accountId"] for each in others] == [f"0.0.{n}" for n in range(1002, 1032)]
    assert (
        others[10].items()
        >= {
            "accountId": "0.0.1012",
            "evmAddress": "0x67d8d32e9bf1a9968a5ff53b87d777aa8ebbee69",
            "keyType": "ECDSA_SECP256K1",
            "privateKey": "0x105d050185ccb907fba04dd92d8de9e32c18305e097ab41dadda21489a211524",
        }.items()
    )
    for each in others:
        key = PrivateKey.from_string_der(each["privateKeyDer"])
        assert f"0x{key.to_string_raw()}" == each["privateKey"]
        assert key.public_key().to_string_der() == each["publicKey"]
    assert [each["keyType"] for each in others] == ["ECDSA_SECP256K1"] * 20 + ["ED25519"] * 10
    assert [each["accountId"] for each in others if each["evmAddress"]] == [
        f"0.0.{n}" for n in range(1012, 1022)
    ]


@pytest.mark.parametrize("known", known_accounts()[1:], ids=lambda known: known.account_id)
def test_each_signs_with_its_key_and_has_hbar(alone, known):
    payer = known.account_id
    assert alone.balance(payer) == FIRST
    assert alone.submit(transfer(payer, {payer: -1, "0.0.3": 1}), payer) == "SUCCESS"


def test_no_other_key_signs_for_them(alone):
    body = transfer(OPERATOR, {OPERATOR: -1, "0.0.1002": 1})
    assert alone.submit(body, PrivateKey.generate_ed25519()) == "INVALID_SIGNATURE"


def test_they_have_all_hbar_there_is(alone):
    balances = alone.get("/balances?limit=100&order=asc").json
    total = 0
    while balances["balances"]:
        total += sum(row["balance"] for row in balances["balances"])
        link = balances["links"]["next"]
        balances = alone.client.get(link).json if link else {"balances": []}
    assert total == SUPPLY
    assert alone.balance(OPERATOR) > SUPPLY - 1_000_000 * HBAR


def test_an_account_with_an_alias_is_found_by_it(alone):
    [known] = [each for each in known_accounts() if each.account_id == "0.0.1012"]
    address = f"0x{known.aliases[0].hex()}"
    assert alone.get(f"/accounts/{address}").json["account"] == "0.0.1012"
    assert alone.get("/accounts/0.0.1012").json["evm_address"] == address


def test_the_faucet_gives_the_operators_hbar(alone, give):
    before = alone.balance(OPERATOR)
    assert give(accountId="0.0.1002", amount=5 * HBAR).json["result"] == "SUCCESS"
    assert alone.balance("0.0.1002") == FIRST + 5 * HBAR
    assert alone.balance(OPERATOR) == before - 5 * HBAR
    [row] = alone.get("/transactions?account.id=0.0.1002").json["transactions"]
    assert (row["name"], row["charged_tx_fee"]) == ("CRYPTOTRANSFER", 0)


def test_the_faucet_gives_no_more_than_there_is(alone, give):
    answer = give(accountId="0.0.1002", amount=SUPPLY)
    assert answer.json["result"] == "INSUFFICIENT_ACCOUNT_BALANCE"
    assert alone.balance("0.0.1002") == FIRST


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"accountId": "0.0.77777", "amount": 1}, "accountId"),
        ({"accountId": "0.0.1002", "amount": 0}, "amount"),
        ({"accountId": "0.0.1002", "amount": SUPPLY + 1}, "amount"),
        ({"accountId": "0.0.1002"}, "amount"),
    ],
)
def test_the_faucet_rejects_a_wrong_field(give, fields, wrong):
    answer = give(**fields)
    assert (answer.status_code, [*answer.json["errors"]["json"]]) == (422, [wrong])


def test_a_deleted_account_gets_nothing(alone, give):
    fields = {"deleteAccountID": account("0.0.1031"), "transferAccountID": account("0.0.1002")}
    body = make("0.0.1002", "cryptoDelete", **fields)
    assert alone.submit(body, "0.0.1002", "0.0.1031") == "SUCCESS"
    before = alone.balance(OPERATOR)
    answer = give(accountId="0.0.1031", amount=5)
    assert (answer.status_code, "ACCOUNT_DELETED" in answer.json["message"]) == (422, True)
    with alone.app.app_context():
        assert node.give("0.0.1031", 5, now()).result == "ACCOUNT_DELETED"
    assert alone.balance(OPERATOR) == before


def test_a_file_keeps_what_was_paid(tmp_path):
    path, body = tmp_path / "ledger.db", {"accountId": "0.0.1002", "amount": HBAR}
    create_sandbox(path).test_client().post("/faucet", json=body)
    again = create_sandbox(path).test_client().get("/api/v1/accounts/0.0.1002").json
    assert again["balance"]["balance"] == FIRST + HBAR


def test_a_new_key_is_the_accounts_key_at_once(alone):
    key = PrivateKey.generate_ecdsa()
    content = {"ECDSA_secp256k1": key.public_key().to_bytes_raw()}
    fields = {"initialBalance": HBAR, "autoRenewPeriod": {"seconds": 7_776_000}}
    body = make(OPERATOR, "cryptoCreateAccount", key=content, **fields)
    assert alone.submit(body, OPERATOR) == "SUCCESS"
    created = alone.created()
    assert alone.submit(transfer(created, {created: -1, OPERATOR: 1}), key) == "SUCCESS"


def test_solos_accounts(tmp_path):
    client = create_sandbox(accounts="solo").test_client()
    [treasury, first, *others] = client.get("/accounts").json["accounts"]
    assert (treasury["accountId"], first["accountId"], len(others)) == (OPERATOR, "0.0.1002", 9)
    assert first["evmAddress"] == "0x67d8d32e9bf1a9968a5ff53b87d777aa8ebbee69"
    client.post("/reset")
    shown = client.get(f"/api/v1/accounts/{first['evmAddress']}").json
    assert (shown["account"], shown["balance"]["balance"]) == ("0.0.1002", FIRST)
    assert client.get("/api/v1/accounts/0.0.1012").status_code == 404


def test_their_signatures_are_added(alone):
    body = transfer("0.0.1002", {"0.0.1002": -1, "0.0.1022": 1})
    content = base64.b64encode(sign(body)).decode()
    for account_id in ("0.0.1022", "0.0.1002"):
        asked = {"accountId": account_id, "transaction": content}
        content = alone.client.post("/sign", json=asked).json["transaction"]
    answer = alone.client.post("/transactions", json={"transaction": content})
    assert answer.json["result"] == "SUCCESS"
    stranger = {"accountId": "0.0.77777", "transaction": content}
    assert alone.client.post("/sign", json=stranger).status_code == 422


def test_the_demos_addresses_are_not_there(alone):
    for path in ("/transfers", "/llms.txt"):
        assert alone.client.get(path).status_code == 404
