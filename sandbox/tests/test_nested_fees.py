"""Fees that are paid in a token owe that token's own fees, two levels deep."""

import pytest
from hiero_sdk_python import PrivateKey

from sandbox.tests import accounts
from sandbox.tests.bodies import HBAR, association, transfer
from sandbox.tests.fractional_fees import OTHER, fractional
from sandbox.tests.fungible_tokens import move
from sandbox.tests.nested_fees import paid_in
from sandbox.tests.people import ALICE, BOB
from sandbox.tests.tokens import COLLECTOR, ISSUER, TREASURY, creation, fixed

DEEP = "CUSTOM_FEE_CHARGING_EXCEEDED_MAX_RECURSION_DEPTH"
MANY = "CUSTOM_FEE_CHARGING_EXCEEDED_MAX_ACCOUNT_AMOUNTS"


@pytest.fixture
def coin(created, done):
    """Create a coin with fees, of which Alice has 1,000; Bob and the collectors may have it."""

    def create(*fees):
        body = creation(tokenType=0, initialSupply=10_000, custom_fees=fees)
        coin = created(body, TREASURY, ISSUER, COLLECTOR, OTHER)
        is_fractional = any(fee.HasField("fractional_fee") for fee in fees)
        for account_id in (ALICE, BOB, COLLECTOR, *([] if is_fractional else [OTHER])):
            done(association(account_id, coin), account_id)
        done(move(TREASURY, coin, {TREASURY: -1000, ALICE: 1000}), TREASURY)
        return coin

    return create


def units(row, token):
    moved = [each for each in row["token_transfers"] if each["token_id"] == token]
    return {each["account"]: each["amount"] for each in moved}


def test_a_fee_owes_the_fee_of_its_token(coin, done, balance):
    gold = coin(fixed(HBAR))
    silver = coin(paid_in(gold, 10))
    bronze = coin(paid_in(silver, 7))
    before = balance(COLLECTOR)
    row = done(move(ALICE, bronze, {ALICE: -5, BOB: 5}), ALICE)
    assert units(row, bronze) == {ALICE: -5, BOB: 5}
    assert units(row, silver) == {ALICE: -7, COLLECTOR: 7}
    assert units(row, gold) == {ALICE: -10, COLLECTOR: 10}
    assert balance(COLLECTOR) == before + HBAR
    assessed = [(fee["token_id"], fee["amount"]) for fee in row["assessed_custom_fees"]]
    assert assessed == [(silver, 7), (gold, 10), (None, HBAR)]


def test_there_are_two_levels(coin, submit, created):
    """Which is checked before associations."""
    unassociated = created(
        accounts.creation(key=accounts.public(PrivateKey.generate_ed25519())), ALICE
    )
    token = coin()
    for _ in range(2):
        token = coin(paid_in(token, 1))
    assert submit(move(ALICE, token, {ALICE: -1, BOB: 1}), ALICE).result == "SUCCESS"
    token = coin(paid_in(token, 1))
    for receiver in (BOB, unassociated):
        assert submit(move(ALICE, token, {ALICE: -1, receiver: 1}), ALICE).result == DEEP


def test_who_gets_a_fee_pays_the_fraction_of_it(coin, done):
    silver = coin(fractional((1, 10), OTHER))
    bronze = coin(paid_in(silver, 100))
    row = done(move(ALICE, bronze, {ALICE: -5, BOB: 5}), ALICE)
    assert units(row, silver) == {ALICE: -100, COLLECTOR: 90, OTHER: 10}


def test_a_collector_of_the_token_owes_nothing(coin, done):
    silver = coin(fixed(HBAR, ALICE))
    bronze = coin(paid_in(silver, 7))
    row = done(move(ALICE, bronze, {ALICE: -5, BOB: 5}), ALICE)
    assert len(row["assessed_custom_fees"]) == 1


def test_one_who_cannot_pay_all_pays_nothing(coin, submit, row):
    gold = coin()
    silver = coin(paid_in(gold, 1001))
    bronze = coin(paid_in(silver, 7))
    refused = submit(move(ALICE, bronze, {ALICE: -5, BOB: 5}), ALICE)
    assert refused.result == "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE"
    assert row(refused)["token_transfers"] == []


def test_too_many_balances_change(coin, done, submit):
    """Ten of the coin and ten of HBAR; the fee's two are too many."""
    silver = coin()
    bronze = coin(paid_in(silver, 1))
    people = [f"0.0.{number}" for number in range(4001, 4010)]
    many = {ALICE: -9} | dict.fromkeys(people, 1)
    body = move(ALICE, bronze, many, hbar=many)
    assert submit(body, ALICE).result == MANY
    done(move(ALICE, bronze, many), ALICE)
    done(transfer(ALICE, many), ALICE)
