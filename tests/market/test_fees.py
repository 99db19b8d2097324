"""What anybody can make the marketplace pay: the limits, the budget, and how a fee comes to be known."""

import base64
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from marketplace import create_app, times
from marketplace.market import fees, purchases
from marketplace.market.shares import Share
from marketplace.operator import rounds
from marketplace.sandbox.ledger import accounts
from marketplace.sandbox.ledger import queries as ledger_queries
from marketplace.store import preparations
from marketplace.store.database import read, write
from tests.conftest import (
    ALICE,
    BOB,
    CHARLIE,
    TOKEN,
    Ledger,
    altering,
    assert_error,
    authorized_client,
    settings,
)

MARKET = "0.0.9001"
HBAR = 100_000_000
MOST = HBAR  # of one purchase: 0.5, and an association of $0.05 at ten cents an HBAR


class Market:
    """A marketplace with one NFT for sale after the other."""

    def __init__(self, folder, decoder, **more):
        self.app = create_app(**settings(folder) | more)
        self.app.extensions["decoder"] = decoder
        self.client = authorized_client(self.app, "read", "write")
        self.ledger = Ledger(self.app)
        self.serial_no = 0

    def list_one(self, price=5):
        self.serial_no += 1
        keys = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": self.serial_no}
        assert self.client.post("/v1/add", json=keys).status_code == 200
        self.list_again(self.serial_no, price)
        return self.serial_no

    def list_again(self, serial_no, price=5):
        keys = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": serial_no}
        r = self.client.post("/v1/list/extwallet", json=keys | {"listingPrice": price})
        self.ledger.sign_and_submit(r.json["byteArray"])
        assert self.client.post("/v1/comingsoon", json=keys).json == {"result": "OK"}

    def buy(self, serial_no, account_id=BOB, client=None):
        keys = {"accountId": account_id, "tokenId": TOKEN, "serialNo": serial_no}
        return (client or self.client).post("/v1/buy/extwallet", json=keys)

    def submit(self, r, account_id=BOB):
        return self.ledger.submit(self.ledger.sign(r.json["byteArray"], account_id))

    def sync(self):
        with self.app.app_context():
            rounds.sync()

    def balance(self, account_id=MARKET):
        with self.ledger.sandbox.app_context():
            return accounts.balance(read(), account_id)

    def rows(self):
        with self.app.app_context():
            sql = """
                SELECT * FROM prepared_transaction WHERE kind = 'purchase'
                ORDER BY prepared_at, transaction_id
            """
            return [dict(row) for row in read().execute(sql).fetchall()]

    def age(self, seconds):
        """Let all purchases be so much older."""
        with self.app.app_context(), write() as db:
            for row in self.rows():
                moved = {"id": row["transaction_id"]}
                for name in ("prepared_at", "expires_at"):
                    then = times.from_iso(row[name]) - seconds
                    moved[name] = times.to_iso(int(then * times.SECOND))
                sql = """
                    UPDATE prepared_transaction
                    SET prepared_at = :prepared_at, expires_at = :expires_at
                    WHERE transaction_id = :id
                """
                db.execute(sql, moved)

    def fees(self):
        with self.app.app_context():
            return fees.find_fees(times.now())


@pytest.fixture
def market(tmp_path, decoder):
    return lambda **more: Market(tmp_path, decoder, **more)


# Limits


def test_few_are_open_for_each_nft(market):
    market = market()
    serial_no = market.list_one()
    for number in range(fees.OPEN_FOR_EACH_NFT - 1):
        assert market.buy(serial_no, f"0.0.{1100 + number}").status_code == 200
    r = market.buy(serial_no, "0.0.1200")
    assert_error(r, 429, f"{TOKEN} #{serial_no} has 3 purchases that may still be submitted")
    assert 30 <= int(r.headers["Retry-After"]) <= 60
    market.age(61)
    assert market.buy(serial_no, "0.0.1200").status_code == 200


def test_few_are_open_for_each_buyer(market):
    market = market()
    for _ in range(fees.OPEN_FOR_EACH_BUYER - 1):
        assert market.buy(market.list_one()).status_code == 200
    serial_no = market.list_one()
    assert_error(market.buy(serial_no), 429, f"{BOB} has 5 purchases")
    assert market.buy(serial_no, CHARLIE).status_code == 200


def test_nobody_keeps_others_from_an_nft(market):
    """Whoever asks in strangers' names and signs nothing leaves a place for the next access token."""
    market = market()
    serial_no, other = market.list_one(), authorized_client(market.app, "write")
    for number in range(9):
        market.buy(serial_no, f"0.0.{1100 + number}")
    assert market.buy(serial_no, BOB, other).status_code == 200
    third = authorized_client(market.app, "write")
    assert_error(market.buy(serial_no, CHARLIE, third), 429, f"{TOKEN} #{serial_no} has 4")


