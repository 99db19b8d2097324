"""Several NFTs bought by one transfer: all or none, each for its own price."""

import pytest

from harness.apps import write_sql
from harness.cast import ALICE, BOB, CHARLIE, TOKEN
from marketplace.hedera import times
from tests.actions import list_nft
from tests.answers import assert_error, handed_out, opened

HBAR = 100_000_000
OTHER = "0.0.7002"
PRICES = {(TOKEN, 1): 5, (TOKEN, 2): 7, (OTHER, 1): 30}  # Alice's two, and Charlie's


@pytest.fixture
def basket(market):
    """Three NFTs of two sellers, for sale."""
    return {
        **list_all(market, ALICE, TOKEN, {1: 5, 2: 7}),
        **list_all(market, CHARLIE, OTHER, {1: 30}),
    }


def list_all(market, seller, token, prices):
    for number, price in prices.items():
        market.ledger.mint((token, number), seller, times.now() - times.SECOND)
        list_nft(market.client, price, accountId=seller, tokenId=token, serialNo=number)
    return {(token, number): price for number, price in prices.items()}


def body_of(nfts, buyer=BOB, **expected):
    named = [{"tokenId": token, "serialNo": number, **expected} for token, number in nfts]
    return {"accountId": buyer, "nfts": named}


def buy(market, nfts, buyer=BOB, client=None, **expected):
    return (client or market.client).post(
        "/v1/buy/extwallet", json=body_of(nfts, buyer, **expected)
    )


def report(market, nfts, buyer=BOB, **more):
    return market.client.post("/v1/comingsoon", json=body_of(nfts, buyer) | more)


def events(market, kind="SOLD"):
    found = market.client.get(f"/v1/events?kind={kind}").json
    return {(event["token"], event["serialNo"]): event for event in found}


def test_it_works(market, basket):
    body = handed_out(buy(market, basket), BOB, returns=True).body
    moved = {
        (
            f"0.0.{of_token.token.tokenNum}",
            nft.serialNumber,
        ): f"0.0.{nft.senderAccountID.accountNum}"
        for of_token in body.cryptoTransfer.tokenTransfers
        for nft in of_token.nftTransfers
    }
    assert moved == {(TOKEN, 1): ALICE, (TOKEN, 2): ALICE, (OTHER, 1): CHARLIE}
    paid = {
        f"0.0.{each.accountID.accountNum}": each.amount
        for each in body.cryptoTransfer.transfers.accountAmounts
    }
    assert paid == {BOB: -42 * HBAR, ALICE: 12 * HBAR, CHARLIE: 30 * HBAR}
    assert body.memo == "Buying 3 NFTs for 42 HBAR on NFT Marketplace"
    assert body.transactionFee == 60_000_000  # a tenth more than of one NFT, for each


def test_all_change_hands_at_their_own_prices(market, basket):
    before = market.balance(BOB)
    receipt = market.submit(buy(market, basket))
    assert receipt.result == "SUCCESS"
    assert market.balance(BOB) == before - 42 * HBAR
    assert report(market, basket, transactionId=receipt.transaction_id).json["result"] == "OK"
    assert report(market, basket).json["result"] == "OK"
    assert {nft: event["price"] for nft, event in events(market).items()} == PRICES
    assert {event["transactionId"] for event in events(market).values()} == {receipt.transaction_id}
    assert market.client.get(f"/v1/collection/{TOKEN}").json["volume"] == 12
    market.settle()
    assert market.fees()[1] == 0


def test_without_its_row_each_has_the_price_of_its_listing(market, basket):
    assert market.submit(buy(market, basket)).result == "SUCCESS"
    write_sql(market.app, "DELETE FROM prepared_transaction")
    market.sync()
    assert {nft: event["price"] for nft, event in events(market).items()} == PRICES


@pytest.mark.parametrize("seller", [CHARLIE, "0.0.2001"])
def test_without_its_row_fees_that_sellers_pay_hide_no_price(make_market, seller):
    """A royalty, the marketplace's part, and a seller who collects the royalty of its own collection."""
    market, royal = make_market(SALE_FEE_BASIS_POINTS="333"), "0.0.5001"
    nfts = list_all(market, ALICE, TOKEN, {1: 7, 2: 11}) | list_all(market, seller, royal, {1: 101})
    assert market.submit(buy(market, nfts)).result == "SUCCESS"
    write_sql(market.app, "DELETE FROM prepared_transaction")
    market.sync()
    assert {nft: event["price"] for nft, event in events(market).items()} == nfts


