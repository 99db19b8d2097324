"""What the marketplace submits for an offer: lost answers, killed processes, silent nodes, and its budget."""

import pytest

from harness.apps import authorized_client, write_sql
from harness.cast import ALICE, BOB, CHARLIE, KEYS, MARKET, TOKEN
from hiero_sandbox.conditions import KEY as CONDITIONS
from marketplace.errors import SignerFailed
from marketplace.hedera import times
from marketplace.ledger.consensus_node import NodeSilent
from marketplace.market import purchase_fees
from marketplace.market.offers import submission
from marketplace.services import services
from marketplace.store.database import read
from tests.answers import assert_error
from tests.engines import both_engines

HBAR = 100_000_000
OFFER = {"accountId": BOB, "tokenId": TOKEN, "serialNo": 7, "offerPrice": 50}


@pytest.fixture
def ask(client, nft):
    def ask(client=client, **fields):
        return client.post("/v1/offer/extwallet", json=OFFER | fields)

    return ask


@pytest.fixture(autouse=True)
def no_long_waits(monkeypatch):
    monkeypatch.setattr(submission, "PAUSE_SECONDS", 10)  # one look, and no other


def rows(app):
    sql = "SELECT * FROM prepared_transaction WHERE kind = 'offer' ORDER BY prepared_at"
    with app.app_context():
        return [dict(row) for row in read().execute(sql).fetchall()]


def schedules(ledger):
    client = ledger.sandbox.test_client()
    return client.get(f"/api/v1/schedules?account.id={MARKET}&limit=100").json["schedules"]


def fees(app):
    with app.app_context():
        return purchase_fees.find_fees(times.now())


def set_fault(ledger, fault, requests):
    ledger.sandbox.extensions[CONDITIONS].set_fault(fault, requests)


