"""Owners give tokens back to their treasuries: no custom fees, and what was listed is not any more."""

import pytest

from sandbox.tests.bodies import HBAR, approval, minting, rejection, transfer
from sandbox.tests.people import ALICE, BOB
from sandbox.tests.tokens import ISSUER, TREASURY, about, creation, royalty


@pytest.fixture
def cats(submit, created):
    """A collection with royalties and a fallback fee. Alice has #1, the treasury #2."""
    fees = [royalty(fallback=HBAR)]
    token = created(creation(custom_fees=fees), TREASURY, ISSUER)
    submit(minting(TREASURY, token, b"one", b"two"), TREASURY, ISSUER)
    submit(transfer(TREASURY, nfts=[((token, 1), TREASURY, ALICE)]), TREASURY)
    return token


def test_an_nft_goes_back_without_royalties(done, cats, get, balance):
    done(approval(ALICE, (cats, 1)), ALICE)
    before = balance(ALICE)
    shown = done(rejection(ALICE, (cats, 1)), ALICE)
    assert balance(ALICE) == before - HBAR // 100
    nft = get(f"/tokens/{cats}/nfts/1")
    assert (nft["account_id"], nft["spender"]) == (TREASURY, None)
    assert (shown["name"], shown["entity_id"]) == ("TOKENREJECT", ALICE)
    [moved] = shown["nft_transfers"]
    assert (moved["sender_account_id"], moved["receiver_account_id"]) == (ALICE, TREASURY)
    history = get(f"/tokens/{cats}/nfts/1/transactions")["transactions"]
    assert history[0]["type"] == "TOKENREJECT"
    # The account is still associated with the token.
    [shown] = get(f"/accounts/{ALICE}/tokens?token.id={cats}")["tokens"]
    assert shown["balance"] == 0


@pytest.mark.parametrize(
    ("who", "serial_nos", "expected"),
    [
        (ALICE, [], "EMPTY_TOKEN_REFERENCE_LIST"),
        (ALICE, [1, 1], "TOKEN_REFERENCE_REPEATED"),
        (ALICE, [0], "INVALID_TOKEN_NFT_SERIAL_NUMBER"),
        (ALICE, [3], "INVALID_NFT_ID"),
        (ALICE, range(1, 12), "TOKEN_REFERENCE_LIST_SIZE_LIMIT_EXCEEDED"),
        (ALICE, [1, 2], "INVALID_OWNER_ID"),
        (BOB, [1], "INVALID_OWNER_ID"),
        (TREASURY, [2], "ACCOUNT_IS_TREASURY"),
    ],
)
def test_what_is_refused(submit, cats, get, who, serial_nos, expected):
    rejected = [(cats, serial_no) for serial_no in serial_nos]
    assert submit(rejection(who, *rejected), who).result == expected
    assert get(f"/tokens/{cats}/nfts/1")["account_id"] == ALICE


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("token_pause", {}, "TOKEN_IS_PAUSED"),
        ("tokenFreeze", {"account_id": ALICE}, "ACCOUNT_FROZEN_FOR_TOKEN"),
        ("tokenDeletion", {}, "TOKEN_WAS_DELETED"),
    ],
)
def test_a_token_that_stands_still(submit, cats, kind, fields, expected):
    assert submit(about(kind, cats, **fields), TREASURY, ISSUER).result == "SUCCESS"
    assert submit(rejection(ALICE, (cats, 1)), ALICE).result == expected
