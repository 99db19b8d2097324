"""Airdrops, HIP-904: tokens go to those who may hold them, and wait for the others to claim them."""

import pytest
from hiero_sdk_python import PrivateKey

from hiero_sandbox.ledger.airdrops import Airdrop
from sandbox.tests import hapi
from sandbox.tests.account_deletion import deletion
from sandbox.tests.accounts import creation, public
from sandbox.tests.airdrops import about_pending, drop
from sandbox.tests.bodies import HBAR, association, make, minting
from sandbox.tests.people import ALICE, BOB
from sandbox.tests.tokens import ISSUER, TREASURY, fixed, royalty
from sandbox.tests.tokens import creation as token_creation

KEY = PrivateKey.generate_ed25519()
RECORDS = "/proto.CryptoService/getTxRecordByTxID"
FEE = HBAR // 100  # of a transfer of tokens


@pytest.fixture
def coin(created):
    return created(token_creation(tokenType=0, initialSupply=100), TREASURY, ISSUER)


@pytest.fixture
def cats(created, done):
    made = created(token_creation(), TREASURY, ISSUER)
    done(minting(TREASURY, made, b"one", b"two"), TREASURY, ISSUER)
    return made


@pytest.fixture
def shy(created):
    """An account without automatic associations."""
    return created(creation(key=public(KEY), initialBalance=9 * HBAR), ALICE)


@pytest.fixture
def holds(get):
    def holds(account_id, token_id):
        rows = get(f"/accounts/{account_id}/tokens")["tokens"]
        return {row["token_id"]: row["balance"] for row in rows}.get(token_id)

    return holds


def test_who_is_associated_gets_it_at_once(done, coin, cats, shy, holds, get):
    done(association(shy, coin, cats), KEY)
    row = done(drop(TREASURY, coin, {shy: 7}), TREASURY)
    assert (row["name"], row["charged_tx_fee"]) == ("TOKENAIRDROP", FEE)
    done(drop(TREASURY, cats, nfts={1: shy}), TREASURY)
    assert (holds(shy, coin), holds(shy, cats)) == (7, 1)
    assert get(f"/accounts/{shy}/airdrops/pending")["airdrops"] == []


def test_who_lets_himself_be_associated_gets_it_for_a_tenth_of_a_dollar(done, coin, holds):
    row = done(drop(TREASURY, coin, {ALICE: 7}), TREASURY)
    assert row["charged_tx_fee"] == FEE + HBAR
    assert holds(ALICE, coin) == 7


def test_others_claim_it(done, submit, coin, cats, shy, holds, get, ask):
    body = drop(TREASURY, coin, {shy: 7})
    row = done(body, TREASURY)
    assert row["charged_tx_fee"] == FEE + HBAR
    assert row["token_transfers"] == []
    paid = {"payment": hapi.payment(BOB), "transactionID": body.transactionID}
    record = ask("transactionGetRecord", RECORDS, **paid)[0].transactionRecord
    [pending] = record.new_pending_airdrops
    assert pending.pending_airdrop_id == Airdrop(TREASURY, shy, coin).message()
    assert pending.pending_airdrop_value.amount == 7
    row = done(drop(TREASURY, coin, {shy: 3}), TREASURY)
    assert row["charged_tx_fee"] == FEE + HBAR // 2  # there is one already
    done(drop(TREASURY, cats, nfts={1: shy}), TREASURY)
    pending = get(f"/accounts/{shy}/airdrops/pending")["airdrops"]
    assert [(each["token_id"], each["amount"], each["serial_number"]) for each in pending] == [
        (coin, 10, None), (cats, 0, 1),
    ]  # fmt: skip
    assert get(f"/accounts/{TREASURY}/airdrops/outstanding")["airdrops"] == pending
    assert holds(TREASURY, coin) == 100
    again = drop(TREASURY, cats, nfts={1: shy})
    assert submit(again, TREASURY).result == "PENDING_NFT_AIRDROP_ALREADY_EXISTS"

    named = [(TREASURY, shy, coin), (TREASURY, shy, cats, 1)]
    body = about_pending("tokenClaimAirdrop", ALICE, *named)
    assert submit(body, ALICE, TREASURY).result == "INVALID_SIGNATURE"
    row = done(body, ALICE, KEY)
    assert row["charged_tx_fee"] == FEE + HBAR // 1000
    assert (holds(shy, coin), holds(shy, cats), holds(TREASURY, coin)) == (10, 1, 90)
    assert submit(body, ALICE, KEY).result == "INVALID_PENDING_AIRDROP_ID"


def test_its_sender_cancels_it(done, submit, coin, shy, get):
    done(drop(TREASURY, coin, {shy: 7}), TREASURY)
    cancel = about_pending("tokenCancelAirdrop", ALICE, (TREASURY, shy, coin))
    assert submit(cancel, ALICE, KEY).result == "INVALID_SIGNATURE"
    done(cancel, ALICE, TREASURY)
    assert get(f"/accounts/{shy}/airdrops/pending")["airdrops"] == []
    assert submit(cancel, ALICE, TREASURY).result == "INVALID_PENDING_AIRDROP_ID"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("tokenCancelAirdrop", "INVALID_PENDING_AIRDROP_ID"),
        ("tokenClaimAirdrop", "INVALID_ACCOUNT_ID"),
    ],
)
def test_a_signer_who_does_not_exist(alone, kind, code):
    body = about_pending(kind, "0.0.2", ("0.0.77777", "0.0.77778", "0.0.88888"))
    assert alone.submit(body, "0.0.2") == code


