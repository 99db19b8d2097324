"""``flask explain``: each point of the rule with what decides it, in words an operator can pass on."""

import re

import pytest

from harness.cast import ALICE, BOB, CHARLIE, KEYS, MARKET, TOKEN
from harness.ledger import Ledger
from marketplace.services import write
from marketplace.store import rechecks
from marketplace.watcher.follow import Follower
from marketplace.watcher.recheck import drain_queue
from tests.actions import list_nft
from tests.engines import both_engines
from tests.watcher.following import approve

NFT = f"{TOKEN}:7"
ID = r"0\.0\.\d+@\d+\.\d{9}"


def explain(app, name=NFT):
    """What is said about each, by its name."""
    result = app.test_cli_runner().invoke(args=["explain", name])
    assert result.exit_code == 0, result.output
    lines = [re.split("  +", line, maxsplit=1) for line in result.stdout.splitlines()]
    return dict(reversed(lines))  # of several with a name, the first


@pytest.fixture
def ledger(app):
    return Ledger(app)


def test_a_listing_holds_in_all_three_points(app, client):
    transaction_id = list_nft(client, 250)
    explained = explain(app)
    assert re.fullmatch(rf"for sale for 250 HBAR by {ALICE}, since 20\S+Z", explained["Here"])
    assert explained["On the ledger"].startswith("for sale for 250 HBAR since ")
    assert (explained["Owner"], explained["Spender"]) == (ALICE, MARKET)
    for point in ("1. May be spent", "2. Approved by its owner", "3. Memo of a listing"):
        assert explained[point].startswith("yes, by ")
        assert str(transaction_id) in explained[point]
    assert "They differ" not in explained
    [prepared] = [what for about, what in explained.items() if about.startswith("Prepared 20")]
    assert f"listing for 250 HBAR, signed by {ALICE}: {transaction_id}" in prepared
    assert ", on the ledger (" in prepared


def test_an_approval_with_a_memo_of_ones_own_is_named(app, client, ledger):
    list_nft(client, 250)
    ledger.approve((TOKEN, 7), ALICE, MARKET, "for my friends")
    explained = explain(app)
    assert re.match(
        rf"no: a later CRYPTOAPPROVEALLOWANCE ended it: the memo of {ID} names no price for it, by {ID} ",
        explained["3. Memo of a listing"],
    )
    assert explained["Memo"] == '"for my friends"'
    assert explained["2. Approved by its owner"].startswith("yes, by ")
    assert explained["On the ledger"].startswith("not for sale: ")
    assert explained["They differ"].endswith("flask sync")


def test_a_sale_elsewhere_and_a_withdrawal_are_named(app, client, ledger):
    list_nft(client, 250)
    ledger.withdraw((TOKEN, 7), ALICE)
    explained = explain(app)
    assert re.match(
        rf"no: the marketplace may not spend it, by {ID} \(CRYPTODELETEALLOWANCE, ",
        explained["1. May be spent"],
    )
    assert explained["2. Approved by its owner"] == "not asked"
    ledger.hand_over((TOKEN, 7), BOB)
    explained = explain(app)
    assert explained["Owner"] == BOB
    assert re.match(
        rf"no: the marketplace may not spend it, by {ID} \(CRYPTOTRANSFER",
        explained["1. May be spent"],
    )
    ledger.approve((TOKEN, 7), BOB, CHARLIE)
    assert explain(app)["Spender"] == CHARLIE


@both_engines
def test_it_shows_queued_rechecks_and_missing_metadata(app, client):
    client.post("/v1/add", json=KEYS)
    explained = explain(app)
    assert explained["Metadata"].startswith(
        'incomplete: "it was not tried for yet" (0 failed attempts, again 20'
    )
    assert f"{TOKEN}" in explained["Queued (nft)"] or "due 20" in explained["Queued (nft)"]
    assert explained["Prepared"] == "nothing within the last hours"
    with app.app_context(), write() as db:
        row = rechecks.get_recheck(db, "nft", TOKEN, 7)
        rechecks.delete_recheck(db, row)
    assert explain(app)["Queued"] == "no"


