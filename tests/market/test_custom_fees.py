"""Custom fees of a sale: what is sold passes at consensus, and what is refused would have failed there.

The sandbox charges them as the network does, and shares no code with the service, which judges by the mirror
node's answers.
"""

import random
from collections import Counter

import pytest
from hiero_sdk_python.hapi.services.custom_fees_pb2 import CustomFee

from harness import wallets
from harness.cast import ALICE, BOB, TOKEN
from harness.mirror import Mirror
from hiero_sandbox.database import read, write
from hiero_sandbox.ledger import accounts, queries
from hiero_sandbox.ledger.envelopes import write_id
from marketplace.hedera import times
from marketplace.hedera.transactions import make_account_id, make_token_id
from marketplace.ledger.objects import FixedFee, LedgerToken, RoyaltyFee
from marketplace.market import collection_facts
from marketplace.market.memos import listing_memo
from marketplace.market.sale_checks import Lot, find_owed
from marketplace.sandbox import wallet
from marketplace.sandbox.world import TREASURYS_KEY
from sandbox.tests.bodies import HBAR, make, sign, transfer
from tests.actions import hand_in
from tests.answers import assert_error
from tests.engines import both_engines
from tests.examples import SEEDS
from tests.market import selling

MARKET, COLLECTOR, OTHER, TREASURY = "0.0.9001", "0.0.2101", "0.0.2102", "0.0.1000"
PEOPLE = (ALICE, COLLECTOR, OTHER, *(f"0.0.{number}" for number in range(2103, 2109)))
BASIS_POINTS = 250


@pytest.fixture
def market(tmp_path):
    return Market(tmp_path)


class Market(selling.Market):
    """One NFT after the other, listed and bought."""

    def __init__(self, folder):
        fees = {"SALE_FEE_BASIS_POINTS": str(BASIS_POINTS), "SALE_FEE_BUDGET": "10000"}
        # Refused at once: images cost more than all else here.
        super().__init__(folder, IPFS_GATEWAYS="https://127.0.0.1", **fees)
        self.coin = self._create_coin()

    def _create_coin(self):
        """Create a fungible token, in which fees may be asked for."""
        names = {"name": "Coins", "symbol": "COIN", "treasury": make_account_id(TREASURY)}
        body = make(
            TREASURY, "tokenCreation", **names, autoRenewPeriod={"seconds": 7_776_000},
            tokenType=0, initialSupply=1000,
        )  # fmt: skip
        body.transactionFee = 30 * HBAR
        assert self.ledger.submit(sign(body, wallet.private_key(TREASURY))).result == "SUCCESS"
        rows = self.ledger.sandbox.test_client().get("/api/v1/transactions").json["transactions"]
        return rows[0]["entity_id"]

    def charge(self, token, *fees):
        """Let an issuer change a token's custom fees. All collectors may receive the coin."""
        with self.ledger.sandbox.app_context():
            with write() as db:
                for fee in fees:
                    collector = write_id(fee.fee_collector_account_id)
                    accounts.associate(db, collector, self.coin, times.now())
            receipt = wallets.change_fees(token, fees, times.now())
        assert receipt.result in ("SUCCESS", "CUSTOM_SCHEDULE_ALREADY_HAS_NO_FEES")

    def change(self, change):
        """Change the ledger behind everybody's back."""
        with self.ledger.sandbox.app_context(), write() as db:
            change(db)

    def made_of_nothing(self):
        """The tinybars that there are, beside what accounts begin with."""
        with self.ledger.sandbox.app_context():
            rows = queries.select(read(), "account")
            return sum(row["balance"] - accounts.FIRST_BALANCE for row in rows)

    def list(self, nft, price, seller=ALICE):
        """List an NFT as another program does, which does not look at the fees."""
        keys = {"accountId": seller, "tokenId": nft[0], "serialNo": nft[1]}
        assert self.client.post("/v1/add", json=keys).status_code == 200
        self.ledger.approve(nft, seller, MARKET, listing_memo(*nft, price, "any"))

    def prepare_listing(self, nft, price=10):
        keys = {"accountId": ALICE, "tokenId": nft[0], "serialNo": nft[1]}
        return self.client.post("/v1/list/extwallet", json=keys | {"listingPrice": price})

    def buy(self, nft, buyer=BOB):
        return super().buy(nft[1], buyer, token=nft[0])

    def submit(self, r, buyer=BOB):
        return super().submit(r, buyer).result

    def sum_received(self, sold):
        """What their last sales left the sellers, as the events say."""
        received = Counter()
        for name, serial_no in sold:
            url = f"/v1/nft/{name}/{serial_no}/events?order=desc"
            r = self.client.get(url)
            [sale] = [event for event in r.json if event["kind"] == "SOLD"]
            received[sale["from"]["accountId"]] += int(sale["sellerReceived"])
        return received

    def buy_all(self, nfts, buyer):
        named = [{"tokenId": token, "serialNo": number} for token, number in nfts]
        body = {"accountId": buyer, "nfts": named}
        return self.client.post("/v1/buy/extwallet", json=body)

    def force(self, sold, buyer=BOB):
        """The same purchase, though the service does not sign it. ``sold``: sellers and prices by NFT."""
        paid, moved = Counter(), []
        for nft, (seller, price) in sold.items():
            tinybars = price * HBAR
            part = tinybars * BASIS_POINTS // 10_000
            paid.update({buyer: -tinybars, seller: tinybars - part, MARKET: part})
            moved.append((nft, seller, buyer, True))
        content = wallets.seal(transfer(MARKET, paid, moved))
        for signer in (MARKET, buyer):
            content = self.ledger.sign_bytes(content, signer)
        return self.ledger.submit(content).result


