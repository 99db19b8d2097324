"""What a test of a dApp sets over HTTP: snapshots, the clock, the mirror node's lag, faults."""

import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from grpc import StatusCode
from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum

from hiero_sandbox import snapshots
from hiero_sandbox.application import create_sandbox
from hiero_sandbox.conditions import now
from hiero_sandbox.hapi.errors import Failed
from hiero_sandbox.hapi.services import answer, submit
from sandbox.tests import hapi
from sandbox.tests.bodies import FIRST, sign, transfer

PAYER, PAYEE = "0.0.1002", "0.0.1003"


@pytest.fixture
def post(alone):
    def post(path, **fields):
        return alone.client.post(path, json=fields)

    return post


@pytest.fixture
def pay(alone):
    """Pay a tinybar; returns what the mirror node says that the payee got in all."""

    def pay():
        assert alone.submit(transfer(PAYER, {PAYER: -1, PAYEE: 1}), PAYER) == "SUCCESS"
        return alone.balance(PAYEE) - FIRST

    return pay


def seconds_of(alone):
    """The time of the newest transaction."""
    [newest] = alone.get("/transactions?limit=1").json["transactions"]
    return float(newest["consensus_timestamp"])


def test_a_snapshot_is_restored_as_often_as_you_like(alone, post, pay):
    pay()
    first = post("/snapshot").json["snapshot"]
    assert pay() == 2
    second = post("/snapshot").json["snapshot"]
    for snapshot, got in ((first, 1), (second, 2), (first, 1), (first, 1)):
        assert post("/restore", snapshot=snapshot).json == {}
        assert alone.balance(PAYEE) - FIRST == got
        assert pay() == got + 1


def test_reset_leaves_the_known_accounts_alone(alone, post, pay):
    assert pay() == 1
    post("/clock", seconds=86_400)
    assert post("/reset").json == {}
    assert alone.balance(PAYEE) == FIRST
    assert alone.get("/transactions").json["transactions"] == []
    assert pay() == 1


def test_a_file_is_reset_and_restored_too(tmp_path):
    client = create_sandbox(tmp_path / "ledger.db").test_client()
    gift, path = {"accountId": PAYEE, "amount": 5}, f"/api/v1/accounts/{PAYEE}"
    client.post("/faucet", json=gift)
    client.post("/reset")
    assert client.get(path).json["balance"]["balance"] == FIRST
    client.post("/faucet", json=gift)
    snapshot = client.post("/snapshot").json
    client.post("/faucet", json=gift)
    client.post("/restore", json=snapshot)
    again = create_sandbox(tmp_path / "ledger.db").test_client()
    assert again.get(path).json["balance"]["balance"] == FIRST + 5


@pytest.mark.parametrize("path", ["/restore", "/drop"])
def test_a_snapshot_that_nobody_took(post, path):
    assert post(path, snapshot=10**6).status_code == 422


def test_a_dropped_snapshot_is_gone(alone, post, pay):
    first, second = (post("/snapshot").json["snapshot"] for _ in range(2))
    assert post("/drop", snapshot=first).json == {}
    assert post("/restore", snapshot=first).status_code == 422
    assert post("/restore", snapshot=second).status_code == 200


def test_reset_drops_all_snapshots(alone, post):
    [(copied, _)] = taken(alone, post, 1)
    post("/reset")
    assert alone.app.extensions[snapshots.KEY] == {}
    assert_closed(copied)


def test_one_snapshot_too_many_closes_the_oldest(alone, post, monkeypatch):
    monkeypatch.setattr(snapshots, "MOST", 2)
    (oldest, _), *others = taken(alone, post, 2)
    post("/snapshot")
    assert_closed(oldest)
    assert others[0][0].execute("SELECT COUNT(*) FROM account").fetchone()[0] > 1


def taken(alone, post, count):
    for _ in range(count):
        post("/snapshot")
    return [*alone.app.extensions[snapshots.KEY].values()]


def assert_closed(connection):
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_the_clock_is_moved(alone, post, pay):
    """An SDK signs with this machine's time, and its transactions stay valid."""
    pay()
    before = seconds_of(alone)
    snapshot = post("/snapshot").json
    now = float(post("/clock", seconds=30 * 86_400).json["now"])
    assert 0 <= now - before - 30 * 86_400 < 60
    pay()
    assert seconds_of(alone) >= now
    blocks = alone.get("/blocks?limit=1").json["blocks"]
    assert float(blocks[0]["timestamp"]["to"]) >= now
    post("/restore", **snapshot)
    pay()
    assert seconds_of(alone) - before < 60


def test_the_clock_is_not_moved_beyond_what_a_ledger_can_have(post):
    assert post("/clock", seconds=9 * 365 * 86_400).status_code == 200
    assert post("/clock", seconds=2 * 365 * 86_400).status_code == 422


def test_the_clock_is_shown_and_moved_to_a_time(alone, post):
    shown = alone.client.get("/clock").json["now"]
    later = f"{int(shown[:10]) + 3600}.5"
    assert post("/clock", now=later).json["now"].startswith(later[:10])
    assert alone.client.get("/clock").json["now"] >= later
    assert post("/clock", now=shown).status_code == 422


def test_a_lagging_mirror_node_shows_the_past(alone, post, pay):
    pay()
    post("/lag", seconds=5)
    assert (pay(), len(alone.get("/transactions").json["transactions"])) == (1, 1)
    post("/clock", seconds=3)
    assert pay() == 1
    post("/clock", seconds=2)
    assert alone.balance(PAYEE) - FIRST == 2
    post("/clock", seconds=3)
    assert alone.balance(PAYEE) - FIRST == 3
    assert pay() == 3
    post("/lag", seconds=0)
    assert alone.balance(PAYEE) - FIRST == 4


