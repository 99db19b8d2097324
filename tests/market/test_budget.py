"""What anybody can make the marketplace pay: the hour's budget, and each caller's share of it."""

import base64
import os
import random
import signal
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.apps import authorized_client
from harness.cast import ALICE, BOB, CHARLIE, KEYS, MARKET, TOKEN
from harness.forks import fork
from harness.network import PATIENCE_SECONDS
from hiero_sandbox import database as ledger_database
from hiero_sandbox.ledger import accounts
from hiero_sandbox.ledger import queries as ledger_queries
from marketplace.hedera import times
from marketplace.market import unsigned_transactions
from marketplace.sandbox import wallet
from marketplace.store import access_tokens
from marketplace.store.database import read
from tests.actions import list_nft
from tests.answers import assert_error
from tests.engines import both_engines
from tests.market.selling import HBAR, MOST


class Shopper:
    """An end user, who asks for whatever there is."""

    def __init__(self, market, token, address="192.0.2.1", end_user=None):
        self.market, self.client = market, market.app.test_client()
        caller = {"HTTP_AUTHORIZATION": f"Bearer {token}", "REMOTE_ADDR": address}
        self.client.environ_base |= caller
        if end_user:
            self.client.environ_base["HTTP_ON_BEHALF_OF"] = end_user

    def ask(self, serial_no, account_id=BOB):
        return self.market.buy(serial_no, account_id, self.client)

    def take_all(self, serial_nos, buyers=range(2000, 2100)):
        """Ask in strangers' names until nothing more is signed; how many were."""
        for count, number in enumerate(buyers):
            r = self.ask(serial_nos[number % len(serial_nos)], f"0.0.{number}")
            if r.status_code != 200:
                assert r.status_code in (429, 503), r.text
                return count
        raise AssertionError("there is no end to it")


def token(market, *scopes):
    with market.app.app_context():
        return access_tokens.create(f"test {uuid.uuid4()}", ("write", *scopes), seconds=3600)


# Shares


def test_a_caller_holds_at_most_half_of_what_the_others_leave(make_market):
    """Of twenty: an end user alone a quarter of its token's half."""
    market = make_market(SALE_FEE_BUDGET="20")
    serial_nos = [market.list_one()]
    taken = [Shopper(market, token(market)).take_all(serial_nos) for _ in range(6)]
    assert taken == [2, 2, 2, 1, 1, 1]
    assert market.fees() == (0, 9 * MOST)


def test_a_token_that_is_the_whole_shop_may_spend_all(make_market):
    market = make_market(SALE_FEE_BUDGET="20", SALE_FEE_TOKEN_SHARE="100")
    serial_nos, shop = [market.list_one()], token(market)
    taken = [Shopper(market, shop, f"192.0.2.{n}").take_all(serial_nos) for n in range(20)]
    assert taken[:4] == [5, 3, 3, 2]
    assert sum(taken) == 20
    assert market.fees() == (0, 20 * MOST)


def test_a_server_that_names_no_shoppers_may_spend_all(make_market):
    more = {"SALE_FEE_TOKEN_SHARE": "100", "SALE_FEE_USER_SHARE": "100"}
    market = make_market(SALE_FEE_BUDGET="20", **more)
    assert Shopper(market, token(market)).take_all([market.list_one()]) == 20


def test_visitors_who_come_one_after_the_other_leave_room_for_honest_buyers(make_market):
    """Three held 8 of their token's 10 HBAR; two paid associations later, nobody else bought for an hour."""
    market = make_market(SALE_FEE_BUDGET="20")
    market.follow()
    serial_nos, shop = [market.list_one()], token(market)
    for number in range(5):
        Shopper(market, shop, f"192.0.2.{number}").take_all(serial_nos)
    assert market.fees() == (0, 7 * MOST)
    for number in range(18):
        shopper = Shopper(market, shop, f"198.51.100.{number % 2}")
        r = sell(market, shopper, f"0.0.{3000 + number % 2}")
        assert r.status_code == 200, r.text
    charged, reserved = market.fees()
    assert reserved == 7 * MOST
    assert 1.1 * HBAR < charged < 1.5 * HBAR


