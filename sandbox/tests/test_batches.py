"""Batches, HIP-551: all of their transactions succeed, or none has an effect; each is charged for."""

import pytest
from hiero_sdk_python import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID

from sandbox.tests.batches import BATCHER, KEY, batch, inner, pay
from sandbox.tests.bodies import FIRST, HBAR, NFT, approval, new_body, rejection, transfer
from sandbox.tests.people import ALICE, BOB, CHARLIE
from sandbox.tests.schedules import creation_of, payment


@pytest.fixture
def outcomes(get):
    """The rows of an account's own transactions, oldest first, as (type, result)."""

    def outcomes(account_id):
        shown = get(f"/transactions?account.id={account_id}&order=asc&limit=100")["transactions"]
        return [(row["name"], row["result"]) for row in shown]

    return outcomes


def test_all_succeed_and_each_payer_pays_their_own_fee(done, minted, outcomes, balance, get):
    sale = transfer(BOB, {BOB: -9 * HBAR, ALICE: 9 * HBAR}, [(NFT, ALICE, BOB)])
    content = batch(inner(pay(ALICE, BOB, 1), ALICE), inner(sale, BOB, ALICE))
    outer = done(content, CHARLIE, BATCHER)
    assert get(f"/tokens/{NFT[0]}/nfts/{NFT[1]}")["account_id"] == BOB
    assert outcomes(CHARLIE) == [("ATOMICBATCH", "SUCCESS")]
    assert outcomes(BOB) == [("CRYPTOTRANSFER", "SUCCESS")] * 2
    assert balance(ALICE) == FIRST + 8 * HBAR - HBAR // 1000
    assert balance(CHARLIE) == FIRST - HBAR // 100 - HBAR // 1000  # two signatures
    [first, _] = get(f"/transactions?account.id={BOB}&order=asc")["transactions"]
    assert first["parent_consensus_timestamp"] == outer["consensus_timestamp"]
    assert first["batch_key"] == {"_type": "ECDSA_SECP256K1", "key": KEY.ECDSA_secp256k1.hex()}
    assert first["consensus_timestamp"] > outer["consensus_timestamp"]


def test_one_fails_and_none_has_an_effect_but_its_fee(submit, minted, outcomes, balance, get):
    foreign = rejection(BOB, NFT)
    contents = inner(pay(ALICE, BOB, 1), ALICE), inner(foreign, BOB), inner(pay(BOB, ALICE, 1), BOB)
    assert submit(batch(*contents), CHARLIE, BATCHER).result == "INNER_TRANSACTION_FAILED"
    assert outcomes(CHARLIE) == [("ATOMICBATCH", "INNER_TRANSACTION_FAILED")]
    assert outcomes(ALICE) == [("CRYPTOTRANSFER", "REVERTED_SUCCESS")]
    assert outcomes(BOB) == [("TOKENREJECT", "INVALID_OWNER_ID")]  # and the third was not reached
    assert (balance(ALICE), balance(BOB)) == (FIRST - HBAR // 1000, FIRST - HBAR // 100)
    assert sum(map(balance, (ALICE, BOB, CHARLIE, "0.0.802"))) == 4 * FIRST


def test_a_transaction_that_its_payer_has_not_signed(submit, balance):
    content = batch(inner(pay(ALICE, BOB, 1), BOB))
    submit(pay(ALICE, BOB, 1), ALICE)  # whose key is known now
    before = balance(ALICE), balance(CHARLIE)
    refused = submit(content, CHARLIE, BATCHER)
    assert (refused.result, refused.reached_consensus) == ("INVALID_SIGNATURE", False)
    assert (balance(ALICE), balance(CHARLIE)) == before


def test_one_is_executed_once(submit, balance):
    content = inner(pay(ALICE, BOB, 1), ALICE)
    assert submit(batch(content), CHARLIE, BATCHER).result == "SUCCESS"
    assert submit(batch(content), CHARLIE, BATCHER).result == "INNER_TRANSACTION_FAILED"
    assert balance(BOB) == FIRST + HBAR


def test_a_batch_may_be_the_first_that_an_operator_signs(submit):
    """SDKs add the operator's signature to the batch key's. The operator's key is known from then on."""
    operator, key = "0.0.777001", PrivateKey.generate_ed25519()
    content = inner(pay(operator, BOB, 1), key)
    assert submit(batch(content, payer=operator), BATCHER, key).result == "SUCCESS"
    assert submit(pay(operator, BOB, 1), key).result == "SUCCESS"


def many(count):
    return [inner(pay(ALICE, BOB, 1), ALICE) for _ in range(count)]


def late(body):
    body.transactionID.transactionValidStart.seconds -= 115
    return body


def within(kind=None, **payer):
    body = new_body(ALICE, "")
    if kind:
        getattr(body, kind).SetInParent()
    if payer:
        body.transactionID.accountID.CopyFrom(AccountID(**payer))
    return [inner(body, ALICE)]


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        (list, "BATCH_LIST_EMPTY"),
        (lambda: many(1) * 2, "BATCH_LIST_CONTAINS_DUPLICATES"),
        (lambda: [inner(pay(ALICE, BOB, 1), ALICE, key=None)], "MISSING_BATCH_KEY"),
        (lambda: [inner(pay(ALICE, BOB, 1), ALICE, node=3)], "INVALID_NODE_ACCOUNT_ID"),
        (lambda: [b"\xff"], "INVALID_TRANSACTION"),
        (within, "INVALID_TRANSACTION_BODY"),
        (lambda: within("cryptoTransfer", accountNum=-1), "PAYER_ACCOUNT_NOT_FOUND"),
        (lambda: within("cryptoTransfer", alias=b"\xab" * 20), "PAYER_ACCOUNT_NOT_FOUND"),
        (lambda: within("freeze"), "NOT_SUPPORTED"),
        (lambda: within("atomic_batch"), "BATCH_LIST_EMPTY"),
        (lambda: [inner(batch(*many(1)), CHARLIE)], "BATCH_TRANSACTION_IN_BLACKLIST"),
        (lambda: [inner(creation_of(payment()), CHARLIE)], "BATCH_TRANSACTION_IN_BLACKLIST"),
        (lambda: [inner(late(pay(ALICE, BOB, 1)), ALICE)], "TRANSACTION_EXPIRED"),
        (lambda: many(40), "TRANSACTION_OVERSIZE"),
    ],
)
def test_what_is_refused(submit, balance, contents, expected):
    assert submit(batch(*contents()), CHARLIE, BATCHER).result == expected
    assert balance(ALICE) == FIRST


def test_its_keys_have_signed_and_only_what_is_in_a_batch_has_one(submit):
    assert submit(batch(*many(1)), CHARLIE).result == "INVALID_SIGNATURE"
    body = approval(ALICE)
    body.batch_key.CopyFrom(KEY)
    expected = "BATCH_KEY_SET_ON_NON_INNER_TRANSACTION"
    assert submit(body, ALICE, BATCHER).result == expected
