"""The model of what grows with what says what real rounds and real answers do."""

import random
from collections import Counter

import pytest

from benchmarks import growth, scale
from benchmarks.model import (
    NEVER,
    REQUESTS_OF_A_LISTING,
    REQUESTS_OF_A_SALE,
    World,
    answer,
    costs_of,
    missed,
    most_sellers,
    requests_of_a_round,
)
from marketplace import times
from marketplace.ledger import mirror
from marketplace.market.memos import listing_memo
from marketplace.market.shares import Share
from marketplace.operator import rounds
from marketplace.store import queries
from marketplace.store.database import write
from tests.conftest import BOB, TOKEN

pytestmark = pytest.mark.once("a model's constants")

MARKET = "0.0.9001"
MEASURED = scale.load()
COSTS = costs_of(MEASURED)


@pytest.fixture
def mirror_asked(asked):
    """How many requests the mirror node has had; what the gateway has had is not counted."""

    def count():
        counted = [path for path in asked if not path.startswith("/ipfs/")]
        asked.clear()
        return len(counted)

    return count


def list_all(app, ledger, lister, sellers, listings):
    """So many sellers with so many listings, all of which a round has found."""
    accounts = [f"0.0.{5_000 + number}" for number in range(sellers)]
    for number in range(listings):
        nft, account_id = (TOKEN, number + 1), accounts[number % sellers]
        if number < sellers:
            lister(nft, account_id=account_id)
        else:
            ledger.mint(nft, account_id, times.now())
            ledger.approve(nft, account_id, MARKET, listing_memo(*nft, 5, "Foo"))
    sync(app)


def sync(app, share=None):
    with app.app_context():
        return rounds.sync(share=share) if share else rounds.sync()


@pytest.mark.parametrize(("sellers", "listings"), [(1, 1), (4, 4), (3, 9), (2, 10), (3, 26)])
def test_a_round_asks_as_often_as_it_says(
    app, ledger, lister, mirror_asked, monkeypatch, sellers, listings
):
    monkeypatch.setattr(mirror, "PAGE", 5)
    list_all(app, ledger, lister, sellers, listings)
    mirror_asked()
    assert sync(app) == Counter({rounds.Done.SELLERS: sellers})
    assert mirror_asked() == requests_of_a_round(sellers, listings)


def test_so_do_several_watchers_together(app, ledger, lister, mirror_asked):
    list_all(app, ledger, lister, 6, 6)
    mirror_asked()
    for number in (1, 2, 3):
        sync(app, Share(number, 3))
    assert mirror_asked() == requests_of_a_round(6, 6)


def test_a_listing_and_a_sale_ask_as_often_as_it_says(app, ledger, lister, nft, mirror_asked):
    lister(nft, add=False)
    mirror_asked()
    lister((TOKEN, 8))
    assert mirror_asked() == REQUESTS_OF_A_LISTING
    ledger.hand_over((TOKEN, 8), BOB)
    assert rounds.Done.TAKEN_OFF in sync(app)
    assert mirror_asked() == requests_of_a_round(1, 2) + REQUESTS_OF_A_SALE


def test_as_many_answers_are_made_anew_as_it_says(app, client, nft):
    """Requests for a few addresses, and commits between them, at random."""
    made, asked, dice = Counter(), Counter(), random.Random(1)
    app.before_request(lambda: made.update(["answer"]))
    addresses, commits = 4, 0.2
    for turn in range(1_000):
        if dice.random() < commits:
            with app.app_context(), write() as db:
                queries.mark_job_finished(db, "nothing", times.to_iso(turn))
        else:
            path = f"/v1/orderbook?limit={dice.randint(1, addresses)}"
            assert client.get(path).status_code == 200
            asked["answer"] += 1
    said = asked["answer"] * missed((1 - commits) / addresses, commits)
    assert made["answer"] == pytest.approx(said, rel=0.1)