def test_an_end_user_with_nothing_open_buys_within_its_tokens_share_alone(make_market):
    """The promise of one purchase holds while the token's share has room, not beyond."""
    market = make_market(SALE_FEE_BUDGET="20")
    serial_nos, shop = [market.list_one()], token(market)
    for number in range(8):
        Shopper(market, shop, f"192.0.2.{number}").take_all(serial_nos)
    assert market.fees() == (0, 10 * MOST)
    r = Shopper(market, shop, "198.51.100.1").ask(serial_nos[0])
    assert_error(r, 429, "that this access token asked for")
    assert Shopper(market, token(market)).ask(serial_nos[0]).status_code == 200


def test_baskets_leave_half_of_the_room(make_market):
    """One basket of ten collections reserved the better half of a shop's share."""
    market = make_market(SALE_FEE_BUDGET="20")
    nfts = [(f"0.0.{7001 + n}", 1) for n in range(9)]
    for number, (collection, serial_no) in enumerate(nfts):
        keys = {"tokenId": collection, "serialNo": serial_no, "accountId": f"0.0.{2001 + number}"}
        list_nft(market.client, **keys)
    shop = token(market)

    def ask(number, count):
        shopper = Shopper(market, shop, f"192.0.2.{number}")
        named = [{"tokenId": nft[0], "serialNo": nft[1]} for nft in nfts[:count]]
        body = {"accountId": f"0.0.{3000 + number}", "nfts": named}
        return shopper.client.post("/v1/buy/extwallet", json=body)

    assert_error(ask(0, 9), 409, "9 NFTs at once can cost", "at most 5 HBAR for a caller")
    assert ask(1, 7).status_code == 200  # 4.3 HBAR
    assert_error(ask(2, 7), 429, "that you asked for")
    assert Shopper(market, shop, "192.0.2.3").ask(1).status_code == 200


def test_end_users_who_are_free_to_invent_take_no_more_than_their_token_may(make_market):
    market = make_market(SALE_FEE_BUDGET="20")
    serial_nos = [market.list_one()]
    held = []
    for _ in range(3):
        one = token(market)
        taken = [Shopper(market, one, f"192.0.2.{n}").take_all(serial_nos) for n in range(12)]
        held.append(sum(taken))
    assert held == [10, 5, 2]
    assert Shopper(market, token(market)).ask(serial_nos[0]).status_code == 200


def test_a_caller_who_has_their_share_learns_when_to_come_again(make_market):
    market = make_market(SALE_FEE_BUDGET="8")
    serial_nos = [market.list_one()]
    one = token(market)
    Shopper(market, one, "192.0.2.1").take_all(serial_nos)
    r = Shopper(market, one, "192.0.2.1").ask(serial_nos[0], "0.0.3000")
    assert_error(
        r,
        429,
        "Too many purchases that you asked for are open, or purchases and offers have cost too much",
    )
    assert r.headers["Retry-After"] == "90"
    for number in range(2, 9):
        Shopper(market, one, f"192.0.2.{number}").take_all(serial_nos)
    r = Shopper(market, one, "192.0.2.99").ask(serial_nos[0], "0.0.3000")
    assert_error(r, 429, "that this access token asked for")


def associate(market, account_id):
    with market.ledger.sandbox.app_context(), ledger_database.write() as db:
        accounts.associate(db, account_id, TOKEN, times.now())


def sell(market, shopper, account_id):
    """Sell one NFT to an account, which associates itself where that is asked; the last answer."""
    serial_no = market.list_one()
    r = shopper.ask(serial_no, account_id)
    if r.status_code == 409:
        assert_error(r, 409, f"{account_id} is not associated with {TOKEN}", "associate it first")
        assert r.json["reason"] == "ASSOCIATION_NOT_PAID"
        assert r.json["errors"] == {"ledger": {"result": ["TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"]}}
        associate(market, account_id)
        r = shopper.ask(serial_no, account_id)
    if r.status_code == 200:
        assert market.submit(r, account_id).result == "SUCCESS"
        market.follow()
    return r


