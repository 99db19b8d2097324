"""What a sale cost is looked up on the ledger: the marketplace's part, the royalties, and what we paid."""

import json

import pytest
from hiero_sdk_python.hapi.services.custom_fees_pb2 import CustomFee

from harness import wallets
from harness.cast import ALICE, BOB, CHARLIE, TOKEN
from harness.mirror import Mirror
from marketplace.hedera import times
from marketplace.hedera.transactions import make_account_id
from marketplace.services import read
from marketplace.store import events
from marketplace.watcher import maintenance
from marketplace.watcher.sale_costs import store_sale_costs
from tests.actions import list_nft, tell
from tests.engines import both_engines
from tests.market.selling import Market

HBAR = 100_000_000
OTHER = "0.0.7002"
COLLECTOR = "0.0.2101"


@pytest.fixture
def market(tmp_path):
    market = Market(tmp_path, SALE_FEE_BASIS_POINTS="250", SALE_FEE_BUDGET="1000")
    with market.app.app_context():
        maintenance.store_network()
    return market


def ask_royalty(market, token, percent):
    fee = CustomFee(fee_collector_account_id=make_account_id(COLLECTOR))
    fee.royalty_fee.exchange_value_fraction.numerator = percent
    fee.royalty_fee.exchange_value_fraction.denominator = 100
    with market.ledger.sandbox.app_context():
        wallets.change_fees(token, [fee], times.now())


def look_up(market):
    """Let the watcher look up what sales cost: rows by the ids of NFTs."""
    with market.app.app_context():
        store_sale_costs()
        sql = """
            SELECT sale.*, event.token, event.serial_no, event.transaction_id
            FROM sale JOIN event ON event.id = event_id
        """
        rows = [dict(row) for row in read().execute(sql).fetchall()]
    return {(row["token"], row["serial_no"]): row for row in rows}


def charged(market, transaction_id):
    account_id, start = transaction_id.split("@")
    path = f"/api/v1/transactions/{account_id}-{start.replace('.', '-')}"
    rows = market.ledger.sandbox.test_client().get(path).json["transactions"]
    return rows[0]["charged_tx_fee"]


def put_up(market, nft, price, seller=ALICE):
    market.ledger.mint(nft, seller, times.now() - times.SECOND)
    list_nft(market.client, price, accountId=seller, tokenId=nft[0], serialNo=nft[1])


@both_engines
def test_it_works(market):
    ask_royalty(market, TOKEN, 10)
    put_up(market, (TOKEN, 1), 200)
    assert market.submit(market.buy(1)).result == "SUCCESS"
    market.sync()

    [row] = look_up(market).values()
    royalties = json.loads(row["royalties"])
    assert row["way"] == "single"
    assert row["part_tinybars"] == 5 * HBAR
    assert royalties == [{"collector": COLLECTOR, "tinybars": 195 * HBAR // 10}]
    assert row["association_tinybars"] > 0  # the buyer's first NFT of this token
    paid = charged(market, row["transaction_id"])
    assert row["network_tinybars"] + row["association_tinybars"] == paid
    assert 0 < row["network_tinybars"] < row["association_tinybars"]
    assert row["rate_cents"] / row["rate_hbar"] > 0

    put_up(market, (TOKEN, 2), 200)
    market.submit(market.buy(2))
    market.sync()
    second = look_up(market)[TOKEN, 2]
    assert second["association_tinybars"] == 0
    assert second["network_tinybars"] == charged(market, second["transaction_id"])


def test_the_nfts_of_a_basket_share_what_it_cost(market):
    prices = {(TOKEN, 1): 50, (TOKEN, 2): 70, (OTHER, 1): 33}
    sellers = {nft: CHARLIE if nft[0] == OTHER else ALICE for nft in prices}
    ask_royalty(market, TOKEN, 10)
    for nft, price in prices.items():
        put_up(market, nft, price, sellers[nft])
    named = [{"tokenId": token, "serialNo": number} for token, number in prices]
    r = market.client.post("/v1/buy/extwallet", json={"accountId": BOB, "nfts": named})
    assert market.submit(r).result == "SUCCESS"
    market.sync()

    rows = look_up(market)
    assert {nft: row["part_tinybars"] for nft, row in rows.items()} == {
        nft: price * HBAR // 40 for nft, price in prices.items()
    }
    assert {row["way"] for row in rows.values()} == {"basket"}
    assert [json.loads(rows[nft]["royalties"]) for nft in prices] == [
        [{"collector": COLLECTOR, "tinybars": 50 * HBAR * 39 // 400}],
        [{"collector": COLLECTOR, "tinybars": 70 * HBAR * 39 // 400}],
        [],
    ]
    associations = [rows[nft]["association_tinybars"] for nft in prices]
    assert associations[0] == associations[2] > 0 == associations[1]
    [transaction_id] = {row["transaction_id"] for row in rows.values()}
    paid = sum(row["network_tinybars"] + row["association_tinybars"] for row in rows.values())
    assert paid == charged(market, transaction_id)


def test_it_goes_on_where_it_stopped(market):
    put_up(market, (TOKEN, 1), 5)
    market.submit(market.buy(1))
    market.sync()
    mirror = Mirror(market.app)
    asked = mirror.count("/transactions/0.0.9001-")
    assert len(look_up(market)) == 1
    after = mirror.count("/transactions/0.0.9001-")
    look_up(market)
    assert mirror.count("/transactions/0.0.9001-") == after > asked


@pytest.mark.parametrize("change", [{"nft_transfers": []}, {"transfers": []}, {"result": 5}])
def test_a_transaction_that_is_not_as_a_sale_is_holds_up_no_other(market, change):
    put_up(market, (TOKEN, 1), 5)
    market.submit(market.buy(1))
    market.sync()
    Mirror(market.app).alter(
        "/transactions/0.0.9001-", lambda document: document["transactions"][0].update(change)
    )
    [row] = look_up(market).values()
    assert row["way"] is None and row["rate_cents"]


@both_engines
def test_a_sale_that_the_ledger_does_not_show_holds_up_no_other(market):
    tell(market.app, {})
    [row] = look_up(market).values()
    assert row["way"] is None and row["network_tinybars"] is None


@both_engines
def test_rates_are_kept_when_they_change(app):
    with app.app_context():
        for _ in range(2):
            maintenance.store_network()
        assert len(read().execute("SELECT * FROM exchange_rate").fetchall()) == 1
        [row] = read().execute("SELECT * FROM exchange_rate").fetchall()
        assert events.get_rate(read(), row["read_at"])["cents"] == row["cents"]
        assert events.get_rate(read(), "2020-01-01T00:00:00.000000000Z") is None
