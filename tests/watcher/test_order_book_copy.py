"""Who reads the order book once and then follows events has it for ever: by examples/client/order_book.py."""

import random
import runpy
import threading
import time
from collections import Counter
from contextlib import suppress

import pytest
import requests

from harness.apps import authorized_client
from harness.cast import ALICE, BOB, CHARLIE, TOKEN
from harness.serving import ROOT
from marketplace.market import moderation
from marketplace.market.memos import listing_memo
from marketplace.market.moderation import Ruling, Subject
from marketplace.sandbox.gateway import WSGIAdapter
from marketplace.services import services, write
from marketplace.store import properties
from tests.engines import both_engines

pytestmark = both_engines

SECONDS = 2
MARKET = "http://market.example"
DOOMED = "0.0.7002"  # a token that is deleted, sooner or later
ACCOUNTS = (ALICE, BOB, CHARLIE)
NFTS = [(TOKEN, 1), (TOKEN, 2), (TOKEN, 3), (TOKEN, 4), (TOKEN, 5), (DOOMED, 1)]
STEPS = {
    "add": 2, "approve": 5, "list": 6, "withdraw": 2, "hand_over": 2, "buy": 6, "update": 0.5, "follow": 5,
    "delete": 0.05, "restore": 0.1, "hide": 0.5, "unhide": 0.7, "block": 0.3, "unblock": 0.6,
}  # fmt: skip


@pytest.fixture
def order_book(app, client):
    """The example's class, for this service."""
    namespace = runpy.run_path(str(ROOT / "examples/client/order_book.py"))
    session = requests.Session()
    session.mount(MARKET, WSGIAdapter(app, MARKET))
    session.headers["Authorization"] = client.environ_base["HTTP_AUTHORIZATION"]
    return lambda: namespace["OrderBook"](MARKET, session)


class Life:
    """What people do with NFTs, as chance will have it: here, and behind the service's back."""

    def __init__(self, app, ledger, watcher, seed):
        self.app, self.ledger, self.watcher = app, ledger, watcher
        self.client = authorized_client(app, "read", "write")
        self.dice = random.Random(seed)

    def step(self):
        [name] = self.dice.choices([*STEPS], [*STEPS.values()])
        nft = self.dice.choice(NFTS)
        getattr(self, name)(nft, {"tokenId": nft[0], "serialNo": nft[1]})
        return name

    def owner(self, nft):
        r = self.client.get(f"/v1/nft/{nft[0]}/{nft[1]}")
        return r.json["owner"]["accountId"] if r.status_code == 200 else None

    def follow(self, nft, keys):
        self.watcher.follow()

    def add(self, nft, keys):
        self.client.post("/v1/add", json=keys | {"accountId": self.dice.choice(ACCOUNTS)})

    def approve(self, nft, keys):
        """List it by another program, which reports nothing."""
        if owner := self.owner(nft):
            memo = listing_memo(*nft, self.dice.randint(1, 9), "Foo")
            self.try_to(self.ledger.approve, nft, owner, "0.0.9001", memo)

    def withdraw(self, nft, keys):
        if owner := self.owner(nft):
            self.try_to(self.ledger.withdraw, nft, owner)

    def hand_over(self, nft, keys):
        self.ledger.hand_over(nft, self.dice.choice(ACCOUNTS))

    def update(self, nft, keys):
        self.ledger.update_metadata(nft)

    def delete(self, nft, keys):
        self.ledger.delete_token(DOOMED)

    def restore(self, nft, keys):
        with self.app.app_context(), write() as db:
            properties.mark_epoch(db)

    def hide(self, nft, keys):
        self.decide(moderation.hide, self.choose(nft), Ruling("stolen"))

    def unhide(self, nft, keys):
        self.decide(moderation.unhide, self.choose(nft))

    def choose(self, nft):
        """An NFT, or its collection."""
        return Subject(nft[0], self.dice.choice([0, nft[1]]))

    def block(self, nft, keys):
        self.decide(moderation.block, self.dice.choice(ACCOUNTS), Ruling("fraud"))

    def unblock(self, nft, keys):
        self.decide(moderation.unblock, self.dice.choice(ACCOUNTS))

    def undo_all(self):
        """Show all that is hidden, and unblock all accounts."""
        for nft in NFTS:
            self.decide(moderation.unhide, Subject(*nft))
            self.decide(moderation.unhide, Subject(nft[0]))
        for account_id in ACCOUNTS:
            self.decide(moderation.unblock, account_id)

    def decide(self, act, *arguments):
        with self.app.app_context():
            act(*arguments)

    def list(self, nft, keys):
        self.trade(
            "list", keys | {"accountId": self.owner(nft), "listingPrice": self.dice.randint(1, 9)}
        )

    def buy(self, nft, keys):
        self.trade("buy", keys | {"accountId": self.dice.choice(ACCOUNTS)})

    def trade(self, what, body):
        r = self.client.post(f"/v1/{what}/extwallet", json=body)
        if r.status_code == 200:
            self.try_to(self.ledger.sign_and_submit, r.json["byteArray"], body["accountId"])
            if self.dice.random() < 0.7:
                self.client.post("/v1/comingsoon", json=body)

    def list_kinds(self):
        return [event["kind"] for event in self.client.get("/v1/events?limit=1000").json]

    def try_to(self, act, *arguments):
        with suppress(AssertionError):  # the ledger refuses it
            act(*arguments)


@pytest.fixture
def life(app, ledger, watcher):
    seed = random.SystemRandom().randrange(10**9)
    print(f"seed {seed}")
    life = Life(app, ledger, watcher, seed)
    for nft in NFTS[::2]:
        life.add(nft, {"tokenId": nft[0], "serialNo": nft[1]})
    return life


def test_it_is_exact_after_each_step(life, order_book):
    book, until, taken = order_book(), time.monotonic() + SECONDS, []
    while time.monotonic() < until or len(taken) < 50 or "LISTED" not in life.list_kinds():
        taken.append(life.step())
        book.follow()
        assert book.listings == order_book().listings, taken
    life.undo_all()
    book.follow()
    assert book.listings == order_book().listings, taken
    print(len(taken), Counter(life.list_kinds()))


def test_it_is_exact_however_much_happens_while_it_is_read(app, life, order_book):
    ended, failures = threading.Event(), []

    def live():
        try:
            while not ended.is_set():
                life.step()
        except BaseException as failure:
            failures.append(failure)
            raise
        finally:
            services(app).database.close()

    thread = threading.Thread(target=live)
    thread.start()
    try:
        books, until = [], time.monotonic() + SECONDS
        while time.monotonic() < until or len(books) < 5:
            books.append(order_book())
            for book in books[-5:]:
                book.follow()
    finally:
        ended.set()
        thread.join()
    assert not failures
    for book in books:
        book.follow()
        assert book.listings == order_book().listings