def test_one_token_that_sells_to_itself_keeps_nobody_from_buying(make_market):
    """Each sale to a new account cost the marketplace an association: 31 of them ended everybody's buying."""
    market = make_market(SALE_FEE_BUDGET="20")
    market.follow()
    seller = token(market)
    had, asked = market.balance(), 0
    for number in range(31):
        r = Shopper(market, seller, f"192.0.2.{number}").ask(
            market.list_one(), f"0.0.{3000 + number}"
        )
        if r.status_code == 200:
            assert market.submit(r, f"0.0.{3000 + number}").result == "SUCCESS"
            market.follow()
        else:
            assert r.json["reason"] == "ASSOCIATION_NOT_PAID"
            asked += 1
    assert asked == 23
    assert had - market.balance() < 5 * HBAR
    one = token(market)
    for number in range(20):
        r = sell(market, Shopper(market, one, f"198.51.100.{number}"), f"0.0.{4000 + number}")
        assert r.status_code == 200, r.text


def test_what_was_sold_counts_in_the_share_of_its_token(make_market):
    market = make_market(SALE_FEE_BUDGET="4.4")
    market.follow()
    one, had, sold = token(market), market.balance(), 0
    while (
        r := sell(market, Shopper(market, one, f"192.0.2.{sold}"), f"0.0.{3000 + sold}")
    ).status_code == 200:
        sold += 1
    assert_error(
        r,
        429,
        "that this access token asked for are open, or purchases and offers have cost too much",
    )
    assert sold > 5
    assert HBAR < had - market.balance() <= 2.2 * HBAR
    assert sell(market, Shopper(market, token(market)), BOB).status_code == 200


def test_what_was_sold_leaves_a_shop_its_share(make_market):
    """A shop whose customers sign goes on selling, however little attackers leave."""
    market = make_market(SALE_FEE_BUDGET="20")
    market.follow()
    serial_nos = [market.list_one() for _ in range(12)]
    for _ in range(3):
        Shopper(market, token(market)).take_all(serial_nos)
    shopper = Shopper(market, token(market))
    for serial_no in serial_nos:
        r = shopper.ask(serial_no)
        assert r.status_code == 200, r.text
        assert market.submit(r).result == "SUCCESS"
        market.follow()


def test_failed_purchases_hold_the_budget_for_an_hour(make_market):
    """Or a caller could spend the budget on purchases that fail, one after the other."""
    market = make_market(SALE_FEE_BUDGET="4")
    shopper, serial_no = Shopper(market, token(market)), market.list_one()
    had, tries = market.balance(), 0
    while (r := shopper.ask(serial_no, f"0.0.{2000 + tries}")).status_code == 200:
        tries += 1
        assert market.submit_stuffed(r).result == "INVALID_SIGNATURE"
        market.settle()
    assert_error(r, 429, "or purchases and offers have cost too much within the hour")
    assert 2 <= tries <= 3
    assert 0.4 * HBAR < (had - market.balance()) / tries <= 0.5 * HBAR
    assert Shopper(market, token(market)).ask(serial_no).status_code == 200


# Callers


def test_a_trusted_caller_names_end_users(make_market):
    market = make_market(SALE_FEE_BUDGET="20")
    serial_nos, one = [market.list_one()], token(market, "on-behalf")
    assert Shopper(market, one, end_user="visitor").take_all(serial_nos) == 2
    assert Shopper(market, one, end_user="shopper-7").ask(serial_nos[0]).status_code == 200
    assert {row["end_user"] for row in market.rows()} == {"visitor", "shopper-7"}


def test_a_host_names_end_users(make_market):
    names = {"visitor": "visitor", "long": "x" * 200, "odd": "\u00fc\0", "nobody": True}

    def authenticate(request, scope):
        return names.get(request.headers.get("X-Session"), True)

    market = make_market(SALE_FEE_BUDGET="20", authenticate=authenticate)
    serial_no = market.list_one()
    for session in names:
        market.client.environ_base["HTTP_X_SESSION"] = session
        assert market.buy(serial_no).status_code == 200
    kept = [row["end_user"] for row in market.rows()]
    assert (kept[0], kept[3]) == ("visitor", "127.0.0.1")
    assert len(set(kept)) == 4
    assert max(map(len, kept)) == 64


@pytest.mark.parametrize("name", ["", "x" * 65, "two words", "\u00fc", "tab\t"])
def test_an_end_users_name_is_bounded(market, name):
    client = authorized_client(market.app, "write", "on-behalf")
    client.environ_base["HTTP_ON_BEHALF_OF"] = name
    body = assert_error(market.buy(1, client=client), 422, "On-Behalf-Of must be 1 to 64 visible")
    assert body["errors"]["headers"].keys() == {"On-Behalf-Of"}