def test_the_node_does_not_lag(alone, post, pay):
    post("/lag", seconds=60)
    pay()
    asked = {"accountID": {"accountNum": 1003}}
    with alone.app.app_context():
        [content] = answer(hapi.query("cryptogetAccountBalance", **asked), 0)
    response, code = hapi.answer(content, "cryptogetAccountBalance")
    assert (code, response.balance) == ("OK", FIRST + 1)


def test_a_node_is_busy_for_the_given_number_of_requests(alone, post):
    post("/fault", fault="NODE_BUSY", requests=2)
    asked = hapi.query("cryptogetAccountBalance", accountID={"accountNum": 1003})
    transaction = sign(transfer(PAYER, {PAYER: -1, PAYEE: 1}))
    with alone.app.app_context():
        [content] = submit(transaction, 0)
        assert hapi.precheck(content) == "BUSY"
        contents = [content for _ in range(2) for content in answer(asked, 0)]
    codes = [hapi.answer(each, "cryptogetAccountBalance")[1] for each in contents]
    assert codes == ["BUSY", "OK"]


def test_a_node_is_unavailable(alone, post):
    post("/fault", fault="NODE_UNAVAILABLE", requests=1)
    asked = hapi.query("cryptogetAccountBalance", accountID={"accountNum": 1003})
    with alone.app.app_context():
        with pytest.raises(Failed) as failed:
            answer(asked, 0)
        assert failed.value.status is StatusCode.UNAVAILABLE
        assert hapi.answer(answer(asked, 0)[0], "cryptogetAccountBalance")[1] == "OK"


def test_the_next_transaction_fails_as_chosen_and_is_charged(alone, post, pay):
    post("/fault", fault="TOKEN_IS_PAUSED", requests=1)
    body = transfer(PAYER, {PAYER: -1, PAYEE: 1})
    assert alone.submit(body, PAYER) == "TOKEN_IS_PAUSED"
    [row] = alone.get("/transactions").json["transactions"]
    assert (row["result"], row["charged_tx_fee"] > 0) == ("TOKEN_IS_PAUSED", True)
    assert alone.balance(PAYEE) == FIRST
    assert pay() == 1


def test_a_receipt_is_unknown_until_its_time(alone, post):
    post("/delay", seconds=5)
    body = transfer(PAYER, {PAYER: -1, PAYEE: 1})
    assert alone.submit(body, PAYER) == "SUCCESS"

    def status():
        asked = hapi.query("transactionGetReceipt", transactionID=body.transactionID)
        with alone.app.app_context():
            response, code = hapi.answer(answer(asked, now())[0], "transactionGetReceipt")
        assert code == "OK"
        return ResponseCodeEnum.Name(response.receipt.status)

    assert status() == "UNKNOWN"
    asked = hapi.query("transactionGetRecord", hapi.COST, transactionID=body.transactionID)
    with alone.app.app_context():
        response = answer(asked, now())[0]
    assert hapi.answer(response, "transactionGetRecord")[1] == "RECORD_NOT_FOUND"
    post("/clock", seconds=5)
    assert status() == "SUCCESS"


@pytest.mark.parametrize(("fault", "status"), [("MIRROR_429", 429), ("MIRROR_503", 503)])
def test_the_mirror_node_fails_the_given_number_of_requests(alone, post, fault, status):
    post("/fault", fault=fault, requests=2)
    answers = [alone.get(f"/accounts/{PAYER}") for _ in range(3)]
    assert [each.status_code for each in answers] == [status, status, 200]
    assert [each.headers.get("Retry-After") for each in answers] == ["1", "1", None]


def test_restoring_ends_lag_and_faults(alone, post, pay):
    snapshot = post("/snapshot").json
    post("/lag", seconds=60)
    post("/fault", fault="MIRROR_503", requests=9)
    post("/restore", **snapshot)
    assert pay() == 1


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/restore", {"snapshot": "1"}),
        ("/clock", {"seconds": 0}),
        ("/clock", {"seconds": -1}),
        ("/clock", {"now": "yesterday"}),
        ("/clock", {"now": 1795823136}),
        ("/clock", {"now": "1"}),
        ("/clock", {"now": "9999999999"}),
        ("/delay", {"seconds": -1}),
        ("/drop", {"snapshot": None}),
        ("/lag", {"seconds": -1}),
        ("/lag", {"seconds": 10**12}),
        ("/fault", {"fault": "EARTHQUAKE", "requests": 1}),
        ("/fault", {"fault": "NODE_BUSY", "requests": -1}),
        ("/fault", {"fault": "SUCCESS", "requests": 1}),
        ("/fault", {"fault": ["NODE_BUSY"], "requests": 1}),
    ],
)
def test_it_rejects_wrong_fields(post, path, fields):
    assert post(path, **fields).status_code == 422


def test_conditions_change_while_others_ask(alone):
    """Lists of copies were changed by several threads at once."""
    client, statuses = alone.app.test_client, set()
    snapshot = client().post("/snapshot").json

    def ask(number):
        mine = client()
        for turn in range(15):
            mine.post("/lag", json={"seconds": (number + turn) % 3})
            mine.post("/faucet", json={"accountId": PAYEE, "amount": 1})
            mine.post("/clock", json={"seconds": 1})
            statuses.add(mine.get(f"/api/v1/accounts/{PAYEE}").status_code)
            if turn == number:
                statuses.add(mine.post("/restore", json=snapshot).status_code)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, range(8)))
    finally:
        sys.setswitchinterval(interval)
    assert statuses == {200}
