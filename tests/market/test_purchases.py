"""Asking again for the same: one transaction, one reservation."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.apps import authorized_client
from harness.cast import BOB, CHARLIE, MARKET, TOKEN
from harness.mirror import Mirror
from marketplace.hedera import times
from marketplace.market.purchases import HANDED_OUT_SECONDS, VALID_SECONDS
from tests.actions import list_nft
from tests.answers import assert_error, opened
from tests.engines import both_engines
from tests.market.selling import MOST


@pytest.fixture
def serial_no(market):
    """Of an NFT that is for sale."""
    return market.list_one()


def test_it_works(market, serial_no):
    first = market.buy(serial_no).json
    assert market.buy(serial_no).json == first
    assert market.fees() == (0, MOST)


def test_it_survives_a_restart(market, serial_no, make_market):
    first = market.buy(serial_no).json
    authorization = market.client.environ_base
    again = make_market()
    again.client.environ_base = authorization
    assert again.buy(serial_no).json == first
    assert again.fees() == (0, MOST)


@both_engines
def test_requests_at_once_are_handed_out_the_same_purchase(market, serial_no):
    clients = [market.app.test_client() for _ in range(6)]
    for client in clients:
        client.environ_base = market.client.environ_base
    with ThreadPoolExecutor(6) as pool:
        answers = [*pool.map(lambda client: market.buy(serial_no, client=client), clients)]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json["byteArray"] for answer in answers}) == 1
    assert market.fees() == (0, MOST)


@pytest.mark.parametrize("other", ["buyer", "caller", "price"])
def test_another_ask_is_another_transaction(market, serial_no, other):
    """Of another caller, too: without the buyer's signature, a transaction can be submitted, and is lost."""
    first = market.buy(serial_no)
    if other == "price":
        list_nft(market.client, 6, serialNo=serial_no)
    client = authorized_client(market.app, "write") if other == "caller" else None
    r = market.buy(serial_no, CHARLIE if other == "buyer" else BOB, client)
    assert r.status_code == 200
    assert r.json["byteArray"] != first.json["byteArray"]
    assert market.fees() == (0, 2 * MOST)


def test_a_purchase_that_soon_expires_is_not_handed_out_again(market, serial_no):
    first = market.buy(serial_no).json
    market.age(VALID_SECONDS - HANDED_OUT_SECONDS - 10)
    assert market.buy(serial_no).json == first
    market.age(10)
    assert market.buy(serial_no).json != first


def test_a_purchase_that_failed_is_not_handed_out_again(market):
    market.follow()
    serial_no = market.list_one()
    first = market.buy(serial_no)
    assert market.submit_stuffed(first, signatures=0).result == "INVALID_SIGNATURE"
    market.follow()
    second = market.buy(serial_no)
    assert market.submit(second).result == "SUCCESS"


def test_a_purchase_is_handed_out_again_though_the_share_is_full(make_market):
    market = make_market(SALE_FEE_BUDGET="1.2")
    serial_no = market.list_one()
    first = market.buy(serial_no).json
    assert market.buy(serial_no, CHARLIE).status_code == 503
    assert market.buy(serial_no).json == first


def test_a_report_settles_what_the_purchase_reserved(market):
    """The watcher does so seconds later: until then the buyer's next purchase was one too many."""
    serial_no = market.list_one()
    market.submit(market.buy(serial_no))
    keys = {"accountId": BOB, "tokenId": TOKEN, "serialNo": serial_no}
    assert market.client.post("/v1/comingsoon", json=keys).json == {"result": "OK"}
    charged, reserved = market.fees()
    assert reserved == 0
    assert 0 < charged < MOST
    market.sync()
    assert market.fees() == (charged, 0)


def test_nodes_take_turns(market):
    """So that one which is down stops nobody: who asks again is sent to another one."""
    market.app.config["NODE_ACCOUNT_IDS"] = ("0.0.3", "0.0.4", "0.0.7")
    nodes = []
    for _ in range(3):
        r = market.buy(market.list_one())
        nodes.append(opened(r).body.nodeAccountID.accountNum)
        assert market.submit(r).result == "SUCCESS"
    assert sorted(nodes) == [3, 4, 7]


@both_engines
def test_a_purchase_asks_all_about_its_parties_at_once(client, lister, mirror):
    """Whoever asks first waits until the others have come: one after the other, they never would."""
    lister(("0.0.7001", 7))
    met = threading.Barrier(6, timeout=60)
    paths = r"^/api/v1/(accounts/0\.0\.100[12](/tokens)?|tokens/0\.0\.7001|network/exchangerate)$"

    def wait_for_the_others(environ):
        if "spender.id" not in environ["QUERY_STRING"]:
            met.wait()

    mirror.before(paths, wait_for_the_others)
    body = {"accountId": "0.0.1002", "tokenId": "0.0.7001", "serialNo": 7}
    assert client.post("/v1/buy/extwallet", json=body).status_code == 200


# What may be wrong with our side


def tell_balance(market, balance):
    """Have the mirror node tell another balance of the marketplace's account."""
    change = {"balance": balance and {"balance": balance, "tokens": []}}
    Mirror(market.app).alter(f"/accounts/{MARKET}$", lambda document: document.update(change))


@both_engines
def test_a_clock_that_is_behind_signs_nothing(market, serial_no, caplog):
    Mirror(market.app).set_present(times.now() + 70 * times.SECOND)
    r = market.buy(serial_no)
    assert_error(r, 503, "the service's clock is wrong")
    assert r.headers["Retry-After"]
    assert "The clock of this machine is 69 s behind the ledger" in caplog.text
    assert market.rows() == []


def test_an_account_without_hbar_signs_nothing(market, serial_no, caplog):
    tell_balance(market, 99_999_999)
    for _ in range(2):
        r = market.buy(serial_no)
        assert_error(r, 503, "The marketplace can't pay fees at the moment")
    assert r.headers["Retry-After"]
    assert caplog.text.count("The marketplace's account has 0.99999999 HBAR") == 1
    assert market.rows() == []
    scraper = authorized_client(market.app, "metrics")
    metrics = scraper.get("/metrics").text
    assert "marketplace_balance_tinybars 9.9999999e+07" in metrics
    assert 'marketplace_purchases_total{outcome="BalanceTooLow"} 2.0' in metrics


def test_the_accounts_balance_bounds_open_purchases(market, serial_no):
    tell_balance(market, int(2.5 * MOST))
    answers = [
        market.buy(serial_no, client=authorized_client(market.app, "write")).status_code
        for _ in range(3)
    ]
    assert answers == [200, 200, 503]


def test_an_account_without_a_known_balance_is_a_502(market, serial_no):
    tell_balance(market, None)
    assert_error(market.buy(serial_no), 502, "/accounts/0.0.9001: it has no balance")