class Chance:
    """A random fee schedule of a token, and a buyer who may have too little."""

    def __init__(self, market, name, number):
        self.name, self.token = name, f"0.0.{880_000 + number}"
        self._market, self._dice = market, random.Random(name)
        self.buyer = f"{self.token}1"
        self.collectors = set()  # of fees that anybody else may have paid them
        self.price = self._dice.choice((1, 3, 50))
        self.sold = {
            (self.token, 1): (self._dice.choice((ALICE, ALICE, ALICE, COLLECTOR)), self.price)
        }

    def buy(self):
        return self._market.buy((self.token, 1), self.buyer)

    def set_the_scene(self):
        """The fees are there before the listing, mostly; what people have changes after it."""
        for name in sorted({nft[0] for nft in self.sold}):
            self._list(name)
        self._market.change(self._change)

    def _list(self, of):
        dice = self._dice
        fees = [self._fee() for _ in range(self._choose_fees())]
        after = dice.random() < 0.1
        if not after:
            self._market.charge(of, *fees)
        for nft, (seller, price) in self.sold.items():
            if nft[0] == of:
                self._market.list(nft, price, seller)
        if after:
            self._market.charge(of, *fees)

    def _choose_fees(self):
        return self._dice.choice((0, 1, 1, 2, 2, 3, 10))

    def _fee(self):
        dice = self._dice
        collector = dice.choice((COLLECTOR, COLLECTOR, OTHER, OTHER, self.buyer, ALICE))
        self.collectors.add(collector)
        spares = dice.random() < 0.3
        if dice.random() < 0.4:
            part = dice.choice(
                ((5, 100), (1, 40), (1, 3), (3, 4), (1, 1), (1, 7), (2**63 - 1, 2**63 - 1))
            )
            return royalty(collector, *part, spares)
        amount = dice.choice((1, 5, HBAR // 10, HBAR, 20 * HBAR, 2**63 - 1))
        return fixed(amount, dice.choice((None, None, None, self._market.coin)), collector, spares)

    def _change(self, db):
        dice, now = self._dice, times.now()
        for account_id, chance in ((ALICE, 0.1), (self.buyer, 0.5), (COLLECTOR, 0.1)):
            if dice.random() < chance:
                left = dice.choice((0, 1, HBAR, self.price * HBAR))
                accounts.add(db, MARKET, accounts.balance(db, account_id) - left, now)
                accounts.add(db, account_id, left - accounts.balance(db, account_id), now)


class Basket(Chance):
    """The same of up to ten NFTs: of each seller, some of one token with fees of its own."""

    def __init__(self, market, name, number):
        super().__init__(market, name, number)
        dice, sellers = self._dice, self._dice.choice((2, 3, 8))
        self.sold = {
            (f"{self.token}{n}", serial_no): (seller, dice.choice((1, 3, 50)))
            for n, seller in enumerate(dice.sample(PEOPLE, sellers))
            for serial_no in range(1, dice.choice((1, 1, 2 if sellers > 5 else 4)) + 1)
        }
        self.sold = dict([*self.sold.items()][:10])
        self.price = sum(price for _, price in self.sold.values())

    def buy(self):
        return self._market.buy_all(self.sold, self.buyer)

    def _choose_fees(self):
        return self._dice.choice((0, 0, 1, 1, 2))

    def _fee(self):
        if self._dice.random() < 0.7:  # mostly fees that can be paid, to anybody
            collector = self._dice.choice((*PEOPLE, "0.0.2111", "0.0.2112", "0.0.2113", "0.0.2114"))
            self.collectors.add(collector)
            kinds = (royalty(collector, 5, 100), fixed(HBAR // 10, None, collector))
            return self._dice.choice(kinds)
        return super()._fee()


def clean_up(db):
    for account_id in PEOPLE:
        amount = 1000 * HBAR - accounts.balance(db, account_id)
        accounts.add(db, MARKET, -amount, times.now())
        accounts.add(db, account_id, amount, times.now())


POLICY = ("nothing would be left", "changed after this NFT was listed", "is paid in a token")


@pytest.mark.parametrize(("kind", "sales"), [(Chance, 24), (Basket, 12)])
@pytest.mark.parametrize("seed", SEEDS)
def test_purchases_are_refused_exactly_where_the_ledger_would(market, seed, kind, sales):
    """Random sales; each outcome is there several times."""
    outcomes = Counter(_try(market, kind(market, f"{seed} {n}", n)) for n in range(sales))
    assert min(outcomes[name] for name in ("passed", "refused", "policy")) >= 2, outcomes


def _try(market, chance):
    market.change(clean_up)
    chance.set_the_scene()
    about = chance.name
    sellers = {seller for seller, _ in chance.sold.values()} - chance.collectors
    before = {seller: market.balance(seller) for seller in sellers}
    r = chance.buy()
    if r.status_code == 200:
        assert market.submit(r, chance.buyer) == "SUCCESS", about
        received = market.sum_received(chance.sold)
        for seller in sellers:
            missing = market.balance(seller) - before[seller] - received[seller]
            assert 0 <= missing < len(chance.sold), about  # each NFT's share is rounded down
        outcome = "passed"
    elif any(words in r.json["message"] for words in POLICY):
        outcome = "policy"
    else:
        assert r.status_code == 409, (about, r.json)
        result = market.force(chance.sold, chance.buyer)
        assert result != "SUCCESS", (about, r.json)
        outcome = "refused"
    assert market.made_of_nothing() == 0, about
    return outcome


def custom_fee(collector, spares, **kind):
    options = {"all_collectors_are_exempt": spares, **kind}
    return CustomFee(fee_collector_account_id=make_account_id(collector), **options)


def fixed(amount=HBAR, unit=None, collector=COLLECTOR, spares=False):
    fee = {"amount": amount, "denominating_token_id": unit and make_token_id(unit)}
    return custom_fee(collector, spares, fixed_fee=fee)


def royalty(collector, numerator, denominator, spares=False):
    part = {"numerator": numerator, "denominator": denominator}
    return custom_fee(collector, spares, royalty_fee={"exchange_value_fraction": part})


@pytest.fixture
def listed(market):
    """Lists an NFT of a token with these custom fees."""

    def list_nft(*fees, price=10):
        market.charge(TOKEN, *fees)
        market.list((TOKEN, 7), price)
        return TOKEN, 7

    return list_nft


def test_the_seller_pays_fixed_fees(market, listed):
    nft = listed(fixed(2 * HBAR))
    before = market.balance(ALICE)
    assert market.submit(market.buy(nft)) == "SUCCESS"
    assert market.balance(ALICE) == before + 10 * HBAR * 9750 // 10_000 - 2 * HBAR
    assert market.balance(COLLECTOR) == 10_002 * HBAR


def assert_refused(market, r, *words):
    assert_error(r, 409, *words)
    assert market.rows() == []


def test_without_fees_nothing_more_is_asked(market, listed):
    nft = listed()
    mirror = Mirror(market.app)
    assert market.buy(nft).status_code == 200
    assert mirror.count(COLLECTOR) == 0
    assert len(mirror.asked) <= 12


@pytest.mark.parametrize("newer", [[fixed(1)], [royalty(COLLECTOR, 1, 100)], []])
def test_fees_that_are_newer_than_the_listing(market, listed, newer):
    nft = listed(fixed(2))
    market.charge(TOKEN, *newer)
    assert_refused(market, market.buy(nft), "changed after this NFT was listed", "list it again")
    market.list(nft, 10)
    assert market.buy(nft).status_code == 200


def test_fees_that_change_between_preparing_and_handing_in(market, listed):
    nft = listed(fixed(2))
    r = market.buy(nft)
    market.charge(TOKEN, royalty(COLLECTOR, 99, 100))
    before = market.balance(ALICE)
    assert_refused(market, hand_in(market.client, r), "changed after this NFT was listed")
    assert market.balance(ALICE) == before


def let_issuer_change_fees(market):
    with market.ledger.sandbox.app_context():
        wallets.set_fee_key(TOKEN, TREASURYS_KEY)
    with market.app.app_context():
        collection_facts.refresh(TOKEN)


@both_engines
def test_fees_that_the_issuer_can_change_need_a_verified_collection(market, listed):
    """Between signature and consensus, nothing binds the fees: 99 % left a seller 10 of 1,000."""
    nft = listed()
    let_issuer_change_fees(market)
    for answer in (market.prepare_listing(nft), market.buy(nft)):
        assert_error(answer, 409, "FEES_CHANGEABLE", f"flask verify {TOKEN}")
    run = market.app.test_cli_runner().invoke(args=["verify", TOKEN, "--reason", "known"])
    assert run.exit_code == 0, run.output
    market.list(nft, 10)
    assert market.submit(market.buy(nft)) == "SUCCESS"


def add(market, serial_no):
    market.ledger.mint((TOKEN, serial_no), ALICE, times.now())
    keys = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": serial_no}
    assert market.client.post("/v1/add", json=keys).status_code == 200


@pytest.mark.parametrize(
    ("fees", "receives"),
    [([], 975), ([royalty(COLLECTOR, 5, 100)], 926.25), ([fixed(2 * HBAR)], 973)],
)
def test_the_seller_sees_what_is_left(market, fees, receives):
    """The marketplace's part is 2.5 %. The page tells it before the wallet is asked to sign."""
    market.charge(TOKEN, *fees)
    add(market, 7)
    r = market.prepare_listing((TOKEN, 7), 1000)
    assert r.json["metadata"]["sellerReceives"] == str(int(receives * HBAR))
    query = {"account": ALICE, "token": TOKEN, "serial_no": "7", "price": "1000"}
    page = market.client.get("/list", query_string=query).text
    assert f"<dt>You receive</dt><dd><strong>{receives:g} HBAR</strong>" in page


def test_a_listing_asks_for_the_fees_only_if_they_were_never_read(market):
    market.charge(TOKEN, royalty(COLLECTOR, 5, 100))
    mirror = Mirror(market.app)
    mirror.fail(f"/tokens/{TOKEN}$")
    add(market, 7)
    assert market.prepare_listing((TOKEN, 7), 1000).json["metadata"]["sellerReceives"] is None
    mirror.heal()
    for _ in range(2):
        r = market.prepare_listing((TOKEN, 7), 1000)
        assert r.json["metadata"]["sellerReceives"] == str(int(926.25 * HBAR))
        with market.app.app_context():
            collection_facts.refresh(TOKEN)
        mirror.fail(f"/tokens/{TOKEN}$")


@pytest.mark.parametrize(
    "fees",
    [
        [royalty(COLLECTOR, 1, 1)],
        [royalty(COLLECTOR, 1, 2), royalty(OTHER, 1, 2)],
        [royalty(COLLECTOR, 1, 2), fixed(5 * HBAR)],
        [fixed(10 * HBAR)],
        [fixed(2**63 - 1), fixed(2**63 - 1)],
    ],
)
def test_fees_that_leave_the_seller_nothing(market, listed, fees):
    nft = listed(*fees)
    for r in (market.buy(nft), market.prepare_listing(nft)):
        assert_refused(market, r, "nothing would be left", TOKEN)


def test_a_fee_in_a_token_is_refused(market, listed):
    nft = listed(fixed(5, market.coin))
    for r in (market.buy(nft), market.prepare_listing(nft)):
        assert_refused(market, r, TOKEN, "is paid in a token")


@pytest.mark.parametrize(
    ("seller", "owed"), [(ALICE, 2), (COLLECTOR, 0), (OTHER, 1), (TREASURY, 0)]
)
def test_exempt_accounts_pay_no_custom_fees(seller, owed):
    token = LedgerToken(
        name="x",
        type="NON_FUNGIBLE_UNIQUE",
        total_supply=1,
        treasury=TREASURY,
        fixed_fees=(FixedFee(COLLECTOR, 5, None),),
        royalties=(RoyaltyFee(OTHER, 1, 100, None, exempts_collectors=True),),
    )
    royalties, fixed_fees = find_owed(Lot(TOKEN, seller, 1000), token)
    assert len([*royalties, *fixed_fees]) == owed
