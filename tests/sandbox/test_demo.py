"""The demo in the sandbox: every NFT exists, a wallet signs for anybody, and NFTs are sold elsewhere."""

import base64

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey

from harness.cast import ALICE, BOB, CHARLIE, MARKET, TOKEN
from harness.ledger import Ledger
from harness.wallets import MINTED_AT, approval, seal
from hiero_sandbox.database import write
from hiero_sandbox.ledger import accounts
from marketplace.hedera import times
from marketplace.sandbox.application import create_sandbox

NFT = (TOKEN, 7)
ROYAL = ("0.0.5002", 1)


@pytest.fixture(scope="module")
def made():
    return create_sandbox(None, signs_for=MARKET)


@pytest.fixture
def sandbox(made):
    snapshot = made.extensions["hiero_sandbox"].copy()
    yield made
    made.extensions["hiero_sandbox"].replace(snapshot)


@pytest.fixture
def client(sandbox):
    return sandbox.test_client()


@pytest.fixture
def ledger(sandbox):
    return Ledger(sandbox)


@pytest.fixture
def minted(ledger):
    ledger.mint(NFT, ALICE, MINTED_AT)
    return NFT


@pytest.fixture
def get(client):
    return lambda path: client.get(f"/api/v1{path}").json


@pytest.fixture
def ask_for(get):
    """Somebody's NFT of a serial number, as the mirror node answers."""

    def ask_for(account_id, serial_no=9, token=TOKEN):
        return get(f"/accounts/{account_id}/nfts?token.id={token}&serialnumber={serial_no}")["nfts"]

    return ask_for


def encoded(content):
    return base64.b64encode(content).decode()


# Every NFT exists


def test_every_nft_of_every_token_exists(get):
    assert get("/tokens/0.0.31337/nfts/42") == {
        "account_id": "0.0.1000",
        "created_timestamp": "1735689600.000000000",
        "delegating_spender": None,
        "deleted": False,
        "metadata": encoded(b"ipfs://bafkqacjqfyyc4mzrgmzto/42.json"),
        "modified_timestamp": "1735689600.000000000",
        "serial_number": 42,
        "spender": None,
        "token_id": "0.0.31337",
    }


def test_who_asks_first_owns_it(ask_for, get):
    assert ask_for(ALICE)[0]["account_id"] == ALICE
    assert ask_for(BOB) == []
    assert get(f"/tokens/{TOKEN}/nfts/9")["account_id"] == ALICE


def test_who_asks_first_may_hold_it(ledger, ask_for, get):
    ledger.change_account(BOB, automatic_associations=0)
    assert ask_for(BOB)
    [row] = get(f"/accounts/{BOB}/tokens")["tokens"]
    assert (row["automatic_association"], row["balance"]) == (False, 1)


def test_nobody_gets_what_is_of_a_deleted_token(ledger, ask_for):
    ledger.delete_token()
    assert ask_for(ALICE) == []


def test_a_deleted_account_gets_no_nfts(ledger, ask_for):
    ledger.change_account(CHARLIE, is_deleted=1)
    assert ask_for(CHARLIE) == []
    ledger.mint(NFT, ALICE, MINTED_AT)
    assert ledger.hand_over(NFT, CHARLIE).result == "ACCOUNT_DELETED"


# The wallet


def test_the_wallet_signs_and_the_signature_is_added_once(client, minted):
    asked = {"accountId": ALICE, "transaction": encoded(seal(approval(ALICE, NFT, MARKET)))}
    signed = client.post("/sign", json=asked).json["transaction"]
    again = client.post("/sign", json={"accountId": ALICE, "transaction": signed})
    assert again.json["transaction"] == signed
    answer = client.post("/transactions", json={"transaction": signed})
    assert answer.json["result"] == "SUCCESS"
    assert answer.json["transactionId"].startswith(f"{ALICE}@")


def test_a_wrong_account_cannot_sign(client, minted):
    transaction = encoded(seal(approval(ALICE, NFT, MARKET)))
    r = client.post("/sign", json={"accountId": "0.0.42013", "transaction": transaction})
    assert r.status_code == 422
    assert r.json["message"].startswith(
        f"accountId must be {ALICE}: 0.0.42013 has nothing to sign here"
    )


def test_a_wrong_signature_is_explained(client, minted):
    transaction = encoded(seal(approval(ALICE, NFT, MARKET)))
    answer = client.post("/transactions", json={"transaction": transaction}).json
    assert answer["result"] == "INVALID_SIGNATURE"
    assert answer["message"].endswith("becomes its key: sign with that one.")


@pytest.mark.parametrize("value", ["", "!!", "AAAA", "CgA=", encoded(b"x" * 99), 5])
def test_the_wallet_refuses_what_is_no_transaction(client, value):
    r = client.post("/sign", json={"accountId": ALICE, "transaction": value})
    assert r.status_code == 422
    assert "transaction must be base64 of a transaction's bytes" in r.json["message"]


def test_the_log_says_that_an_account_has_another_key(sandbox, ledger, minted, caplog):
    """It was INVALID_SIGNATURE alone, and nobody knew of the first key."""
    key = PrivateKey.generate_ed25519().public_key().to_bytes_raw()
    with sandbox.app_context(), write() as db:
        stored = b"\x12\x20" + key  # HAPI's Key, with the field ed25519
        accounts.change(db, ALICE, times.now(), key=stored.hex())
    content = ledger.sign_bytes(seal(approval(ALICE, NFT, MARKET)))
    assert ledger.submit(content).result == "INVALID_SIGNATURE"
    assert f"{ALICE} already has another key" in caplog.text


# Sales elsewhere


@pytest.fixture
def hand_over(client):
    def hand_over(nft=NFT, account_id=BOB):
        token, serial_no = nft
        body = {"tokenId": token, "serialNo": serial_no, "accountId": account_id}
        return client.post("/transfers", json=body).json["result"]

    return hand_over


def test_an_nft_is_moved_and_its_approval_ends(ledger, minted, hand_over, get):
    ledger.approve(NFT, ALICE, MARKET)
    assert hand_over() == "SUCCESS"
    shown = get(f"/tokens/{TOKEN}/nfts/7")
    assert (shown["account_id"], shown["spender"]) == (BOB, None)
    history = get(f"/tokens/{TOKEN}/nfts/7/transactions")["transactions"]
    assert [row["type"] for row in history] == [
        "CRYPTOTRANSFER",
        "CRYPTOAPPROVEALLOWANCE",
        "TOKENMINT",
    ]


def test_the_receiver_must_be_associated(ledger, minted, hand_over, ask_for):
    ledger.change_account(BOB, automatic_associations=0)
    assert hand_over() == "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
    assert hand_over((TOKEN, 9)) == "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
    assert ask_for(ALICE, 9)[0]["account_id"] == ALICE  # nobody had it


def test_an_nft_of_a_deleted_token_stays(ledger, minted, hand_over):
    ledger.delete_token()
    assert hand_over() == "TOKEN_WAS_DELETED"


def test_it_takes_no_royalty(ledger, hand_over):
    ledger.mint(ROYAL, ALICE, MINTED_AT)
    assert hand_over(ROYAL) == "SUCCESS"
    assert len({ledger.balance(each) for each in (ALICE, BOB, "0.0.2002")}) == 1