def test_nobody_keeps_a_buyer_from_buying(market):
    market = market()
    for _ in range(9):
        market.buy(market.list_one(), BOB)
    other = authorized_client(market.app, "write")
    serial_no = market.list_one()
    assert market.buy(serial_no, BOB, other).status_code == 200
    assert_error(market.buy(serial_no, BOB, other), 429, f"{BOB} has 6")


def test_few_are_open_for_each_access_token(market, monkeypatch):
    monkeypatch.setattr(fees, "OPEN_FOR_EACH_CALLER", 4)
    market = market()
    for number in range(4):
        assert market.buy(market.list_one(), f"0.0.{1100 + number}").status_code == 200
    serial_no = market.list_one()
    assert_error(market.buy(serial_no, CHARLIE), 429, "This access token has 4 purchases")
    other = authorized_client(market.app, "write")
    assert market.buy(serial_no, CHARLIE, other).status_code == 200


@pytest.mark.parametrize("is_named", [True, False])
def test_one_that_was_reported_is_open_no_more(market, is_named):
    market = market()
    serial_no = market.list_one()
    for buyer in (BOB, CHARLIE, "0.0.1004"):
        r = market.buy(serial_no, buyer)
    receipt = market.submit(r, "0.0.1004")
    keys = {"accountId": "0.0.1004", "tokenId": TOKEN, "serialNo": serial_no}
    if is_named:
        keys["transactionId"] = receipt.transaction_id
    assert market.client.post("/v1/comingsoon", json=keys).json == {"result": "OK"}
    with market.app.app_context():
        now = times.to_iso(times.now())
        found = preparations.get_open_purchases_of_nft(read(), TOKEN, serial_no, "", now)
        assert (found["n"], found["of_caller"]) == (2, 0)


# The budget


def test_the_budget_ends_buying_until_it_has_room(market, caplog):
    market = market(SALE_FEE_BUDGET="2.9")
    for buyer in (BOB, CHARLIE):
        assert market.buy(market.list_one(), buyer).status_code == 200
    serial_no = market.list_one()
    r = market.buy(serial_no, "0.0.1004")
    body = assert_error(r, 503, "What the marketplace pays for purchases in an hour is spent")
    assert 45 <= int(r.headers["Retry-After"]) <= 75  # where the first is never submitted
    assert "try again in" in body["message"]
    assert 'No purchase of 0.0.1004, asked for with the access token "test ' in caplog.text
    assert market.fees() == (0, 2 * MOST)
    market.age(80)
    assert market.buy(serial_no, "0.0.1004").status_code == 200
    assert market.fees() == (0, MOST)  # those that never came cost nothing


def test_a_budget_that_never_has_room_is_not_said_to_be_spent(market, caplog):
    market = market(SALE_FEE_BUDGET="0.6")  # above SALE_MAX_FEE, below an association besides
    r = market.buy(market.list_one())
    words = "A purchase may cost the marketplace 1 HBAR by now, and all of an hour 0.6"
    assert_error(r, 503, words, "MARKETPLACE_SALE_FEE_BUDGET")
    assert r.headers["Retry-After"] == "3600"
    assert words in caplog.text
    assert market.rows() == []


def test_what_was_charged_counts_for_an_hour(market):
    market = market(SALE_FEE_BUDGET="1.2")
    had = market.balance()
    assert market.submit(market.buy(market.list_one())).result == "SUCCESS"
    market.age(80)
    serial_no = market.list_one()
    r = market.buy(serial_no, CHARLIE)
    assert_error(r, 503, "is spent")
    charged = had - market.balance()
    assert market.fees() == (charged, 0)
    assert 3400 < int(r.headers["Retry-After"]) <= 3600
    market.age(3600)
    assert market.buy(serial_no, CHARLIE).status_code == 200


@pytest.mark.parametrize("is_behind", [True, False])
def test_the_watcher_settles_what_nobody_reports(market, is_behind):
    market = market()
    signed, _ = market.buy(market.list_one()), market.buy(market.list_one(), CHARLIE)
    had = market.balance()
    market.submit(signed)
    market.age(60 if is_behind else 80)
    market.sync()
    charged = had - market.balance()
    expected = (0, 2 * MOST) if is_behind else (charged, 0)
    assert market.fees() == expected


def test_each_share_settles_its_own(market, monkeypatch):
    monkeypatch.setattr(rounds, "SETTLED_AT_ONCE", 1)
    market = market()
    for serial_no in [market.list_one() for _ in range(4)]:
        market.buy(serial_no)
    first, *_ = rows = [
        tuple(row[name] for name in ("token", "serial_no")) for row in market.rows()
    ]
    other = next(Share(number, 2) for number in (1, 2) if not Share(number, 2).has(*first))
    assert any(other.has(*row) for row in rows), "no NFT falls to the other share"
    market.age(80)
    with market.app.app_context():
        rounds.settle_purchases(other, before="")
    settled = [row for row in market.rows() if row["is_settled"]]
    assert settled != []
    assert all(other.has(row["token"], row["serial_no"]) for row in settled)