def test_a_token_without_the_scope_may_not_name_end_users(market):
    client = authorized_client(market.app, "write")
    client.environ_base["HTTP_ON_BEHALF_OF"] = "somebody"
    r = market.buy(1, client=client)
    assert_error(r, 403, 'lacks the scope "on-behalf" and may not send On-Behalf-Of')


def test_an_end_user_writes_as_often_as_a_token_may(make_market):
    """An end user uses up their own limit, not the token's, nor that of the shop server's address."""
    market = make_market(WRITE_LIMIT="3/h")
    client = authorized_client(market.app, "write", "on-behalf")
    for name, expected in (("visitor", [404] * 3 + [429]), ("shopper", [404] * 3 + [429])):
        client.environ_base["HTTP_ON_BEHALF_OF"] = name
        assert [market.buy(1, client=client).status_code for _ in range(4)] == expected
    assert_error(market.buy(1, client=client), 429, "The end user shopper of the access token")


def test_a_token_that_invents_end_users_finds_a_limit(make_market):
    """It could write without any: 5,362 times in 15 seconds."""
    market = make_market(WRITE_LIMIT="3/h", ON_BEHALF_LIMIT="10/h")
    one = authorized_client(market.app, "write", "on-behalf")

    def write_as(name):
        one.environ_base["HTTP_ON_BEHALF_OF"] = name
        return market.buy(1, client=one)

    assert [write_as(f"user-{n}").status_code for n in range(10)] == [404] * 10
    r = write_as("user-10")
    assert_error(r, 429, "for all its end users may write 10 times an hour")
    other = authorized_client(market.app, "write", "on-behalf")
    assert market.buy(1, client=other).status_code == 404


def test_one_end_user_uses_up_only_their_own_share_of_the_token(make_market):
    market = make_market(WRITE_LIMIT="3/h", ON_BEHALF_LIMIT="10/h")
    client = authorized_client(market.app, "write", "on-behalf")
    client.environ_base["HTTP_ON_BEHALF_OF"] = "visitor"
    assert [market.buy(1, client=client).status_code for _ in range(20)] == [404] * 3 + [429] * 17
    client.environ_base["HTTP_ON_BEHALF_OF"] = "shopper"
    assert market.buy(1, client=client).status_code == 404


@both_engines
def test_a_token_that_invents_end_users_stores_a_bounded_number_of_listings(
    app, client, nft, monkeypatch
):
    """As many prepared rows for one NFT as it asked for were kept for three hours."""
    monkeypatch.setattr(unsigned_transactions, "KEPT_FOR_EACH_TOKEN", 8)
    one, own = authorized_client(app, "write", "on-behalf"), KEYS | {"listingPrice": 5}
    assert client.post("/v1/list/extwallet", json=own).status_code == 200
    for number in range(20):
        one.environ_base["HTTP_ON_BEHALF_OF"] = f"user-{number // 2}"
        assert one.post("/v1/list/extwallet", json=own).status_code == 200
    with app.app_context():
        rows = read().execute("SELECT end_user FROM prepared_transaction").fetchall()
    names = Counter(row["end_user"] for row in rows)
    assert names == {"127.0.0.1": 1} | dict.fromkeys([f"user-{n}" for n in range(6, 10)], 2)


# The budget


def test_the_budget_ends_buying_until_it_has_room(make_market, caplog):
    market = make_market(SALE_FEE_BUDGET="2.9")
    serial_no = market.list_one()
    for _ in range(2):
        assert Shopper(market, token(market)).ask(serial_no).status_code == 200
    last = Shopper(market, token(market))
    r = last.ask(serial_no, "0.0.1004")
    body = assert_error(r, 503, "The hourly fee budget for purchases is used up")
    assert r.headers["Retry-After"] == "90"  # where the first is never submitted
    assert "try again in 90 s" in body["message"]
    assert 'Refused to sign a purchase for 0.0.1004 (access token "test ' in caplog.text
    assert market.fees() == (0, 2 * MOST)
    market.settle()
    assert last.ask(serial_no, "0.0.1004").status_code == 200
    assert market.fees() == (0, MOST)  # those that never came cost nothing


