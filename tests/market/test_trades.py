"""Whatever owners and buyers do at once: an NFT moves only when its price is paid, and one buyer pays it."""

import base64
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.apps import authorized_client
from harness.cast import ALICE, BOB, CHARLIE, MARKET, TOKEN
from hiero_sandbox.ledger import accounts
from stress.audit import TINYBARS, find_sales
from tests.engines import both_engines
from tests.market.selling import Market, kill_while_submitting

pytestmark = both_engines

ACTS = 20  # of each trader
CROWD = (ALICE, BOB, CHARLIE, "0.0.1004", "0.0.1005")
SHARE = 250  # basis points
BUDGET = 100  # HBAR
NFTS = ((TOKEN, 1), (TOKEN, 2), ("0.0.5002", 1))  # the last one has royalties
# What a trader may get; never a 500, and never a 502 under a clear sky.
ANSWERS = {200, 202, 404, 409, 429, 503}


@pytest.fixture
def market(make_market):
    return make_market(SALE_FEE_BASIS_POINTS=str(SHARE), SALE_FEE_BUDGET=str(BUDGET))


class Trader:
    """One account that lists, withdraws and buys, as chance will have it."""

    def __init__(self, market: Market, account_id: str) -> None:
        self._ledger, self._account_id = market.ledger, account_id
        self._client = authorized_client(market.app, "read", "write")
        self._dice = random.Random(account_id)
        self._kept: list[tuple[str, dict, bytes]] = []  # signed by us, and not submitted yet
        self.counts: Counter = Counter()

    def act(self) -> None:
        token, serial_no = self._dice.choice(NFTS)
        nft = self._client.get(f"/v1/nft/{token}/{serial_no}").json
        if self._kept and self._dice.random() < 0.3:
            self._submit(*self._kept.pop(self._dice.randrange(len(self._kept))))
        elif nft["owner"]["accountId"] != self._account_id:
            self._ask("buy", nft)
        elif self._dice.random() < 0.2:
            self._ask("delist", nft)
        else:
            self._ask("list", nft, listingPrice=self._dice.randint(1, 5))

    def _ask(self, what: str, nft: dict, **fields) -> None:
        body = {"accountId": self._account_id, "tokenId": nft["token"], "serialNo": nft["serialNo"]}
        answer = self._client.post(f"/v1/{what}/extwallet", json=body | fields)
        self._note(what, answer)
        if answer.status_code != 200:
            return
        assert answer.json["metadata"]["accountToSign"] == self._account_id
        content = base64.b64decode(answer.json["byteArray"])
        chance = self._dice.random()
        if chance < 0.1:  # who lets it lie
            return
        if chance < 0.15:  # who leaves the signature out
            return self._submit(what, body, content)
        signed = self._ledger.sign_bytes(content, self._account_id)
        if chance < 0.4:
            self._kept.append((what, body, signed))
            return
        self._submit(what, body, signed)
        if chance < 0.5:  # and submits it twice
            self._submit(what, body, signed)
        if chance > 0.7:
            self._note("comingsoon", self._client.post("/v1/comingsoon", json=body))

    def _submit(self, what: str, body: dict, content: bytes) -> None:
        """Submit a transaction; of a purchase, which lacks the marketplace's signature, hand it in."""
        if what == "buy":
            if self._dice.random() < 0.1:  # who passes the marketplace by
                assert self._ledger.submit(content).result != "SUCCESS"
            signed = {"signedTransaction": base64.b64encode(content).decode()}
            self._note("hand in", self._client.post("/v1/comingsoon", json=body | signed))
        else:
            self.counts[self._ledger.submit(content).result] += 1

    def _note(self, what: str, answer) -> None:
        assert answer.status_code in ANSWERS, f"{what}: {answer.text}"
        self.counts[what, answer.status_code] += 1


def _add_all(market: Market) -> None:
    for position, (token, serial_no) in enumerate(NFTS):
        body = {"accountId": CROWD[position], "tokenId": token, "serialNo": serial_no}
        assert market.client.post("/v1/add", json=body).status_code == 200


def test_whatever_a_crowd_does_each_nft_that_moves_is_paid_for(market):
    _add_all(market)
    traders = [Trader(market, account_id) for account_id in CROWD]

    def trade(trader):
        for _ in range(ACTS):
            trader.act()

    with ThreadPoolExecutor(len(traders)) as pool:
        list(pool.map(trade, traders))  # raises what one of them raised
    counts = sum((trader.counts for trader in traders), Counter())
    sales = find_sales(market.ledger.sandbox, MARKET, share=SHARE)
    assert [sale.fault for sale in sales if sale.fault] == []
    assert sales, counts
    earned = sum(sale.price * SHARE // 10_000 for sale in sales)
    lost = accounts.FIRST_BALANCE + earned - market.balance()
    assert 0 < lost <= BUDGET * TINYBARS
    _expect_book_in_line(market)


def _expect_book_in_line(market: Market) -> None:
    """After one round of the watcher the order book holds no NFT that its owner could not sell."""
    market.sync()
    sandbox = market.ledger.sandbox.test_client()
    for nft in market.client.get("/v1/orderbook").json:
        row = sandbox.get(f"/api/v1/tokens/{nft['token']}/nfts/{nft['serialNo']}").json
        assert (row["account_id"], row["spender"]) == (nft["owner"]["accountId"], MARKET)


def test_a_price_binds_once_a_purchase_is_handed_in_and_never_a_later_seller(market):
    """A signature alone reserves nothing. What the marketplace has signed too is not taken back."""
    _add_all(market)

    def ask(what, account_id, **fields):
        client = authorized_client(market.app, "write")
        body = {"accountId": account_id, "tokenId": TOKEN, "serialNo": 1} | fields
        return client.post(f"/v1/{what}/extwallet", json=body)

    def submit(answer, account_id):
        return market.submit(answer, account_id).result

    assert submit(ask("list", ALICE, listingPrice=5), ALICE) == "SUCCESS"
    kept = {account_id: ask("buy", account_id) for account_id in (BOB, "0.0.1004")}
    assert submit(ask("buy", CHARLIE), CHARLIE) == "SUCCESS"
    assert submit(kept[BOB], BOB) == "NOT_LISTED"
    assert submit(ask("list", CHARLIE, listingPrice=7), CHARLIE) == "SUCCESS"
    back = ask("buy", ALICE)
    assert submit(kept[BOB], BOB) == "PRICE_CHANGED"
    assert submit(back, ALICE) == "SUCCESS"
    assert submit(ask("list", ALICE, listingPrice=9), ALICE) == "SUCCESS"
    taken = ask("buy", BOB)
    assert submit(kept["0.0.1004"], "0.0.1004") == "PRICE_CHANGED"
    kill_while_submitting(market, taken, BOB)
    assert submit(ask("list", ALICE, listingPrice=500), ALICE) == "SUCCESS"
    market.age(20)  # then nobody is submitting it any more
    assert submit(taken, BOB) == "SUCCESS"
    sales = find_sales(market.ledger.sandbox, MARKET, share=SHARE)
    assert [(sale.price // TINYBARS, sale.fault) for sale in sales] == [
        (5, None),
        (7, None),
        (9, None),
    ]
