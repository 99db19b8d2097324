"""One story: it is played, and what the service shows and tells is compared with the model."""

import threading
from datetime import datetime
from itertools import product

from harness.wallets import body_of, id_of
from hiero_sandbox import database as ledger_database
from hiero_sandbox.ledger import accounts, records
from hiero_sandbox.ledger import queries as ledger_queries
from hiero_sandbox.mirror import rows as mirror_rows
from marketplace.hedera import times
from marketplace.hedera.ids import TransactionId, numbers
from marketplace.services import read
from marketplace.store import following, nfts, offers, prepared_transactions
from marketplace.store import nft_collections as kept
from marketplace.watcher.done import Done, summary
from marketplace.watcher.follow import Follower
from marketplace.watcher.sweep import sync
from stress.audit import find_sales
from stress.lives.acts import rebuild
from stress.lives.model import MARGIN, Mismatch, Reported, State
from stress.lives.offers import OfferActs
from stress.lives.orders import ASSOCIATION, Handed
from stress.lives.steps import Step, kind_of
from stress.lives.world import CLOCK, MARKET, TOKENS, Killed, World

COUNTED = ("sales", "volume", "listed", "last_sale_price", "last_sale_at")  # of a collection
# When a watcher looks after the faults have ended, in seconds. Then all must be right.
LOOKS = (0, 1, 2, 5, 10, 20, 30, 30)
PURCHASES = """
    SELECT transaction_id, fee_tinybars, is_settled, is_sold FROM prepared_transaction
    WHERE kind = 'purchase' AND is_settled = 1
"""


class Reader:
    """A client that follows the feed of events, and compares each with the model."""

    def __init__(self, story: "Story") -> None:
        self.story = story
        self.seen = 0
        self.reported: dict[tuple[str, int], Reported] = {}
        self.consensus: dict[tuple[str, int], str] = {}
        self.sold: set[str | None] = set()  # the offers by which NFTs were sold

    def read(self) -> None:
        sql = "SELECT * FROM event WHERE id > :seen ORDER BY id LIMIT 1000"
        for event in read().execute(sql, {"seen": self.seen}).fetchall():
            if event["id"] != self.seen + 1:
                raise Mismatch(f"event {event['id']} follows {self.seen}")
            self.seen = event["id"]
            self.apply(event)
            self.story.world.events += 1

    def apply(self, event) -> None:
        nft = (event["token"], event["serial_no"])
        if event["kind"].startswith("OFFER"):
            offer = self.story.offers.get(event["offer_id"])
            if offer is None or offer.nft != nft:
                raise Mismatch(f"{dict(event)}: there is no such offer")
            return offer.apply(
                event, times.to_nanoseconds(event["seen_at"]) - self.story.weather.skew
            )
        if (event["kind"] == "ADDED") == (nft in self.reported):
            raise Mismatch(
                f"{dict(event)} of {nft}, which was reported before: {nft in self.reported}"
            )
        if event["kind"] == "ADDED":
            life, skew = self.story.lives[nft], self.story.weather.skew
            self.reported[nft] = Reported(life, event, skew)
            self.reported[nft].is_fair = self.story.is_fair
            return
        self.sold.add(event["offer_id"])
        self.reported[nft].is_strict = not self.story.world.has_lied
        self.reported[nft].apply(event)
        if (moment := event["consensus_at"]) is not None:
            if moment < self.consensus.get(nft, ""):
                raise Mismatch(f"{dict(event)} is older than {self.consensus[nft]}")
            self.consensus[nft] = moment

    def compare(self) -> None:
        """Compare events with what is stored. Repeat it if a background check has written meanwhile."""
        self.read()
        seen, rows = self.seen, {nft: nfts.get_nft(read(), *nft) for nft in self.story.nfts}
        of_offers = {id: offers.get_offer(read(), id) for id in self.story.offers}
        self.read()
        if self.seen != seen:
            return self.compare()
        for nft, row in rows.items():
            reported = self.reported.get(nft)
            if (row is None) != (reported is None):
                raise Mismatch(
                    f"{nft} is stored as {row}, and was reported: {reported is not None}"
                )
            if row is not None and stored_state(row) != reported.state:
                raise Mismatch(
                    f"{nft} is stored as {dict(row)}, by its events it is {reported.state}"
                )
        for id, row in of_offers.items():
            offer = self.story.offers[id]
            offer.require_stored(row)
            if row is not None:
                offer.require_one_sale(row, rows[offer.nft], is_reported=id in self.sold)


