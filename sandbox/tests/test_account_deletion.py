"""CryptoDelete: another account gets the HBAR, and nothing can be done with the deleted account."""

import pytest
from hiero_sdk_python import PrivateKey

from hiero_sandbox.messages import account
from sandbox.tests import hapi
from sandbox.tests.account_deletion import deletion
from sandbox.tests.accounts import address, creation, public, to_alias
from sandbox.tests.bodies import FIRST, HBAR, NFT, approval, make, rejection, token_id, transfer
from sandbox.tests.people import ALICE, BOB, CHARLIE
from sandbox.tests.tokens import ISSUER, TREASURY, about, fixed
from sandbox.tests.tokens import creation as token_creation

KEY = PrivateKey.generate_ed25519()


@pytest.fixture
def made(created):
    """An account with 7 HBAR."""
    return created(creation(key=public(KEY), initialBalance=7 * HBAR), ALICE)


@pytest.fixture
def deleted(made, submit):
    assert submit(deletion(made), ALICE, KEY).result == "SUCCESS"
    return made


def test_it_works(made, done, get, balance):
    row = done(deletion(made), ALICE, KEY)
    assert (row["name"], row["entity_id"]) == ("CRYPTODELETE", made)
    assert row["charged_tx_fee"] == HBAR // 20 + HBAR // 1000  # two signatures
    assert (balance(made), balance(BOB)) == (0, FIRST + 7 * HBAR)
    assert get(f"/accounts/{made}")["deleted"] is True


def test_it_may_pay_for_its_own_deletion(made, done, balance):
    done(deletion(made, payer=made), KEY)
    assert (balance(made), balance(BOB)) == (0, FIRST + 7 * HBAR - HBAR // 20)


def test_its_reward_goes_with_it(client, made, done, balance):
    client.post("/rewards", json={"accountId": made, "amount": 5})
    row = done(deletion(made), ALICE, KEY)
    assert row["staking_reward_transfers"] == [{"account": BOB, "amount": 5}]
    assert balance(BOB) == FIRST + 7 * HBAR + 5


def test_its_alias_is_free_again(submit, created, get):
    key = PrivateKey.generate_ecdsa()
    made = created(creation(key=public(key), alias=address(key)), ALICE, key)
    assert submit(deletion(made), ALICE, key).result == "SUCCESS"
    assert submit(to_alias(address(key)), ALICE).result == "SUCCESS"
    assert get(f"/accounts/0x{address(key).hex()}")["account"] != made


def test_it_needs_its_own_signature_and_that_of_an_heir_who_wants_to_sign(submit, made, created):
    assert submit(deletion(made), ALICE, BOB).result == "INVALID_SIGNATURE"
    other = PrivateKey.generate_ed25519()
    heir = created(creation(key=public(other), receiverSigRequired=True), ALICE, other)
    assert submit(deletion(made, heir), ALICE, KEY).result == "INVALID_SIGNATURE"
    assert submit(deletion(made, heir), ALICE, KEY, other).result == "SUCCESS"


@pytest.mark.parametrize(
    ("parties", "result"),
    [
        ((None, BOB), "ACCOUNT_ID_DOES_NOT_EXIST"),
        ((BOB, None), "ACCOUNT_ID_DOES_NOT_EXIST"),
        ((BOB, BOB), "TRANSFER_ACCOUNT_SAME_AS_DELETE_ACCOUNT"),
        (("0.0.2", BOB), "ENTITY_NOT_ALLOWED_TO_DELETE"),
        (("0.0.0", BOB), "INVALID_ACCOUNT_ID"),
        ((CHARLIE, "0.0.0"), "INVALID_TRANSFER_ACCOUNT_ID"),
    ],
)
def test_what_is_refused(submit, parties, result):
    assert submit(deletion(*parties), ALICE, BOB, CHARLIE).result == result


def test_neither_of_two_may_be_deleted_before(submit, deleted):
    assert submit(deletion(deleted), ALICE, KEY).result == "ACCOUNT_DELETED"
    assert submit(deletion(BOB, deleted), ALICE, BOB).result == "ACCOUNT_DELETED"


def test_it_holds_no_tokens_and_is_no_treasury(submit, minted, created):
    assert submit(deletion(ALICE), ALICE).result == "TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES"
    coin = created(token_creation(tokenType=0), TREASURY, ISSUER)
    assert submit(deletion(TREASURY), ALICE, TREASURY).result == "ACCOUNT_IS_TREASURY"
    assert submit(about("tokenDeletion", coin), TREASURY, ISSUER).result == "SUCCESS"
    assert submit(deletion(TREASURY), ALICE, TREASURY).result == "SUCCESS"


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (lambda it: transfer(it, {it: -1, BOB: 1}), "PAYER_ACCOUNT_DELETED"),
        (lambda it: transfer(ALICE, {ALICE: -1, it: 1}), "ACCOUNT_DELETED"),
        (lambda it: transfer(ALICE, nfts=[(NFT, ALICE, it)]), "ACCOUNT_DELETED"),
        (lambda it: make(ALICE, "cryptoUpdateAccount", accountIDToUpdate=account(it)), "ACCOUNT_DELETED"),
        (lambda it: rejection(ALICE, NFT, owner=it), "ACCOUNT_DELETED"),
        (lambda it: of(it, "tokenAssociate"), "ACCOUNT_DELETED"),
        (lambda it: of(it, "tokenDissociate"), "ACCOUNT_DELETED"),
        (lambda it: approval(ALICE, spender=it), "INVALID_ALLOWANCE_SPENDER_ID"),
        (lambda it: approval(ALICE, owner=it), "INVALID_ALLOWANCE_OWNER_ID"),
        (lambda it: token_creation(treasury=account(it)), "INVALID_TREASURY_ACCOUNT_FOR_TOKEN"),
        (lambda it: token_creation(custom_fees=[fixed(1, collector=it)]), "INVALID_CUSTOM_FEE_COLLECTOR"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_with_it(submit, deleted, minted, body, result):
    assert submit(body(deleted), ALICE, KEY, TREASURY, ISSUER).result == result


def test_it_becomes_no_treasury(submit, deleted, created):
    token = created(token_creation(), TREASURY, ISSUER)
    body = about("tokenUpdate", token, treasury=account(deleted))
    assert submit(body, TREASURY, ISSUER).result == "INVALID_SIGNATURE"
    assert submit(body, TREASURY, ISSUER, KEY).result == "ACCOUNT_DELETED"


def of(account_id, kind):
    return make(ALICE, kind, account=account(account_id), tokens=[token_id(NFT)])


def test_hapi_says_that_it_is_deleted(ask, deleted):
    asked = {"accountID": account(deleted)}
    assert ask("cryptoGetInfo", header=hapi.COST, **asked)[1] == "ACCOUNT_DELETED"