def test_no_sold_nft_stays_longer_than_it_says():
    """Rounds that ask in another order each time, and look once all were asked; sales at random."""
    world = World(sellers=100, listings=100, rate=10, sales_a_day=0)
    found, dice = answer(world, COSTS), random.Random(1)
    ages = []
    for _ in range(5_000):
        sold_at = dice.uniform(0, found.round)
        asked_at = dice.randrange(world.sellers) / world.rate
        ends = found.round if sold_at < asked_at else 2 * found.round + world.every
        ages.append(ends - sold_at)
    assert 0.95 * found.age < max(ages) < found.age


def test_the_public_mirror_node_is_enough_for_6_000_sellers_in_two_minutes():
    world = World(sellers=6_000, listings=60_000, rate=50, sales_a_day=0)
    assert answer(world, COSTS).round == pytest.approx(120)
    assert most_sellers(world, COSTS, 120, "round") == 6_000
    assert most_sellers(world, COSTS, 120, "age") == 50 * (120 - 30) / 2


def test_twice_the_watchers_need_half_the_time():
    world = World(sellers=6_000, listings=60_000, sales_a_day=0)
    one, two = (answer(world._replace(watchers=number), COSTS) for number in (1, 2))
    assert two.round == pytest.approx(one.round / 2)
    assert two.requests == one.requests


@pytest.mark.parametrize(
    ("rate", "latency", "bound"),
    [(40, 0.1, "the rate"), (10_000, 0.1, "8 requests at once"), (10_000, 0.0001, "a core")],
)
def test_it_says_what_bounds_a_watcher(rate, latency, bound):
    assert answer(World(rate=rate, latency=latency), COSTS).bound == bound


@pytest.mark.parametrize("sales_a_day", [500_000, 5_000_000])
def test_more_sales_than_can_be_looked_at_never_end(sales_a_day):
    found = answer(World(sellers=100_000, listings=100_000, sales_a_day=sales_a_day), COSTS)
    assert found.round == found.age == NEVER
    assert "never ends" in scale.report(World(sales_a_day=sales_a_day * 10), COSTS)


def test_what_was_measured_is_what_the_model_says():
    """From rounds of 1,000 sellers, those of 10,000 and of 100,000; and paced ones by the clock."""
    for row in MEASURED["rounds"]:
        assert row["requests"] == requests_of_a_round(row["sellers"], row["listings"])
        said = row["requests"] * COSTS.request + row["listings"] * COSTS.listing
        assert row["cpu_seconds"] == pytest.approx(said, rel=0.5)
    for row in MEASURED["paced"]:
        assert row["seconds"] == pytest.approx(answer(World(**row["world"]), COSTS).round, rel=0.3)


def test_it_can_be_measured_again(monkeypatch):
    monkeypatch.setattr(growth, "ROUNDS", ((3, 2), (3, 4), (4, 2)))
    monkeypatch.setattr(growth, "PACED", (World(2, 2, rate=10_000, latency=0.0),))
    monkeypatch.setattr(growth, "TIMES", 2)
    measured = growth.measure()
    assert [row["requests"] for row in measured["rounds"]] == [3, 3, 4]
    assert [row["nfts"] for row in measured["reads"]] == [6, 8]
    assert scale.show_measured(measured)


@pytest.mark.parametrize(
    "words", [("--sellers", "0"), ("--listings", "5"), ("--readers", "-1"), ("--workers", "0")]
)
def test_nonsense_is_refused(capsys, words):
    with pytest.raises(SystemExit):
        scale.main(*words)
    assert "error: " in capsys.readouterr().err


def test_it_is_asked_on_the_command_line(capsys):
    scale.main("--sellers", "6000", "--rate", "50", "--sales-a-day", "0")
    said = capsys.readouterr().out
    assert "requests to the mirror node a round        6,000\n" in said
    assert "a round                                  120.0 s\n" in said
    scale.main("measured")
    assert "100,000" in capsys.readouterr().out