def test_a_mirror_node_that_is_behind_settles_nothing_as_free(market):
    market = market()
    market.buy(market.list_one())
    market.age(80)
    then = times.to_consensus(times.now() - 30 * times.SECOND)
    altering(market.app)("/blocks", lambda document: set_present(document, then))
    market.sync()
    assert market.fees() == (0, MOST)


def test_a_fee_that_the_ledger_shows_after_all_counts(market):
    """It was taken for one that never came, as a replica did not have it: whoever reports it is believed."""
    market = market()
    serial_no = market.list_one()
    had = market.balance()
    receipt = market.submit(market.buy(serial_no))
    market.age(80)
    is_behind = [True]

    def leave_out(document):
        if is_behind[0]:
            document["transactions"] = []

    altering(market.app)("/transactions/0.0.9001", leave_out)
    market.sync()
    assert market.fees() == (0, 0)
    is_behind[0] = False
    keys = {"accountId": BOB, "tokenId": TOKEN, "serialNo": serial_no}
    keys["transactionId"] = receipt.transaction_id
    assert market.client.post("/v1/comingsoon", json=keys).json == {"result": "OK"}
    charged = had - market.balance()
    assert charged > 0
    assert market.fees() == (charged, 0)
    assert market.client.post("/v1/comingsoon", json=keys).json == {"result": "OK"}
    assert market.fees() == (charged, 0)


@pytest.mark.parametrize("count", [1, 2])
def test_a_fee_that_makes_no_sense_stays_reserved(market, count):
    """It neither ends the watcher nor buying: it is asked about again."""
    market = market()
    market.submit(market.buy(market.list_one()))
    market.age(80)

    def overdo(document):
        if document["transactions"][0]["transaction_id"].startswith(MARKET):
            document["transactions"][0]["charged_tx_fee"] = 2**63 - 1
            document["transactions"] *= count

    altering(market.app)("/transactions/", overdo)
    market.sync()
    assert market.fees() == (0, MOST)
    assert market.buy(market.list_one()).status_code == 200


def test_what_failed_is_charged_too(market):
    market = market()
    serial_no = market.list_one()
    signed = market.buy(serial_no)
    market.ledger.withdraw((TOKEN, serial_no), ALICE)
    had = market.balance()
    assert market.submit(signed).result == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"
    market.age(80)
    market.sync()
    assert market.fees() == (had - market.balance(), 0)
    assert market.fees()[0] > 0


def test_old_ones_are_forgotten(market):
    market = market()
    market.buy(market.list_one())
    market.age(80)
    market.sync()
    assert len(market.rows()) == 1
    market.age(rounds.KEPT_SECONDS)
    market.sync()
    assert market.rows() == []


def test_a_clock_that_is_hours_ahead_forgets_no_fee(market):
    """Or the machine of a watcher that is set to the wrong time zone would give the hour's budget back."""
    market = market()
    market.submit(market.buy(market.list_one()))
    market.age(80)
    market.sync()
    charged, _ = market.fees()
    ahead = rounds.KEPT_SECONDS + 600
    market.age(ahead)
    then = times.to_consensus(times.now() - ahead * times.SECOND)
    altering(market.app)("/blocks", lambda document: set_present(document, then))
    market.sync()
    assert [row["fee_tinybars"] for row in market.rows()] == [charged]


def set_present(document, then):
    document["blocks"][0]["timestamp"]["to"] = then


def test_a_stranger_who_prepares_listings_hides_no_fee(market):
    """Few listings of an NFT and account are kept; what purchases cost counts all the same."""
    market = market()
    serial_no = market.list_one()
    market.submit(market.buy(serial_no))
    market.sync()
    keys = {"accountId": BOB, "tokenId": TOKEN, "serialNo": serial_no}
    assert market.client.post("/v1/add", json=keys).status_code == 200
    for price in range(1, 10):
        r = market.client.post("/v1/list/extwallet", json=keys | {"listingPrice": price})
        assert r.status_code == 200
    assert len(market.rows()) == 1


class Killed(BaseException):
    """The process ends here."""