def test_a_receiver_that_must_sign_for_airdrops(done, created, coin, holds, get):
    fields = {"receiverSigRequired": True, "initialBalance": 9 * HBAR}
    other = created(creation(key=public(KEY), **fields), ALICE, KEY)
    done(association(other, coin), KEY)
    done(drop(TREASURY, coin, {other: 7}), TREASURY)
    assert holds(other, coin) == 0
    done(drop(TREASURY, coin, {other: 5}), TREASURY, KEY)
    assert holds(other, coin) == 5


def test_decimals_are_checked_of_what_is_moved(submit, done, coin, shy):
    for receiver, result in ((shy, "SUCCESS"), (BOB, "UNEXPECTED_TOKEN_DECIMALS")):
        body = drop(TREASURY, coin, {receiver: 1})
        body.tokenAirdrop.token_transfers[0].expected_decimals.value = 7
        assert submit(body, TREASURY).result == result


def test_a_receiver_who_signs_may_be_associated_by_it(done, created, coin, cats, holds):
    fields = {"receiverSigRequired": True, "max_automatic_token_associations": 1}
    other = created(creation(key=public(KEY), **fields), ALICE, KEY)
    done(drop(TREASURY, coin, {other: 5}), TREASURY, KEY)
    done(drop(TREASURY, cats, nfts={1: other}), TREASURY, KEY)  # the one association is used
    assert (holds(other, coin), holds(other, cats)) == (5, None)


def test_the_sender_pays_custom_fees_once(done, submit, created, shy, holds, balance, get):
    fees = [fixed(HBAR)]
    coin = created(
        token_creation(tokenType=0, initialSupply=100, custom_fees=fees), TREASURY, ISSUER
    )
    done(drop(TREASURY, coin, {ALICE: 50}), TREASURY)
    before = balance(ALICE)
    row = done(drop(ALICE, coin, {shy: 7}), ALICE)
    assert before - balance(ALICE) == row["charged_tx_fee"] + HBAR
    done(about_pending("tokenClaimAirdrop", BOB, (ALICE, shy, coin)), BOB, KEY)
    assert before - balance(ALICE) == row["charged_tx_fee"] + HBAR
    assert (holds(ALICE, coin), holds(shy, coin)) == (43, 7)


def test_a_claim_of_what_is_gone(done, submit, coin, cats, shy):
    done(drop(TREASURY, cats, nfts={1: shy}), TREASURY)
    done(drop(TREASURY, coin, {shy: 100}), TREASURY)
    done(drop(TREASURY, cats, nfts={1: ALICE}), TREASURY)
    done(drop(TREASURY, coin, {ALICE: 1}), TREASURY)
    for named, code in (
        ((TREASURY, shy, coin), "INSUFFICIENT_TOKEN_BALANCE"),
        ((TREASURY, shy, cats, 1), "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO"),
    ):
        assert submit(claim(named), BOB, KEY).result == code


def test_an_account_with_pending_airdrops_is_not_deleted(done, submit, coin, shy):
    done(drop(TREASURY, coin, {ALICE: 7}), TREASURY)
    done(drop(ALICE, coin, {shy: 7}), ALICE)
    assert submit(deletion(ALICE), ALICE).result == "ACCOUNT_HAS_PENDING_AIRDROPS"


def test_royalties_are_not_dropped(submit, done, created, shy):
    made = created(token_creation(custom_fees=[royalty(fallback=HBAR)]), TREASURY, ISSUER)
    done(minting(TREASURY, made, b"one"), TREASURY, ISSUER)
    body = drop(TREASURY, made, nfts={1: shy})
    assert submit(body, TREASURY).result == "TOKEN_AIRDROP_WITH_FALLBACK_ROYALTY"


MANY = "AIRDROP_CONTAINS_MULTIPLE_SENDERS_FOR_A_TOKEN"
UNITS = "ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON"


def claim(*named):
    return about_pending("tokenClaimAirdrop", BOB, *named)


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (lambda coin, _: make(TREASURY, "tokenAirdrop"), "EMPTY_TOKEN_TRANSFER_BODY"),
        (lambda coin, _: drop(TREASURY, coin, {ALICE: 101}), "INSUFFICIENT_TOKEN_BALANCE"),
        (lambda coin, _: drop(BOB, coin, {ALICE: 1}), "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (lambda coin, _: drop(TREASURY, coin, {"0.0.900": 1}), "INVALID_RECEIVING_NODE_ACCOUNT"),
        (lambda coin, _: drop(TREASURY, coin, {ALICE: 2, BOB: -1}), MANY),
        (lambda _, cats: drop(TREASURY, cats, {ALICE: 2}), UNITS),
        (lambda _, cats: drop(TREASURY, cats, nfts={9: ALICE}), "INVALID_NFT_ID"),
        (lambda coin, _: approved(coin), "NOT_SUPPORTED"),
        (lambda coin, _: claim(), "EMPTY_PENDING_AIRDROP_ID_LIST"),
        (lambda coin, _: claim(*[(TREASURY, BOB, coin)] * 2), "PENDING_AIRDROP_ID_REPEATED"),
        (lambda _, cats: claim(*several(cats)), "PENDING_AIRDROP_ID_LIST_TOO_LONG"),
        (lambda coin, _: claim((TREASURY, BOB, coin)), "INVALID_PENDING_AIRDROP_ID"),
        (lambda coin, _: unnamed(), "INVALID_PENDING_AIRDROP_ID"),
    ],
)
def test_what_is_refused(submit, coin, cats, body, result):
    body = body(coin, cats)
    assert submit(body, BOB, TREASURY).result == result


def approved(coin):
    body = drop(TREASURY, coin, {ALICE: 1})
    body.tokenAirdrop.token_transfers[0].transfers[0].is_approval = True
    return body


def several(cats):
    return [(TREASURY, BOB, cats, serial_no) for serial_no in range(1, 12)]


def unnamed():
    return make(BOB, "tokenCancelAirdrop", pending_airdrops=[{}])