def test_a_refusal_names_each_nft(market, basket):
    list_nft(market.client, 8, tokenId=TOKEN, serialNo=1)
    r = buy(market, basket, expectedPrice=7)
    changed = assert_error(
        r, 409, "PRICE_CHANGED", f"{TOKEN} #1 costs 8 HBAR now", f"{OTHER} #1 costs 30 HBAR now"
    )
    assert changed["errors"]["nfts"].keys() == {f"{TOKEN}:1", f"{OTHER}:1"}
    assert_error(buy(market, [*basket, (TOKEN, 99)]), 404, "NFT_NOT_STORED")
    market.ledger.withdraw((OTHER, 1), CHARLIE)
    assert_error(buy(market, basket), 409, "NOT_LISTED", OTHER)
    assert_error(
        buy(market, [(TOKEN, 1), (TOKEN, 2)], ALICE), 409, f"#1 belongs to {ALICE} already"
    )
    assert market.fees() == (0, 0)


def test_the_balance_covers_the_sum(market, basket):
    market.ledger.change_account(BOB, balance=41 * HBAR)
    assert_error(buy(market, basket), 409, "41 HBAR, and the price is 42 HBAR")
    market.ledger.change_account(BOB, balance=42 * HBAR)
    assert market.submit(buy(market, basket)).result == "SUCCESS"


def test_a_seller_sells_nfts_of_one_collection(market, basket):
    """The network would take the royalties of both collections of what Alice gets for all."""
    more = list_all(market, ALICE, "0.0.5002", {4: 9})
    r = buy(market, [*basket, *more])
    assert_error(r, 409, "COLLECTIONS_MIXED", f"{ALICE} sells NFTs of several", "Leave out ")
    assert buy(market, [*basket]).status_code == 200


def test_associations_of_all_tokens_are_needed(market, basket):
    market.ledger.change_account(BOB, automatic_associations=1)
    assert_error(buy(market, basket), 409, "may have no automatic association left")
    market.ledger.change_account(BOB, automatic_associations=2)
    assert market.submit(buy(market, basket)).result == "SUCCESS"


@pytest.mark.parametrize(("part", "most"), [("0", 9), ("100", 8)])
def test_ten_accounts_at_most_pay_or_are_paid(make_market, part, most):
    market = make_market(SALE_FEE_BASIS_POINTS=part, SALE_FEE_BUDGET="1000")
    nfts = {}
    for n in range(most + 1):
        nfts |= list_all(market, f"0.0.{2001 + n}", TOKEN, {n + 1: 5})
    r = buy(market, nfts)
    words = f"11 accounts would pay or receive HBAR, and a transfer can have 10: buy from {most} sellers"
    assert_error(r, 409, "TRANSFER_LIST_SIZE_LIMIT_EXCEEDED", words)
    r = buy(market, [*nfts][:-1])
    assert market.submit(r).result == "SUCCESS"


def test_a_listing_of_several_is_bought_in_one_go(market):
    """Eight NFTs that one approval lists."""
    numbers = [*range(1, 9)]
    keys = {"accountId": ALICE, "tokenId": TOKEN, "serialNos": numbers}
    assert market.client.post("/v1/add", json=keys).json == {"result": "OK"}
    r = market.client.post("/v1/list/extwallet", json=keys | {"listingPrice": 3})
    assert market.submit(r, ALICE).result == "SUCCESS"
    assert market.client.post("/v1/comingsoon", json=keys).json["result"] == "OK"
    nfts = [(TOKEN, number) for number in numbers]
    r = buy(market, nfts)
    assert opened(r).body.memo == "Buying 8 NFTs for 24 HBAR on NFT Marketplace"
    assert market.submit(r).result == "SUCCESS"
    assert report(market, nfts).json["result"] == "OK"
    assert market.client.get("/v1/orderbook").json == []