def test_a_process_that_dies_before_it_answers_blocks_no_longer_than_a_minute(market, monkeypatch):
    market = market(SALE_FEE_BUDGET="1.2")
    serial_no = market.list_one()

    def die(*arguments):
        raise Killed

    with market.app.app_context(), monkeypatch.context() as patched:
        # As SIGKILL leaves it: what is reserved stays, and nobody takes it back.
        patched.setattr(purchases, "_sign", die)
        patched.setattr(purchases.preparations, "delete_purchase", die)
        with pytest.raises(Killed):
            purchases.prepare(BOB, TOKEN, serial_no, "extwallet", "x")
    assert_error(market.buy(serial_no, CHARLIE), 503, "is spent")
    market.age(80)
    assert market.buy(serial_no, CHARLIE).status_code == 200


def test_those_who_ask_at_once_never_reserve_more_than_there_is(market):
    """READ COMMITTED shows nobody what others have not committed: they take turns."""
    market = market(SALE_FEE_BUDGET="3.5")
    serial_nos = [market.list_one() for _ in range(4)]

    def ask(number):
        client = authorized_client(market.app, "write")
        return market.buy(serial_nos[number % 4], f"0.0.{1100 + number}", client).status_code

    with ThreadPoolExecutor(12) as pool:
        found = [*pool.map(ask, range(12))]
    assert sorted(found) == [200] * 3 + [503] * 9
    assert market.fees() == (0, 3 * MOST)


def test_those_who_ask_at_once_for_one_nft_are_few(market):
    market = market()
    serial_no = market.list_one()

    def ask(number):
        client = authorized_client(market.app, "write")
        return market.buy(serial_no, f"0.0.{1100 + number}", client).status_code

    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(ask, range(8))]
    assert sorted(found) == [200] * 4 + [429] * 4
    ids = [row["transaction_id"] for row in market.rows()]
    assert len(set(ids)) == 4


# All together


def never_signs(market, r, buyer):
    pass


def pays(market, r, buyer):
    market.submit(r, buyer)


def has_spent_it(market, r, buyer):
    with market.ledger.sandbox.app_context(), write() as db:
        had = accounts.balance(db, buyer)
        accounts.add(db, buyer, -had, times.now())
    market.submit(r, buyer)
    with market.ledger.sandbox.app_context(), write() as db:
        accounts.add(db, buyer, had, times.now())


def submits_twice(market, r, buyer):
    market.submit(r, buyer)
    market.submit(r, buyer)


def leaves_its_signature_out(market, r, buyer):
    market.ledger.submit(base64.b64decode(r.json["byteArray"]))


def signs_with_a_strangers_key(market, r, buyer):
    market.submit(r, CHARLIE)


def sells_elsewhere_first(market, r, buyer):
    [row] = [row for row in market.rows() if row["account_id"] == buyer][-1:]
    market.ledger.hand_over((TOKEN, row["serial_no"]), ALICE)
    market.submit(r, buyer)


def ends_its_association_first(market, r, buyer):
    with market.ledger.sandbox.app_context(), write() as db:
        ledger_queries.delete_association(db, buyer, TOKEN)
    market.submit(r, buyer)


WAYS = [
    never_signs,
    ends_its_association_first,
    pays,
    has_spent_it,
    submits_twice,
    leaves_its_signature_out,
    signs_with_a_strangers_key,
    sells_elsewhere_first,
]


@pytest.mark.parametrize("seed", range(2))
def test_whoever_drains_it_on_purpose_finds_the_bound(market, seed):
    """Buyers do their worst, for an hour: the marketplace's account never loses more than the budget."""
    budget = 4 * HBAR
    market, luck = market(SALE_FEE_BUDGET="4"), random.Random(seed)
    serial_nos = [market.list_one() for _ in range(4)]
    had, refused, signed, aged = market.balance(), 0, 0, 0
    for step in range(60):
        if aged > 3400:
            break
        serial_no, buyer = luck.choice(serial_nos), f"0.0.{1100 + step}"
        if luck.random() < 0.5:
            with market.ledger.sandbox.app_context(), write() as db:
                accounts.associate(db, buyer, TOKEN, times.now())
        r = market.buy(serial_no, buyer)
        if r.status_code == 200:
            signed += 1
            luck.choice(WAYS)(market, r, buyer)
        elif r.status_code == 409:  # somebody has bought it, or it was moved
            with market.app.app_context():
                sql = "SELECT owner FROM nft WHERE serial_no = :n"
                owner = read().execute(sql, {"n": serial_no}).fetchone()["owner"]
            if owner != ALICE:
                market.ledger.hand_over((TOKEN, serial_no), ALICE)
            market.list_again(serial_no)
        else:
            assert r.status_code in (429, 503), r.text
            refused += 1
            aged += 90
            market.age(90)
        lost = had - market.balance()
        assert lost <= budget, f"{lost / HBAR} HBAR lost"
        charged, reserved = market.fees()
        assert charged + reserved <= budget
    assert signed >= 4
    assert refused >= 1
    market.age(90)
    market.sync()
    assert market.fees() == (had - market.balance(), 0)
