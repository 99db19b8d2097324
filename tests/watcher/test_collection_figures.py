"""A collection's figures of the past follow from its events, in whatever order they became visible."""

import random

import pytest

from harness.apps import write_sql
from harness.cast import ALICE, TOKEN
from marketplace.hedera import times
from marketplace.market import history, moderation
from marketplace.market.moderation import Ruling, Subject
from marketplace.services import read, write
from marketplace.watcher import collection_figures
from marketplace.watcher.collection_figures import count_figures
from tests.actions import SALE, tell
from tests.engines import both_engines

pytestmark = both_engines

DAYS = 40
SELLER = "0.0.{}"
RULING = Ruling("for the test")


class Market:
    """A model: what happened to each NFT in its order, and which of it is known."""

    def __init__(self, app, client, seed):
        self.app, self.client, self.random = app, client, random.Random(seed)
        self.begin = times.now() - DAYS * times.DAY
        self.known = {serial_no: [] for serial_no in range(1, 9)}
        self.unknown = {serial_no: self.live() for serial_no in self.known}
        self.hidden, self.blocked = set(), set()
        for serial_no in self.known:
            write_sql(
                app,
                """INSERT INTO nft (token, serial_no, name, file_type, owner, ledger_at)
                VALUES (:token, :serial_no, 'x', 'x', :owner, :now)""",
                token=TOKEN,
                serial_no=serial_no,
                owner=SELLER.format(3000 + serial_no),
                now=times.to_iso(self.begin),
            )
        write_sql(
            app,
            "INSERT INTO collection (token, retry_at) VALUES (:token, '9999')",
            token=TOKEN,
        )

    def live(self):
        """An NFT's changes: each a date, a kind, a price, and the price of the listing before."""
        moments = sorted(self.random.sample(range(DAYS * 24 * 3600), self.random.randrange(12)))
        lived, price = [], None
        for moment in moments:
            kinds = ["LISTED"] if price is None else ["PRICE_CHANGED", "WITHDRAWN", "SOLD"]
            kind, former = self.random.choice(kinds), price
            price = self.random.randrange(1, 40) if kind in ("LISTED", "PRICE_CHANGED") else None
            paid = former if kind == "SOLD" else price
            date = times.to_iso(self.begin + moment * times.SECOND)
            lived.append((date, kind, paid, former))
        return lived

    def tell_some(self):
        """Write the next events of some NFTs, as the reconciler does."""
        for serial_no in self.random.sample([*self.known], 4):
            if serial_no in self.hidden | self.blocked or not self.unknown[serial_no]:
                continue
            number = self.random.randrange(1, 4)
            new = self.unknown[serial_no][:number]
            del self.unknown[serial_no][:number]
            self.known[serial_no] += new
            rows = [
                SALE | {"token": TOKEN, "serial_no": serial_no, "kind": kind, "price": price,
                 "previous_price": former, "consensus_at": date, "seen_at": times.to_iso(times.now())}
                for date, kind, price, former in new
            ]  # fmt: skip
            date, kind, price, _ = new[-1]
            price = price if kind in ("LISTED", "PRICE_CHANGED") else None
            with self.app.app_context(), write() as db:
                history.insert_events(db, rows)
            write_sql(
                self.app,
                """UPDATE nft SET is_for_sale = :listed, is_listed = :listed, listing_price = :price,
                last_listed_at = :date WHERE token = :token AND serial_no = :serial_no""",
                listed=int(price is not None), price=price or 0, date=date, token=TOKEN,
                serial_no=serial_no,
            )  # fmt: skip

    def decide(self):
        """Let the operator hide an NFT, show it again, block its owner or unblock them."""
        serial_no = self.random.choice([*self.known])
        subject, owner = Subject(TOKEN, serial_no), SELLER.format(3000 + serial_no)
        with self.app.app_context():
            if serial_no in self.hidden:
                self.hidden.remove(serial_no)
                moderation.unhide(subject)
            elif serial_no in self.blocked:
                self.blocked.remove(serial_no)
                moderation.unblock(owner)
            elif self.random.random() < 0.5:
                self.hidden.add(serial_no)
                moderation.hide(subject, RULING)
            else:
                self.blocked.add(serial_no)
                moderation.block(owner, RULING)

    def find_floor(self, end, is_now=False):
        """The lowest price at a moment."""
        prices = []
        for serial_no, lived in self.known.items():
            states = [(kind, price) for date, kind, price, _ in lived if date < end]
            kind, price = states[-1] if states else ("", None)
            is_off = serial_no in self.hidden or (is_now and serial_no in self.blocked)
            if kind in ("LISTED", "PRICE_CHANGED") and not is_off:
                prices.append(price)
        return min(prices, default=None)

    def list_days(self, number):
        now = times.now()
        shown = [lived for serial_no, lived in self.known.items() if serial_no not in self.hidden]
        days = []
        for age in range(number - 1, -1, -1):
            begin = now // times.DAY * times.DAY - age * times.DAY
            first, end = times.to_iso(begin), times.to_iso(begin + times.DAY)
            sold = [
                price
                for lived in shown
                for date, kind, price, _ in lived
                if kind == "SOLD" and first <= date < end
            ]
            days.append({
                "date": first[:10], "floorPrice": self.find_floor(end, is_now=age == 0),
                "sales": len(sold), "volume": sum(sold),
                "lowestPrice": min(sold, default=None), "highestPrice": max(sold, default=None),
            })  # fmt: skip
        dates = [lived[0][0][:10] for lived in shown if lived]
        # What the operator did is a change of today, even to an NFT that nothing had happened to.
        return [day for day in days if dates and day["date"] >= min(dates)]

    def sum_since(self, days):
        first = times.to_iso(times.now() - days * times.DAY)[:13]
        sold = [
            price
            for serial_no, lived in self.known.items()
            for date, kind, price, _ in lived
            if serial_no not in self.hidden and kind == "SOLD" and date[:13] >= first
        ]
        return len(sold), sum(sold)

    def compare(self):
        with self.app.app_context():
            count_figures()
        history = self.client.get(f"/v1/collection/{TOKEN}/history?days={DAYS + 2}").json
        expected = self.list_days(DAYS + 2)
        assert history[-len(expected) :] == expected
        [found] = self.client.get("/v1/collections").json
        assert (found["sales7d"], found["volume7d"]) == self.sum_since(7)
        assert (found["sales30d"], found["volume30d"]) == self.sum_since(30)
        a_day_ago = times.to_iso(times.now() - times.DAY)[:13]
        assert found["floorPrice24hAgo"] == self.find_floor(a_day_ago)
        assert found["owners"] == len(self.known) - len(self.hidden)


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_arrival_gives_the_same_days(app, client, seed, monkeypatch):
    monkeypatch.setattr(collection_figures, "EVENTS_AT_ONCE", 5)  # several statements
    market = Market(app, client, seed)
    for _ in range(8):
        market.tell_some()
        if market.random.random() < 0.4:
            market.decide()
        market.compare()
    assert any(market.known.values())


