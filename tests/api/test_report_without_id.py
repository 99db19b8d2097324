"""A report without a transaction id is about the newest one that its caller prepared, and about no other.

First what was seen to fail, then random stories, compared with a small model.
"""

import base64
import random
from dataclasses import dataclass

import pytest

from marketplace import create_app, times
from marketplace.sandbox import wallet
from marketplace.sandbox.ledger import consensus
from marketplace.store.database import write
from tests.conftest import (
    ALICE,
    BOB,
    CHARLIE,
    TOKEN,
    Ledger,
    assert_error,
    authorized_client,
    settings,
)

KEYS = {"tokenId": TOKEN, "serialNo": 7}
STORIES, STEPS = 12, 14


@pytest.fixture
def prepare(client):
    """Prepare a listing, a withdrawal or a purchase; its bytes."""

    def prepare(what, account_id=ALICE, **fields):
        answer = client.post(
            f"/v1/{what}/extwallet", json=KEYS | {"accountId": account_id} | fields
        )
        assert answer.status_code == 200, answer.json
        return answer.json["byteArray"]

    return prepare


@pytest.fixture
def report(client):
    return lambda account_id=ALICE: client.post(
        "/v1/comingsoon", json=KEYS | {"accountId": account_id}
    )


@pytest.fixture
def sell_back(ledger, prepare):
    """Bob buys what is listed, and gives it back: both are on the ledger."""

    def sell_back():
        ledger.sign_and_submit(prepare("buy", BOB), BOB)
        ledger.hand_over((TOKEN, 7), ALICE)
        ledger.sign_and_submit(prepare("list", listingPrice=5))

    return sell_back


def expire(app):
    """Let the time be over of all that was prepared and not submitted."""
    with app.app_context(), write() as db:
        then = times.to_iso(times.now() - 600 * times.SECOND)
        db.execute("UPDATE prepared_transaction SET expires_at = :then", {"then": then})


def test_a_purchase_that_was_never_signed_is_not_ok_for_an_earlier_one(
    app, nft, lister, sell_back, prepare, report
):
    lister(nft)
    sell_back()
    prepare("buy", BOB)
    assert report(BOB).status_code == 202
    expire(app)
    for _ in range(2):
        assert_error(report(BOB), 409, "did not sell the NFT", "TRANSACTION_EXPIRED")


def test_a_purchase_that_failed_stays_so(nft, ledger, lister, sell_back, prepare, report):
    lister(nft)
    sell_back()
    content = prepare("buy", BOB)
    ledger.withdraw(nft, ALICE)
    assert ledger.submit(ledger.sign(content, BOB)).result == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"
    for _ in range(3):
        assert_error(report(BOB), 409, "SPENDER_DOES_NOT_HAVE_ALLOWANCE")


def test_a_gift_is_no_purchase(app, nft, ledger, lister, prepare, report):
    lister(nft)
    prepare("buy", BOB)
    ledger.hand_over(nft, BOB)
    assert report(BOB).status_code == 202
    expire(app)
    assert_error(report(BOB), 409, "TRANSACTION_EXPIRED")


def test_what_is_listed_again_is_awaited(nft, ledger, lister, prepare, report):
    lister(nft)
    ledger.sign_and_submit(prepare("delist"))
    assert report().status_code == 200
    prepare("list", listingPrice=5)
    assert report().status_code == 202


def test_a_second_withdrawal_is_awaited(nft, ledger, lister, prepare, report):
    lister(nft)
    ledger.sign_and_submit(prepare("delist"))
    lister(nft)
    content = prepare("delist")
    assert report().status_code == 202
    ledger.sign_and_submit(content)
    assert report().json == {"result": "OK"}


@pytest.fixture(params=["another access token", "another end user"])
def stranger(request, app, client):
    """Prepares whatever it likes in Alice's name, and again and again."""
    if request.param == "another access token":
        stranger = authorized_client(app, "write")
    else:
        stranger = from_address(app, client, "192.0.2.7")

    def prepare(what, **fields):
        for _ in range(6):
            body = KEYS | {"accountId": ALICE} | fields
            assert stranger.post(f"/v1/{what}/extwallet", json=body).status_code == 200

    return prepare


def from_address(app, client, address):
    """The same access token, from another address."""
    other = app.test_client()
    other.environ_base |= client.environ_base | {"REMOTE_ADDR": address}
    return other


def test_a_strangers_withdrawal_does_not_end_a_listing(app, nft, ledger, prepare, report, stranger):
    ledger.sign_and_submit(prepare("list", listingPrice=5))
    for _ in range(2):
        stranger("delist")
        assert report().json == {"result": "OK"}
        expire(app)
        assert report().json == {"result": "OK"}


def test_a_strangers_listing_does_not_undo_a_withdrawal(
    app, nft, ledger, lister, prepare, report, stranger
):
    lister(nft)
    ledger.sign_and_submit(prepare("delist"))
    for _ in range(2):
        stranger("list", listingPrice=9)
        assert report().json == {"result": "OK"}
        expire(app)
        assert report().json == {"result": "OK"}


def test_an_owner_whose_address_changed_reports_the_newest_of_all(
    app, nft, ledger, client, prepare
):
    ledger.sign_and_submit(prepare("list", listingPrice=5))
    body = KEYS | {"accountId": ALICE}
    elsewhere = from_address(app, client, "192.0.2.8")
    assert elsewhere.post("/v1/comingsoon", json=body).json == {"result": "OK"}
    prepare("delist")
    assert elsewhere.post("/v1/comingsoon", json=body).status_code == 202