@both_engines
def test_it_reserves_and_settles_its_fee(app, ask, ledger):
    before = ledger.balance(MARKET)
    assert ask().status_code == 200
    [row] = rows(app)
    assert (row["fee_tinybars"], row["is_settled"], row["is_sold"]) == (HBAR // 5, 1, 1)
    assert before - ledger.balance(MARKET) == HBAR // 5
    assert fees(app) == (HBAR // 5, 0)


@both_engines
def test_a_mirror_node_that_lags_is_asked_again(app, ask, ledger, mirror):
    mirror.fail("/transactions/", 404)
    r = ask()
    assert (r.status_code, r.json) == (202, {"result": "PENDING"})
    assert int(r.headers["Retry-After"]) > 0
    mirror.heal()
    r = ask()
    assert r.status_code == 200
    assert len(schedules(ledger)) == len(rows(app)) == 1


@both_engines
def test_a_process_that_is_killed_after_the_submission_loses_nothing(app, ask, ledger, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(submission, "wait_for", die)
        with pytest.raises(KeyboardInterrupt):
            ask()
    [made] = schedules(ledger)
    r = ask()
    assert r.status_code == 200, r.text
    assert r.json["metadata"]["offerId"] == made["schedule_id"]
    assert len(schedules(ledger)) == len(rows(app)) == 1


def test_an_answer_that_was_lost_is_no_second_schedule(app, ask, ledger):
    """The sandbox's node took it, and its answer was lost: it is submitted again as it was."""
    sandbox = services(app).sandbox
    submit, sandbox.submit = sandbox.submit, lambda content: lose(submit(content))

    def lose(_):
        raise NodeSilent("lost")

    r = ask()
    assert r.status_code == 200  # the mirror node shows it
    assert len(schedules(ledger)) == 1


def test_nodes_that_do_not_answer(app, ask, ledger):
    set_fault(ledger, "NODE_UNAVAILABLE", 1)
    assert ask().status_code == 202  # a node may have it
    [row] = rows(app)
    assert row["signed"]
    assert schedules(ledger) == []
    r = ask()
    assert r.status_code == 200, r.text
    assert len(schedules(ledger)) == len(rows(app)) == 1


@both_engines
def test_busy_nodes_leave_nothing_behind(app, ask, ledger):
    set_fault(ledger, "NODE_BUSY", 3)
    assert_error(ask(), 503, "None of the network's nodes took the transaction")
    assert rows(app) == []
    assert fees(app) == (0, 0)
    set_fault(ledger, "NODE_BUSY", 0)
    assert ask().status_code == 200


def test_what_fails_at_consensus_is_reported_and_charged(app, ask, ledger):
    set_fault(ledger, "INVALID_ADMIN_KEY", 1)
    assert_error(ask(), 409, "INVALID_ADMIN_KEY")
    [row] = rows(app)
    assert (row["is_settled"], row["is_sold"]) == (1, 0)
    assert ask().status_code == 200
    assert len(rows(app)) == 2


def test_a_signer_that_fails_leaves_nothing_behind(app, ask, ledger, monkeypatch):
    def fail(body):
        raise SignerFailed("no answer")

    with monkeypatch.context() as failing:
        failing.setattr(services(app).signer, "sign", fail)
        assert_error(ask(), 503, "signer did not sign")
    assert rows(app) == schedules(ledger) == []
    assert ask().status_code == 200


def test_another_schedule_than_the_one_that_was_asked_for_is_not_handed_out(ask, mirror):
    """A mirror node, or who stands before it, names a schedule of another sale."""
    other = ask(offerPrice=60).json["metadata"]["offerId"]
    mirror.alter(
        "/transactions/0.0.9001",
        lambda document: document["transactions"][0].update(entity_id=other),
    )
    assert ask().status_code == 202
    assert_error(ask(), 502, "it is another offer")


@both_engines
def test_one_token_and_strangers_cannot_use_up_what_others_need(app, client, nft, ledger, ask):
    """Strangers ask in Bob's name, as often as they may; then Bob himself asks, with another token."""
    token = authorized_client(app, "read", "write", "on-behalf")
    for stranger in ("eve", "mallory", "trudy"):
        for price in range(1, 22):
            r = token.post(
                "/v1/offer/extwallet",
                json=OFFER | {"offerPrice": price},
                headers={"On-Behalf-Of": stranger},
            )
        body = assert_error(r, 409, "An end user can have 20 offers at once")
        assert body["reason"] == "TOO_MANY_OFFERS"
    assert len(schedules(ledger)) == 60
    assert ask().status_code == 200
    assert client.post("/v1/add", json=KEYS).status_code == 200


def test_a_share_of_the_budget_is_used_up_by_its_caller_alone(app, nft, monkeypatch):
    monkeypatch.setitem(app.config, "SALE_FEE_BUDGET", 4 * HBAR)
    first, second = (authorized_client(app, "read", "write") for _ in range(2))
    answers = [
        first.post("/v1/offer/extwallet", json=OFFER | {"offerPrice": price})
        for price in range(1, 9)
    ]
    assert answers[0].status_code == 200
    assert_error(answers[-1], 429)
    assert second.post("/v1/offer/extwallet", json=OFFER).status_code == 200


def test_what_is_not_signed_stops_counting_after_half_an_hour(app, ask):
    for price in range(1, 21):
        assert ask(offerPrice=price).status_code == 200
    assert_error(ask(offerPrice=21), 409)
    then = times.to_iso(times.now() - 1801 * times.SECOND)
    write_sql(app, "UPDATE prepared_transaction SET prepared_at = :then", then=then)
    assert ask(offerPrice=21).status_code == 200


def test_two_callers_share_nothing(app, ask, ledger):
    other = authorized_client(app, "read", "write")
    mine, theirs = ask().json, ask(client=other).json
    assert mine["metadata"]["offerId"] != theirs["metadata"]["offerId"]
    assert_error(ask(accountId=ALICE), 409)
    assert ask(accountId=CHARLIE).status_code == 200