@both_engines
def test_it_shows_the_operators_decisions(app, client):
    list_nft(client, 250)
    explained = explain(app)
    assert explained["Hidden"] == explained["Owner blocked"] == "no"
    for words in (["hide", NFT], ["block", ALICE]):
        result = app.test_cli_runner().invoke(args=[*words, "--reason", f"stolen: {words[0]}"])
        assert result.exit_code == 0, result.output
    explained = explain(app)
    assert explained["Here"].startswith("withheld: for sale for 250 HBAR")
    assert explained["On the ledger"].startswith("for sale for 250 HBAR")
    assert explained["Hidden"].endswith("Z: stolen: hide")
    assert explained["Owner blocked"].endswith("Z: stolen: block")
    assert explain(app, ALICE)["Blocked"].endswith("Z: stolen: block")


def test_one_that_nobody_has_added_is_not_stored(app):
    explained = explain(app, f"{TOKEN}:8")
    assert explained["Here"].startswith("not stored")


@both_engines
def test_an_account_is_explained_by_its_nfts(app, client, ledger):
    list_nft(client, 250)
    ledger.mint((TOKEN, 9), ALICE, 1)
    ledger.approve((TOKEN, 9), ALICE, MARKET, "mine")
    explained = explain(app, ALICE)
    assert explained["Here"] == "1 of its NFTs are for sale"
    assert explained["On the ledger"] == "the marketplace may spend 2 of its NFTs"
    assert explained[f"{TOKEN} #7"].startswith("for sale for 250 HBAR")
    assert explained[f"{TOKEN} #9"].startswith(
        "not for sale: a later CRYPTOAPPROVEALLOWANCE ended it: the memo of"
    )
    ledger.withdraw((TOKEN, 7), ALICE)
    assert re.fullmatch(
        rf"not for sale: the marketplace may not spend it; here for sale for 250 HBAR by {ALICE}, since \S+",
        explain(app, ALICE)[f"{TOKEN} #7"],
    )
    assert explain(app, CHARLIE)["On the ledger"] == "the marketplace may spend 0 of its NFTs"


def test_it_refuses_what_is_neither_nft_nor_account(app):
    result = app.test_cli_runner().invoke(args=["explain", "7"])
    assert result.exit_code == 2
    assert "Name an NFT (0.0.5001:7) or an account (0.0.1001)" in result.output


def test_the_log_names_what_was_taken_off(app, client, ledger, caplog):
    with app.app_context():
        follower = Follower()
        follower.step()
        list_nft(client, 250)
        ledger.withdraw((TOKEN, 7), ALICE)
        follower.step()
        drain_queue()
    assert (
        f"{TOKEN} #7 was taken off the order book: its owner withdrew the approval" in caplog.text
    )


def test_the_log_names_what_was_listed_and_who_has_it_now(app, client, ledger, caplog):
    caplog.set_level("INFO")
    with app.app_context():
        follower = Follower()
        follower.step()
        ledger.mint((TOKEN, 7), ALICE, 1)
        approve(ledger, (TOKEN, 7), price=1250)
        follower.step()
        drain_queue()
        assert f"{TOKEN} #7 is for sale for 1,250 HBAR by {ALICE}" in caplog.text
        ledger.hand_over((TOKEN, 7), BOB)
        follower.step()
        drain_queue()
    assert f"{TOKEN} #7 was taken off the order book: it belongs to {BOB} now" in caplog.text


def test_one_that_was_never_listed_has_no_approval_to_withdraw(app, client, ledger):
    client.post("/v1/add", json=KEYS)
    explained = explain(app)
    assert explained["On the ledger"] == "not for sale: the marketplace may not spend it"
    assert explained["Spender"] == "none"
    assert explained["1. May be spent"].startswith("no: the marketplace may not spend it")
    assert "no transaction" not in " ".join(explained.values())