def test_a_budget_that_never_has_room_is_not_said_to_be_spent(make_market, caplog):
    market = make_market(SALE_FEE_BUDGET="0.6")  # above its cap, below an association besides
    r = market.buy(market.list_one())
    body = assert_error(r, 503, "Nothing can be bought at the moment: the operator must raise")
    assert "0.6" not in body["message"]
    assert r.headers["Retry-After"] == "3600"
    assert "One purchase can cost up to 1 HBAR; the hourly budget is 0.6" in caplog.text
    assert market.rows() == []


def test_charged_fees_count_for_an_hour(make_market):
    market = make_market(SALE_FEE_BUDGET="1.2")
    had = market.balance()
    assert market.submit(market.buy(market.list_one())).result == "SUCCESS"
    market.settle()
    serial_no, other = market.list_one(), authorized_client(market.app, "write")
    r = market.buy(serial_no, CHARLIE, other)
    assert_error(r, 503, "is used up")
    charged = had - market.balance()
    assert market.fees() == (charged, 0)
    market.age(3600)
    assert market.buy(serial_no, CHARLIE).status_code == 200


@both_engines
def test_a_process_that_dies_before_it_answers_blocks_no_longer_than_a_minute(make_market):
    """What is reserved stays after a SIGKILL: nobody takes it back."""
    survivor, signs = os.getpid(), wallet.signer(MARKET)

    def sign_or_die(body):
        if os.getpid() != survivor:
            os.kill(os.getpid(), signal.SIGKILL)
        return signs(body)

    market = make_market(SALE_FEE_BUDGET="1.2", sign=sign_or_die)
    serial_no = market.list_one()
    died = fork(lambda: market.buy(serial_no))
    died.join(PATIENCE_SECONDS)
    assert died.exitcode == -signal.SIGKILL
    assert_error(market.buy(serial_no, CHARLIE), 503, "is used up")
    market.settle()
    assert market.buy(serial_no, CHARLIE).status_code == 200


@both_engines
def test_purchases_at_once_never_reserve_more_than_the_budget(make_market):
    """READ COMMITTED shows nobody what others have not committed: they take turns."""
    market = make_market(SALE_FEE_BUDGET="3.5")
    serial_nos = [market.list_one() for _ in range(4)]

    def ask(number):
        client = authorized_client(market.app, "write")
        return market.buy(serial_nos[number % 4], f"0.0.{1100 + number}", client).status_code

    with ThreadPoolExecutor(12) as pool:
        found = [*pool.map(ask, range(12))]
    assert sorted(found) == [200] * 3 + [503] * 9
    assert market.fees() == (0, 3 * MOST)


# All together


def never_signs(market, r, buyer):
    pass


def pays(market, r, buyer):
    market.submit(r, buyer)


def has_spent_it(market, r, buyer):
    had = market.balance(buyer)
    market.ledger.change_account(buyer, balance=0)
    market.submit(r, buyer)
    market.ledger.change_account(buyer, balance=had)


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


def stuffs_it_with_junk(market, r, buyer):
    market.submit_stuffed(r)


def ends_its_association_first(market, r, buyer):
    with market.ledger.sandbox.app_context(), ledger_database.write() as db:
        ledger_queries.delete(db, "association", account_id=buyer, token=TOKEN)
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
    stuffs_it_with_junk,
]


def test_draining_the_budget_on_purpose_is_bounded(make_market):
    """Buyers do their worst, for an hour: the marketplace's account never loses more than the budget."""
    budget = 4 * HBAR
    market, luck = make_market(SALE_FEE_BUDGET="4"), random.Random(0)
    serial_nos = [market.list_one() for _ in range(4)]
    clients = [authorized_client(market.app, "write") for _ in range(4)]
    had, refused, signed, aged = market.balance(), 0, 0, 0
    for step in range(60):
        if aged > 3400:
            break
        serial_no, buyer = luck.choice(serial_nos), f"0.0.{1100 + step}"
        if luck.random() < 0.5:
            associate(market, buyer)
        r = market.buy(serial_no, buyer, luck.choice(clients))
        if r.status_code == 200:
            signed += 1
            luck.choice(WAYS)(market, r, buyer)
        elif r.status_code == 409:  # somebody has bought it, or it was moved
            with market.app.app_context():
                sql = "SELECT owner FROM nft WHERE serial_no = :n"
                owner = read().execute(sql, {"n": serial_no}).fetchone()["owner"]
            if owner != ALICE:
                market.ledger.hand_over((TOKEN, serial_no), ALICE)
            list_nft(market.client, serialNo=serial_no)
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
