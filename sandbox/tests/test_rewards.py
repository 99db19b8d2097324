"""Staking rewards: 0.0.800 pays them with a transaction that changes the account's HBAR, in the same row."""

import pytest

from sandbox.tests.bodies import FIRST, HBAR, approval, transfer
from sandbox.tests.people import ALICE, BOB

MARKET, PAYER = "0.0.9001", "0.0.800"


@pytest.fixture
def earn(client):
    """Let an account earn a reward; returns what is not paid yet."""

    def earn(account_id, amount):
        body = {"accountId": account_id, "amount": amount}
        return client.post("/rewards", json=body).json["pendingReward"]

    return earn


@pytest.fixture
def buy(submit, done, minted):
    """Bob buys Alice's NFT for 100 HBAR, of which she lists it; returns the row."""
    submit(approval(ALICE), ALICE)
    body = transfer(MARKET, {BOB: -100 * HBAR, ALICE: 100 * HBAR}, [(minted, ALICE, BOB, True)])
    return lambda: done(body, MARKET, BOB)


def amounts(row):
    return {change["account"]: change["amount"] for change in row["transfers"]}


def test_a_buyers_reward_hides_the_price(earn, buy, get, balance):
    assert (earn(BOB, 10 * HBAR), earn(BOB, 20 * HBAR)) == (10 * HBAR, 30 * HBAR)
    assert get(f"/accounts/{BOB}")["pending_reward"] == 30 * HBAR
    row = buy()
    assert row["staking_reward_transfers"] == [{"account": BOB, "amount": 30 * HBAR}]
    changes = amounts(row)
    assert (changes[BOB], changes[ALICE]) == (-70 * HBAR, 100 * HBAR)
    assert changes[PAYER] == -30 * HBAR
    assert sum(changes.values()) == 0
    assert (balance(BOB), balance(PAYER)) == (FIRST - 70 * HBAR, FIRST - 30 * HBAR)
    assert get(f"/accounts/{BOB}")["pending_reward"] == 0


def test_all_whose_hbar_changed_are_paid(earn, buy):
    for account_id in (ALICE, BOB, MARKET, "0.0.4444"):
        earn(account_id, 5)
    paid = {row["account"] for row in buy()["staking_reward_transfers"]}
    assert paid == {ALICE, BOB, MARKET}


def test_a_failed_transaction_pays_its_payers_reward(submit, row, earn, minted):
    earn(ALICE, 7)
    receipt = submit(transfer(ALICE, nfts=[(minted, BOB, ALICE)]), ALICE)
    assert receipt.result == "INVALID_SIGNATURE"
    assert row(receipt)["staking_reward_transfers"] == [{"account": ALICE, "amount": 7}]


def test_a_reward_is_not_paid_from_an_empty_account(earn, buy, ledger):
    ledger.change_account(PAYER, balance=5)
    earn(BOB, 6)
    row = buy()
    assert row["staking_reward_transfers"] == []
    assert amounts(row)[BOB] == -100 * HBAR