def test_only_new_events_are_counted(app, client):
    tell(app, {"seen_at": times.to_iso(times.now())})
    with app.app_context():
        count_figures()
        before = read().execute("SELECT * FROM collection_hour").fetchall()
        write_sql(app, "UPDATE collection_hour SET volume = 7")
        count_figures()
        [after] = read().execute("SELECT * FROM collection_hour").fetchall()
    assert len(before) == 1 and after["volume"] == 7


def test_hours_of_deleted_events_stay(app):
    now = times.now()
    old, recent = (times.to_iso(now - days * times.DAY) for days in (30, 3))
    tell(app, *({"consensus_at": at, "seen_at": at} for at in (old, recent, recent)))
    with app.app_context():
        count_figures()
        write_sql(app, "DELETE FROM event WHERE id = 1")
        tell(app, {"consensus_at": old, "seen_at": times.to_iso(now), "serial_no": 8})
        count_figures()
        rows = read().execute("SELECT hour, sales FROM collection_hour ORDER BY hour").fetchall()
    assert [(row["hour"], row["sales"]) for row in rows] == [(old[:13], 1), (recent[:13], 2)]


def test_figures_become_old_without_new_events(app, client):
    write_sql(app, "INSERT INTO collection (token, retry_at) VALUES (:token, '9999')", token=TOKEN)
    at = times.to_iso(times.now() - 2 * times.DAY)
    tell(app, {"consensus_at": at, "seen_at": at, "from_account": ALICE})
    with app.app_context():
        count_figures()
    assert client.get("/v1/collections").json[0]["sales7d"] == 1
    later = times.to_iso(times.now() - 8 * times.DAY)[:13]
    write_sql(app, "UPDATE collection_hour SET hour = :later", later=later)
    write_sql(app, "UPDATE collection SET figures_due_at = '2026'")
    with app.app_context():
        count_figures()
    [found] = client.get("/v1/collections").json
    assert (found["sales7d"], found["sales30d"], found["volume30d"]) == (0, 1, 250)
