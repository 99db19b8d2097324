"""TokenMint: NFTs with metadata of one's own, to the treasury, by its key."""

import base64

import pytest

from hiero_sandbox import times
from sandbox.tests.bodies import HBAR, minting, transfer
from sandbox.tests.people import ALICE, CHARLIE, TOKEN, private_key

TREASURY = "0.0.1000"


@pytest.fixture
def supply_key():
    """The treasury's, which is the demo wallet's."""
    return private_key(TREASURY)


def test_it_works(done, get, supply_key):
    shown = done(minting(TREASURY, TOKEN, b"ipfs://one", b"\xff\0"), supply_key)
    assert (shown["name"], shown["entity_id"]) == ("TOKENMINT", TOKEN)
    assert [
        (nft["serial_number"], nft["sender_account_id"], nft["receiver_account_id"])
        for nft in shown["nft_transfers"]
    ] == [(1, None, TREASURY), (2, None, TREASURY)]
    nft = get(f"/tokens/{TOKEN}/nfts/1")
    assert (nft["account_id"], nft["deleted"]) == (TREASURY, False)
    assert base64.b64decode(nft["metadata"]) == b"ipfs://one"
    assert base64.b64decode(get(f"/tokens/{TOKEN}/nfts/2")["metadata"]) == b"\xff\0"
    [event] = get(f"/tokens/{TOKEN}/nfts/1/transactions")["transactions"]
    assert (event["type"], event["receiver_account_id"]) == ("TOKENMINT", TREASURY)
    token = get(f"/tokens/{TOKEN}")
    assert token["total_supply"] == "2"
    assert token["supply_key"]["key"] == supply_key.public_key().to_bytes_raw().hex()


def test_serial_numbers_go_on_from_the_highest(submit, ledger, row):
    ledger.mint((TOKEN, 41), ALICE, times.now())
    shown = row(submit(minting(TREASURY, TOKEN, b"x"), TREASURY))
    assert [nft["serial_number"] for nft in shown["nft_transfers"]] == [42]


def test_what_was_minted_is_nobodys_who_asks_for_it(submit, get):
    submit(minting(TREASURY, TOKEN, b"x"), TREASURY)
    path = f"/accounts/{ALICE}/nfts?token.id={TOKEN}&serialnumber=1"
    assert get(path)["nfts"] == []
    given = transfer(TREASURY, nfts=[((TOKEN, 1), TREASURY, ALICE)])
    assert submit(given, TREASURY).result == "SUCCESS"
    assert get(path)["nfts"][0]["account_id"] == ALICE


def test_metadata_may_be_empty(submit, get):
    submit(minting(TREASURY, TOKEN, b""), TREASURY)
    assert get(f"/tokens/{TOKEN}/nfts/1")["metadata"] == ""


@pytest.mark.parametrize(
    ("metadata", "result"),
    [
        ([], "INVALID_TOKEN_MINT_METADATA"),
        ([b"x" * 101], "METADATA_TOO_LONG"),
        ([b"x"] * 11, "BATCH_SIZE_LIMIT_EXCEEDED"),
    ],
)
def test_what_is_refused_at_consensus(submit, get, metadata, result):
    receipt = submit(minting(TREASURY, TOKEN, *metadata), TREASURY)
    assert (receipt.result, receipt.reached_consensus) == (result, True)
    assert get(f"/tokens/{TOKEN}")["total_supply"] == "0"


def test_a_fungible_amount_beside_metadata_is_refused(submit):
    body = minting(TREASURY, TOKEN, b"x")
    body.tokenMint.amount = 1
    receipt = submit(body, TREASURY)
    assert (receipt.result, receipt.reached_consensus) == ("INVALID_TRANSACTION_BODY", False)


def test_only_the_treasury_mints(submit, balance):
    """Nobody becomes it by signing first."""
    assert submit(minting(TREASURY, TOKEN, b"x"), CHARLIE).result == "INVALID_SIGNATURE"
    assert submit(minting(ALICE, TOKEN, b"x"), ALICE, CHARLIE).result == "INVALID_SIGNATURE"
    assert submit(minting(ALICE, TOKEN, b"x"), ALICE).result == "INVALID_SIGNATURE"
    assert submit(minting(ALICE, TOKEN, b"x"), ALICE, TREASURY).result == "SUCCESS"
    assert balance(TREASURY) == 10_000 * HBAR


def test_nothing_is_minted_of_a_deleted_token(ledger, submit):
    ledger.delete_token(TOKEN)
    assert submit(minting(TREASURY, TOKEN, b"x"), TREASURY).result == "TOKEN_WAS_DELETED"


def test_serial_numbers_end(submit, ledger):
    ledger.mint((TOKEN, 2**63 - 1), ALICE, times.now())
    receipt = submit(minting(TREASURY, TOKEN, b"x"), TREASURY)
    assert receipt.result == "SERIAL_NUMBER_LIMIT_REACHED"