def test_a_listing_that_came_by_another_token_stands(app, nft, ledger, lister, prepare, report):
    lister(nft)
    ledger.sign_and_submit(prepare("delist"))
    other = authorized_client(app, "write")
    body = KEYS | {"accountId": ALICE, "listingPrice": 9}
    ledger.sign_and_submit(other.post("/v1/list/extwallet", json=body).json["byteArray"])
    assert report().json == {"result": "OK"}


def test_a_withdrawal_that_was_lost_is_not_ok_for_the_listing_before_it(
    app, nft, ledger, prepare, report
):
    ledger.sign_and_submit(prepare("list", listingPrice=5))
    assert report().json == {"result": "OK"}
    prepare("delist")
    expire(app)
    for _ in range(2):
        assert_error(report(), 409, "did not withdraw the NFT", "TRANSACTION_EXPIRED")


# Random stories


@dataclass
class Prepared:
    kind: str
    caller: int
    account_id: str
    price: int | None
    at: int
    content: bytes
    result: str | None = None  # on the ledger
    is_expired: bool = False


class Story:
    """What happens to one NFT, and what a report is to be answered: the model."""

    def __init__(self, callers, ledger, app, seed):
        self.callers, self.ledger, self.app = callers, ledger, app
        self.dice = random.Random(seed)
        self.nft = {"tokenId": TOKEN, "serialNo": 1 + seed}
        self.owner, self.listing = ALICE, None  # its price, and when it was listed
        self.prepared, self.clock = [], 0
        callers[0].post("/v1/add", json=self.nft | {"accountId": ALICE})

    def play(self):
        steps = {
            self.list: 3,
            self.delist: 3,
            self.buy: 3,
            self.sign: 6,
            self.give: 1,
            self.expire: 1,
        }
        for step in self.dice.choices(list(steps), steps.values(), k=STEPS):
            self.clock += 1
            step()
            for account_id in self.dice.sample((ALICE, BOB), self.dice.randint(0, 2)):
                self.report(account_id)

    def list(self):
        price = self.dice.randint(1, 3)
        self.prepare("list", self.dice.choice((ALICE, BOB)), price, listingPrice=price)

    def delist(self):
        self.prepare("delist", self.dice.choice((ALICE, BOB)), None)

    def buy(self):
        self.prepare("buy", self.dice.choice((ALICE, BOB)), None)

    def prepare(self, kind, account_id, price, **fields):
        body = self.nft | {"accountId": account_id} | fields
        caller = self.dice.randrange(len(self.callers))
        answer = self.callers[caller].post(f"/v1/{kind}/extwallet", json=body)
        if answer.status_code != 200:
            return
        content = base64.b64decode(answer.json["byteArray"])
        if all(row.content != content for row in self.prepared):  # a purchase is handed out again
            row = Prepared(kind, caller, account_id, price, self.clock, content)
            self.prepared.insert(0, row)

    def sign(self):
        waiting = [row for row in self.prepared if not row.result and not row.is_expired]
        if not waiting:
            return
        row = self.dice.choice(waiting)
        with self.ledger.sandbox.app_context():
            receipt = consensus.submit(wallet.sign(row.account_id, row.content), times.now())
        row.result = receipt.result
        if receipt.result != "SUCCESS":
            return
        if row.kind == "buy":
            self.owner = row.account_id
        self.listing = (row.price, self.clock) if row.kind == "list" else None

    def give(self):
        self.owner, self.listing = self.dice.choice((ALICE, BOB)), None
        self.ledger.hand_over((TOKEN, self.nft["serialNo"]), CHARLIE)
        self.ledger.hand_over((TOKEN, self.nft["serialNo"]), self.owner)

    def expire(self):
        expire(self.app)
        for row in self.prepared:
            row.is_expired = True

    def report(self, account_id):
        caller = self.dice.randrange(len(self.callers))
        expected = self.expect(account_id, caller)
        body = self.nft | {"accountId": account_id}
        answer = self.callers[caller].post("/v1/comingsoon", json=body)
        told = [(row.kind, row.caller, row.price, row.result) for row in self.prepared]
        assert answer.status_code == expected, (answer.json, self.owner, self.listing, told)

    def expect(self, account_id, caller):
        """By the newest that the caller prepared, unless the newest of all is a listing that stands."""
        stands = self.listing is not None and self.owner == account_id
        rows = [row for row in self.prepared if row.account_id == account_id]
        if not rows:
            return 200 if stands else 404
        newest = next((row for row in rows if row.caller == caller), rows[0])
        if rows[0].kind == "list" and self.is_fulfilled(rows[0]):
            return 200
        if self.is_fulfilled(newest) or (newest.kind == "list" and stands):
            return 200
        if newest.result:
            is_ended = stands if newest.kind == "delist" else newest.kind == "list"
            return 409 if newest.result != "SUCCESS" or is_ended else 200
        if newest.kind != "buy" and self.owner != account_id:
            return 409
        return 409 if newest.is_expired else 202

    def is_fulfilled(self, row):
        """Tell whether the NFT is as an owner wanted it, whatever made it so."""
        if row.kind == "buy" or self.owner != row.account_id:
            return False
        if row.kind == "delist":
            return self.listing is None
        return (
            self.listing is not None and self.listing[0] == row.price and row.at <= self.listing[1]
        )


@pytest.mark.once("the tests above ask both engines")
def test_random_reports_are_answered_as_the_model_says(tmp_path):
    app = create_app(**settings(tmp_path), MIRROR_NODE_RATE=10_000, SALE_FEE_BUDGET="10000")
    client, ledger = authorized_client(app, "write"), Ledger(app)
    elsewhere = from_address(app, client, "192.0.2.7")
    callers = client, elsewhere, authorized_client(app, "write")
    for seed in range(STORIES):
        Story(callers, ledger, app, seed).play()