def stored_state(row) -> State:
    listing = (row["listing_price"], row["last_listed_at"]) if row["is_for_sale"] else None
    return State(row["owner"], listing, row["ledger_state"] == "gone")


def end_checks() -> None:
    """Wait for the checks of a watcher that died: it takes them with it, before time goes on."""
    for thread in threading.enumerate():
        if thread.name.startswith("recheck"):
            thread.join()


class Story(OfferActs):
    def __init__(self, world: World, seed: str, steps: list[Step]) -> None:
        super().__init__(world, seed)
        self.steps = steps
        if kind_of(seed) == "basket":  # nothing is sold while an answer is 15 s behind
            self.weather.skew, self.weather.lags = (
                0,
                tuple(min(lag, 10) for lag in self.weather.lags),
            )
        self.most_lag = max(self.weather.lags) * times.SECOND
        self.is_fair = self.weather.is_fair
        self.is_followed = kind_of(seed) != "stop" or self.dice.random() < 0.5
        self.reader = Reader(self)

    def play(self) -> None:
        """Play all steps, let the sky clear, and compare. Raises Mismatch."""
        is_judged = len(self.steps) % 2 == 0
        self.world.begin(self.owners, self.accounts, self.weather.skew, self.is_followed, is_judged)
        World.weather = self.weather
        for position, step in enumerate(self.steps):
            self.weather.step = position
            CLOCK.set_forward(self.dice.choice((0, 0, 300, 2000)) * 1_000_000)
            try:
                getattr(self, step.name)(step)
            except Killed:
                end_checks()
                self.follower = Follower()
            self.compare_now(step)
        self.weather.clear()
        self.compare()

    def compare_now(self, step: Step) -> None:
        """What must be true at any time."""
        with self.world.app.app_context():
            self.reader.compare()
        self.compare_fees()
        if self.world.has_lied:
            return
        self.compare_last_sync()
        is_due = self.is_followed and times.now() > self.all_due_at
        if self.is_fair and is_due and step.name == "follow":
            self.compare_stored()

    def compare_last_sync(self) -> None:
        """What is shown is at least as new as lastSync says."""
        shown = self.world.client.get("/status").json["lastSync"]
        if shown is None:
            return
        synced_at = int(datetime.fromisoformat(shown).timestamp() * 1000) * times.SECOND // 1000
        synced_at -= max(0, self.weather.skew)  # a sweep's date is by the service's clock
        for nft, life in self.lives.items():
            row, entries = self.stored(nft), life.since(synced_at)
            if row is None:
                listed = [entry.state.listing for entry in entries]
                # A sweep finds no NFT that is not stored: following does, and reading past approvals.
                if all(listed) and self.is_passed(entries[0].date):
                    raise Mismatch(f"lastSync is {shown}; {nft} is not stored, listed as {listed}")
            elif stored_state(row) not in [entry.state for entry in entries]:
                raise Mismatch(
                    f"lastSync is {shown}; {nft} is stored as {stored_state(row)}, and was {entries}"
                )

    def is_passed(self, date: str) -> bool:
        """Whether following has read a transaction of this date."""
        with self.world.app.app_context():
            state = following.get_follow(read())
        return state is not None and state["began_at"] < date <= state["cursor_at"]

    def compare_fees(self, *, is_final: bool = False) -> None:
        """A settled purchase cost what its rows on the ledger say."""
        with self.world.app.app_context():
            settled = read().execute(PURCHASES).fetchall()
        for row in settled:
            rows = self.records_of(TransactionId.parse(row["transaction_id"]))
            # The bidder pays for the execution of an offer.
            charged = sum(each["charged_tx_fee"] for each in rows if not each["scheduled"])
            is_wrong = bool(charged) and row["fee_tinybars"] == 0
            if is_wrong or (is_final and row["fee_tinybars"] != charged):
                raise Mismatch(f"{dict(row)} cost {charged} tinybars")

    def reported_moves(self, nft) -> set[int]:
        reported = self.reader.reported.get(nft)
        return reported.moved if reported else set()

    # At the end

    def compare(self) -> None:
        if self.dice.random() < 0.3:  # reports find what following may have missed
            self.compare_reported()
        self.compare_followed()
        watched = self.watched()
        counts = self.sync(None)
        if not all(done.is_final for done in counts):
            raise Mismatch(f"a round under a clear sky did not finish: {summary(counts)}")
        self.compare_index(self.world.app, watched)
        self.compare_offers(self.world.app, is_complete=True)
        self.compare_offer_lists()
        self.compare_book()
        if not self.watched() - watched:  # no new seller was found
            again = self.sync(None)
            if again.keys() - {Done.SELLERS, Done.INCOMPLETE}:
                raise Mismatch(f"the next round still found something: {summary(again)}")
        self.compare_events()
        self.audit()
        if self.dice.random() < 0.25:
            with self.world.rebuilt.app_context():
                for token in TOKENS:
                    rebuild(token)
                sync()
            self.compare_index(self.world.rebuilt, self.accounts)
            self.compare_offers(self.world.rebuilt, is_complete=False)

    def compare_reported(self) -> None:
        self.follow(None)
        self.compare_reports_without_id()
        self.compare_reports()
        self.compare_trades()

    def compare_followed(self) -> None:
        """Following alone finds everything, unless a wrong answer looked like the newest one."""
        self.follower = Follower()
        for seconds in LOOKS:
            CLOCK.set_forward(seconds * times.SECOND)
            self.follow(None)
        if not self.world.has_lied:
            self.compare_index(self.world.app, self.everybody())
            self.compare_stored()
            self.compare_fees(is_final=True)
        for _ in range(2):  # an undecided NFT is checked again, later and later
            CLOCK.set_forward(2 * times.HOUR)
            counts = self.follow(None)
        if not all(done.is_final for done in counts):
            raise Mismatch(f"following under a clear sky did not end: {summary(counts)}")
        self.compare_offers(self.world.app, is_complete=True)
        if self.world.has_lied:
            return
        self.compare_last_sync()
        found = self.sync(None).keys() & {Done.LISTED, Done.TAKEN_OFF}
        if found:
            raise Mismatch(f"a sweep found what following had not: {found}")

    def everybody(self) -> set[str]:
        return {life.owner for life in self.lives.values()}

    def compare_stored(self) -> None:
        """What is stored is what the ledger shows, listed or not."""
        for nft, life in self.lives.items():
            row = self.stored(nft)
            if row is None and life.listing:
                raise Mismatch(f"{nft} is listed, and not stored")
            if row and stored_state(row) != life.state and not self.may_wait(life):
                raise Mismatch(f"{nft} is stored as {stored_state(row)}, and is {life.past[-1]}")

    def may_wait(self, life) -> bool:
        """Whether the newest change is one of a whole token, which is looked at after seconds."""
        newest = [entry for entry in life.past if entry.is_decisive][-1]
        return newest.is_of_token and newest.moment > self.world.ledger_now() - 90 * times.SECOND

    def compare_events(self) -> None:
        """Each change of owner was reported, since the NFT is stored."""
        with self.world.app.app_context():
            self.reader.compare()
        for reported in self.reader.reported.values():
            reported.require_all_reported()
        for token in TOKENS:
            self.compare_collection(token)

    def compare_collection(self, token: str) -> None:
        """The counts of a collection are the sums over its NFTs and their sales."""
        sales = [
            (date, price)
            for nft, life in self.reader.reported.items()
            for price, date in life.sales
            if nft[0] == token
        ]
        with self.world.app.app_context():
            collection = kept.get_collection(read(), token)
        rows = [row for nft in self.nfts if nft[0] == token and (row := self.stored(nft))]
        last_at = max((date for date, _ in sales), default=None)
        # Of NFTs that were sold at once, any may be the last.
        last_prices = {price for date, price in sales if date == last_at} or {None}
        volume = sum(price for _, price in sales)
        listed = sum(row["is_for_sale"] for row in rows)
        counted = [(len(sales), volume, listed, price, last_at) for price in last_prices]
        if collection and tuple(collection[name] for name in COUNTED) not in counted:
            raise Mismatch(f"{token} has {dict(collection)}, and should have {counted}")

    def watched(self) -> set[str]:
        """The accounts that a sweep asks about."""
        with self.world.app.app_context():
            return {*prepared_transactions.list_sellers(read())}

    def compare_index(self, app, watched) -> None:
        for nft, life in self.lives.items():
            row = self.stored(nft, app)
            is_listed = row is not None and row["is_for_sale"] == 1
            listing = (row["listing_price"], row["last_listed_at"]) if is_listed else None
            if life.listing is None or is_listed or life.owner in watched:
                if listing != life.listing:
                    raise Mismatch(f"{nft} is listed as {listing}, and should be {life.listing}")
                if is_listed and row["owner"] != life.owner:
                    raise Mismatch(f"{nft} is listed by {row['owner']}, not by {life.owner}")

    def compare_book(self) -> None:
        """The order book as clients see it: what is listed, the newest first."""
        shown = self.world.client.get("/v1/orderbook").json
        dates = [nft["lastListedDate"] for nft in shown]
        if dates != sorted(dates, reverse=True):
            raise Mismatch(f"the order book is out of order: {dates}")
        for nft in shown:
            life = self.lives[nft["token"], nft["serialNo"]]
            if life.listing is None or nft["listingPrice"] != life.listing[0]:
                raise Mismatch(f"the order book shows {nft}")

    def compare_offers(self, app, *, is_complete: bool) -> None:
        """Offers are stored as on the ledger. Unless it ``is_complete``, ended ones may be missing."""
        for offer in self.offers.values():
            with app.app_context():
                row = offers.get_offer(read(), offer.schedule_id)
            state, stored = self.state_of(offer, self.world.ledger_now()), row and row["state"]
            if (
                stored is None
                and (not is_complete or not self.is_followed)
                and offer not in self.unended()
            ):
                continue
            if stored != state:
                raise Mismatch(f"{offer} is stored as {stored}, and is {state}")
            if state == "open" and row["is_covered"] != self.is_covered(offer):
                raise Mismatch(f"{offer} is covered: {dict(row)}")
        for schedule_id in self.other_schedules:
            with app.app_context():
                if row := offers.get_offer(read(), schedule_id):
                    raise Mismatch(f"{dict(row)} is no offer")

    def compare_offer_lists(self) -> None:
        """The open offers as clients see them: the highest first. What is listed can be accepted."""
        now = times.now()
        open_offers = [
            offer
            for offer in self.offers.values()
            if self.state_of(offer, now) == "open"
            and self.is_covered(offer)
            and self.lives[offer.nft].owner == offer.seller
            and not self.lives[offer.nft].is_deleted
            and self.stored(offer.nft)
        ]
        lists = {
            f"nft/{token}/{serial_no}/offers": [
                offer for offer in open_offers if offer.nft == (token, serial_no)
            ]
            for token, serial_no in self.nfts
        }
        for token in TOKENS:
            of_token = [offer for offer in open_offers if offer.nft[0] == token]
            lists[f"collection/{token}/offers"] = of_token
        for account_id in self.accounts:
            made = [offer for offer in self.offers.values() if self.is_made_by(offer, account_id)]
            received = [offer for offer in open_offers if offer.seller == account_id]
            lists[f"user/{account_id}/offers?side=made"] = made
            lists[f"user/{account_id}/offers?side=received"] = received
        for path, expected in lists.items():
            response = self.world.client.get(f"/v1/{path}")
            if response.status_code == 404 and not expected:
                continue
            shown = [(offer["price"], offer["offerId"]) for offer in response.json]
            if shown != sorted(shown, key=lambda each: (-each[0], *numbers(each[1]))) or {
                *shown
            } != {(offer.price, offer.schedule_id) for offer in expected}:
                raise Mismatch(f"{path} shows {response.text}, and should show {expected}")

    def is_made_by(self, offer, account_id: str) -> bool:
        """Whether a list of an account's offers has it, whatever became of it."""
        with self.world.app.app_context():
            is_stored = offers.get_offer(read(), offer.schedule_id) is not None
        return is_stored and offer.bidder == account_id

    def is_covered(self, offer) -> bool:
        with self.world.ledger.app_context():
            db = ledger_database.read()
            balance = accounts.balance(db, offer.bidder)
            is_associated = accounts.is_associated(db, offer.bidder, offer.nft[0])
        return balance >= offer.find_need() + (0 if is_associated else ASSOCIATION)

    def compare_reports_without_id(self) -> None:
        """A report without an id is OK only if the newest prepared transaction has taken effect."""
        for nft, life in self.lives.items():
            for account_id in self.accounts:
                newest = self.newest_prepared(nft, account_id)
                stands = life.listing is not None and life.owner == account_id
                status = self.post("comingsoon", [nft], account_id).status_code
                is_wrong = (
                    newest is not None
                    and status == 200
                    and not {
                        "listing": stands,
                        "withdrawal": not stands,
                        "purchase": self.is_bought(newest),
                    }[newest["kind"]]
                )
                if is_wrong:
                    raise Mismatch(f"{nft}: a report of {account_id} without an id is OK")

    def newest_prepared(self, nft, account_id: str):
        with self.world.app.app_context():
            row = prepared_transactions.get_newest_prepared(read(), *nft, account_id)
        return row if row and not row["expires_at"] < times.to_iso(times.now()) else None

    def is_bought(self, row) -> bool:
        rows = self.records_of(TransactionId.parse(row["transaction_id"]))
        return any(row["result"] == "SUCCESS" for row in rows)

    def compare_reports(self) -> None:
        """A report of the transaction behind a listing is OK, again and again, while the listing stands."""
        for nft, life in self.lives.items():
            trades = self.withdrawals + self.purchases
            if any(nft in trade.prices and life.owner == trade.account_id for trade in trades):
                continue  # a report without an id may be about that
            status = life.listing and self.post("comingsoon", [nft], life.owner).status_code
            if status not in (None, 200, 202) and self.stored(nft):
                raise Mismatch(f"{nft} is listed; a report without an id gets {status}")
        for handed in self.handed:
            lives, some = [self.lives[nft] for nft in handed.nfts], handed.nfts
            fields = {"transactionId": str(id_of(handed.content))}
            for _ in range(2):
                status = self.post("comingsoon", some, handed.account_id, **fields).status_code
                stand = all(life.listing and life.owner == handed.account_id for life in lives)
                if status == 200 and not stand:
                    raise Mismatch(f"{some}: a report is OK, and something is not listed")
                if status in (502, 503):
                    raise Mismatch(f"{some}: a report under a clear sky failed")
                dates = {life.listing and life.listing[1] for life in lives}
                if stand and dates == {self.listed_at(handed)} and status != 200:
                    raise Mismatch(f"{some} are listed by what was reported: {status}")

    def compare_trades(self) -> None:
        """A report of a successful withdrawal or purchase is OK, as long as that stands."""
        for handed in self.withdrawals + self.purchases:
            fields = {"transactionId": str(id_of(handed.content))}
            answer = self.post("comingsoon", handed.nfts, handed.account_id, **fields)
            result = self.result_of(handed)
            if answer.status_code == 404 or self.is_over(handed):
                continue
            of_each = [self.find_answers(handed, nft, result) for nft in handed.nfts]
            # One that was refused refuses all, and one that may still come holds up all.
            expected = {max(answers) for answers in product(*of_each)}
            if answer.status_code not in expected:
                raise Mismatch(f"{handed[:2]}, {result}: a report gets {answer.text}")

    def find_answers(self, handed: Handed, nft, result: str | None) -> tuple[int, ...]:
        """What a report of a withdrawal or purchase may be answered of one of its NFTs."""
        life, is_purchase = self.lives[nft], handed in self.purchases
        is_listed = life.listing is not None and life.owner == handed.account_id
        return (
            (200,) if result == "SUCCESS" and (is_purchase or not is_listed)
            else (200, 409) if not is_purchase and not is_listed and result
            else (409,) if result
            else (202,) if is_purchase or is_listed
            else (200, 202, 409)  # it is off the book, by a sale or by another withdrawal
        )  # fmt: skip

    def is_over(self, handed: Handed) -> bool:
        """Whether a transaction has expired, or is not stored any more."""
        seconds = body_of(handed.content).transactionValidDuration.seconds
        ends_at = id_of(handed.content).valid_start + seconds * times.SECOND
        return ends_at < times.now()

    def result_of(self, handed: Handed) -> str | None:
        """The ledger's result of what was handed out; None if it was never submitted."""
        rows = self.records_of(id_of(handed.content))
        results = {row["result"] for row in rows}
        return "SUCCESS" if "SUCCESS" in results else next(iter(results - {"DUPLICATE"}), None)

    def audit(self) -> None:
        """Each NFT that the marketplace moved was paid for, at the reported price, which a replica showed."""
        lag = times.now() if self.world.has_lied else self.most_lag + MARGIN
        reported = {
            (nft, date): price
            for nft, life in self.reader.reported.items()
            for price, date in life.sales
        }
        sales = find_sales(self.world.ledger, MARKET, lag=lag, reported=reported)
        faults = [sale.fault for sale in sales if sale.fault]
        if faults:
            raise Mismatch("; ".join(faults))

    def stored(self, nft, app=None):
        with (app or self.world.app).app_context():
            return nfts.get_nft(read(), *nft)

    def records_of(self, transaction_id) -> list:
        """What the ledger has under an id."""
        with self.world.ledger.app_context():
            found = ledger_queries.list_transactions(ledger_database.read(), transaction_id.dashed)
            return [mirror_rows.transaction_alone(records.read(row)) for row in found]

    def listed_at(self, handed: Handed) -> str | None:
        rows = self.records_of(id_of(handed.content))
        return times.to_iso(times.from_consensus(rows[0]["consensus_timestamp"])) if rows else None
