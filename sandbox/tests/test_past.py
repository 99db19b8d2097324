"""What the mirror node says of an earlier time is what it said then."""

from itertools import pairwise

import pytest

from hiero_sandbox.messages import account
from hiero_sandbox.storage import Database
from hiero_sandbox.versions import set_clock
from sandbox.tests.accounts import update
from sandbox.tests.bodies import FIRST, HBAR, association, token_id, transfer
from sandbox.tests.people import ALICE, BOB
from sandbox.tests.tokens import ISSUER, KEY, TREASURY, about, creation

PAYER, PAYEE = "0.0.1002", "0.0.1003"


@pytest.fixture
def coin(created):
    return created(creation(tokenType=0, initialSupply=100, pause_key=KEY), TREASURY, ISSUER)


def units(token, sender, receiver, amount):
    body = transfer(sender)
    entry = body.cryptoTransfer.tokenTransfers.add(token=token_id((token, 0)))
    for account_id, change in ((sender, -amount), (receiver, amount)):
        entry.transfers.add(accountID=account(account_id), amount=change)
    return body


def test_each_moment_is_shown_as_it_was(done, coin, get):
    paths = [f"/accounts/{ALICE}", f"/tokens/{coin}", "/network/supply"]
    lists = ["/balances?account.id=0.0.1001&account.id=0.0.1002", f"/tokens/{coin}/balances?"]

    def look(moment=""):
        at = f"timestamp={moment}" if moment else ""
        answers = [get(f"{path}?{at}") for path in paths] + [get(f"{path}&{at}") for path in lists]
        answers[0].pop("transactions")
        for answer in answers:
            answer.pop("timestamp", None)
            answer.pop("links", None)
        answers[0]["balance"].pop("timestamp")
        return answers

    changes = [
        (association(ALICE, coin), ALICE),
        (units(coin, TREASURY, ALICE, 30), TREASURY),
        (update(ALICE, memo={"value": "new"}), ALICE),
        (about("tokenMint", coin, amount=5), TREASURY, ISSUER),
        (about("token_pause", coin), TREASURY, ISSUER),
        (about("token_unpause", coin), TREASURY, ISSUER),
        (units(coin, ALICE, TREASURY, 30), ALICE),
        (association(ALICE, coin, kind="tokenDissociate"), ALICE),
        (transfer(ALICE, {ALICE: -HBAR, BOB: HBAR}), ALICE),
    ]
    seen = [(done(*change)["consensus_timestamp"], look()) for change in changes]
    assert len({str(answers) for _, answers in seen}) == len(changes) - 1  # unpaused as before
    for moment, answers in seen:
        assert look(moment) == answers
    for (_, answers), (after, _) in pairwise(seen):
        assert look(f"lt:{after}") == answers


def test_the_list_of_balances_says_of_which_time_it_is(done, get):
    row = done(transfer(ALICE, {ALICE: -HBAR, BOB: HBAR}), ALICE)
    moment = row["consensus_timestamp"]
    path = f"/balances?account.id={BOB}&timestamp"
    assert get(f"{path}={moment}") == {
        "timestamp": moment,
        "balances": [{"account": BOB, "balance": FIRST + HBAR, "tokens": []}],
        "links": {"next": None},
    }
    assert get(f"{path}=gt:9000000000") == {
        "timestamp": None,
        "balances": [],
        "links": {"next": None},
    }


def test_before_its_creation_there_was_nothing(alone):
    assert alone.submit(transfer(PAYER, {PAYER: -HBAR, PAYEE: HBAR}), PAYER) == "SUCCESS"
    alone.submit(creation(), PAYER)
    for path in ("/accounts/0.0.1000001", "/tokens/0.0.5"):
        assert alone.get(f"{path}?timestamp=1600000000").status_code == 404
    balance = alone.get(f"/accounts/{PAYEE}?timestamp=1600000000").json["balance"]
    assert balance["balance"] == FIRST


@pytest.mark.parametrize("operator", ["gt", "gte", "ne"])
def test_of_a_token_only_the_last_moment_is_asked(client, coin, operator):
    path = f"/api/v1/tokens/{coin}?timestamp={operator}:1600000000"
    assert client.get(path).status_code == 400


def test_the_clock_of_changes_never_goes_back():
    with Database().write() as db:
        for now, clock in ((5, 5), (3, 5), (9, 9)):
            set_clock(db, now)
            assert db.execute("SELECT now FROM clock").fetchone()[0] == clock


def test_transactions_are_found_by_hash_without_a_scan():
    sql = "SELECT * FROM transaction_record WHERE hash = x'00'"
    with Database().write() as db:
        [*_, plan] = db.execute(f"EXPLAIN QUERY PLAN {sql}").fetchone()
    assert "transaction_record_by_hash" in plan
