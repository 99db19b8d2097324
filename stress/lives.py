"""Random lives of NFTs, in the service and in a model of the listing rule that knows nothing of the service.

A story is a list of steps drawn from a seed: what people do on the ledger and here, while the mirror node
fails, lags and contradicts itself, and while the service dies at any commit or request. Then the faults end,
the watcher follows the ledger to its end, and the order book must be what the model says, NFT by NFT. Then a
sweep must find nothing.

    python -m stress.lives --seconds 600
"""

import argparse
import base64
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from sqlite_utils.utils import sqlite3
from werkzeug.wrappers import Response

from hiero_sandbox import database as ledger_database
from hiero_sandbox import wallet
from hiero_sandbox.application import create_sandbox
from hiero_sandbox.ledger import consensus, envelopes
from hiero_sandbox.ledger import queries as ledger_queries
from marketplace import create_app
from marketplace.errors import MarketplaceError
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.ids import TransactionId
from marketplace.ledger import mirror
from marketplace.ledger.mirror_schemas import Token
from marketplace.market import listings, nft_collections, reconciler
from marketplace.market.memos import listing_memo
from marketplace.market.prepare import Ask
from marketplace.services import services
from marketplace.store import (
    access_tokens,
    following,
    nfts,
    prepared_transactions,
    properties,
)
from marketplace.store import nft_collections as kept
from marketplace.store.database import read, write
from marketplace.store.postgresql.servers import Cursor
from marketplace.watcher import collection_import
from marketplace.watcher.follow import Follower
from marketplace.watcher.rechecker import Rechecker, drain_queue
from marketplace.watcher.sweep import sync
from marketplace.watcher.work import Done, summary
from stress.audit import find_sales
from stress.wallets import (
    MINTED_AT,
    allow,
    approval,
    body_of,
    delete_token,
    give_new_id,
    id_of,
    new_body,
    seal,
    update_metadata,
    wipe_nft,
    withdrawal,
)
from tests.engines import database_url, running_on

MARKET, OTHER_MARKET, STRANGER = "0.0.9001", "0.0.6666", "0.0.1003"
ACCOUNTS = ("0.0.1001", "0.0.1002")
NFTS = (("0.0.7001", 7), ("0.0.7001", 8), ("0.0.7002", 7))
LEDGER_TABLES = (
    "account", "association", "nft", "approval_for_all", "deleted_token", "token",
    "transaction_record", "nft_transaction",
)  # fmt: skip
COUNTED = ("sales", "volume", "listed")  # of a collection
# How often each step is drawn.
STEPS = {
    "add": 3, "prepare": 5, "prepare_long_ago": 1, "sign": 6, "sign_elsewhere": 1, "freeze_again": 2,
    "alter": 2, "list_by_other_means": 1, "report": 5, "sell": 3, "approve": 2, "withdraw": 2, "forge": 1,
    "schedule": 1, "update": 2, "delete": 0.3, "wipe": 0.3, "follow": 5, "sync": 0.3, "rebuild": 0.5,
    "prepare_withdrawal": 2, "sign_withdrawal": 3, "prepare_purchase": 4, "sign_purchase": 5,
    "report_trade": 3,
}  # fmt: skip
# The same in a story of traders: NFTs are listed and bought, again and again.
TRADES = {
    "list_by_other_means": 9, "prepare": 1, "sign": 2, "prepare_withdrawal": 2, "sign_withdrawal": 2,
    "withdraw": 1, "prepare_purchase": 6, "sign_purchase": 6, "report_trade": 3, "report": 1, "sell": 1,
    "follow": 2, "wipe": 0.3,
}  # fmt: skip


class Killed(BaseException):
    """Stands for the death of the process. The service can not catch it: it is no Exception."""


class Mismatch(AssertionError):
    """The service and the model disagree."""


class Step(NamedTuple):
    """One action. Its number decides which NFT, which account and which price."""

    name: str
    number: int

    def choose(self, items):
        return items[self.number % len(items)]

    @property
    def price(self) -> int:
        return 1 + self.number % 997


def draw(seed: str) -> list[Step]:
    """Draw a story. The first steps make sure that something can happen."""
    dice = random.Random(f"story {seed}")
    is_trade = dice.random() < 0.4
    steps = TRADES if is_trade else STEPS
    names = dice.choices(list(steps), steps.values(), k=dice.randint(4, 24))
    if is_trade:
        start = [Step("add", position) for position in range(len(NFTS))]
        start += [Step("list_by_other_means", dice.randrange(10**6)) for _ in NFTS]
    else:
        names = ["add", "prepare"] * (dice.random() < 0.9) + names
        start = []
    return start + [Step(name, dice.randrange(10**6)) for name in names]


@dataclass
class Life:
    """The model: what the rule says of one NFT. A listing is its price and its consensus timestamp."""

    owner: str
    listing: tuple[int, str] | None = None
    is_deleted: bool = False


class Reader:
    """A client that follows the feed of events, and derives from it alone what is stored of each NFT."""

    ENDS = {"WITHDRAWN", "SOLD", "TRANSFERRED", "BURNED"}

    def __init__(self) -> None:
        self.seen = 0
        self.lives: dict[tuple[str, int], Life] = {}
        self.consensus: dict[tuple[str, int], str] = {}
        self.sales: list[tuple] = []

    def read(self) -> None:
        sql = "SELECT * FROM event WHERE id > :seen ORDER BY id LIMIT 1000"
        for event in read().execute(sql, {"seen": self.seen}).fetchall():
            if event["id"] != self.seen + 1:
                raise Mismatch(f"event {event['id']} follows {self.seen}")
            self.seen = event["id"]
            self.apply(event)

    def apply(self, event) -> None:
        nft, kind = (event["token"], event["serial_no"]), event["kind"]
        if (kind == "ADDED") == (nft in self.lives):
            raise Mismatch(f"{kind} of {nft}, which is {self.lives.get(nft)}")
        life = self.lives.setdefault(nft, Life(event["to_account"]))
        listed_for = life.listing and life.listing[0]
        if kind in ("WITHDRAWN", "PRICE_CHANGED") and event["previous_price"] != listed_for:
            raise Mismatch(f"{dict(event)} of {life}")
        if kind in self.ENDS:
            life.listing = None
        if kind in ("SOLD", "TRANSFERRED"):
            life.owner = event["to_account"]
        if kind == "BURNED":
            life.is_deleted = True
        if kind in ("LISTED", "PRICE_CHANGED"):
            life.owner = event["from_account"]
            life.listing = event["price"], event["consensus_at"]
        if kind == "SOLD":
            self.sales.append((nft, event["to_account"], event["price"], event["consensus_at"]))
        if (moment := event["consensus_at"]) is not None:
            if moment < self.consensus.get(nft, ""):
                raise Mismatch(f"{dict(event)} is older than {self.consensus[nft]}")
            self.consensus[nft] = moment

    def compare(self) -> None:
        """Compare events with what is stored. Repeat it if a background check has written meanwhile."""
        self.read()
        seen, rows = self.seen, {nft: nfts.get_nft(read(), *nft) for nft in NFTS}
        self.read()
        if self.seen != seen:
            return self.compare()
        for nft, row in rows.items():
            life = self.lives.get(nft)
            if (row is None) != (life is None):
                raise Mismatch(f"{nft} is stored as {row}, by its events it is {life}")
            if row is None:
                continue
            listing = (row["listing_price"], row["last_listed_at"]) if row["is_for_sale"] else None
            is_gone = row["ledger_at"] == reconciler.GONE
            if (row["owner"], listing, is_gone) != (life.owner, life.listing, life.is_deleted):
                raise Mismatch(f"{nft} is stored as {dict(row)}, by its events it is {life}")


class Handed(NamedTuple):
    """A transaction that the service handed out: a listing, or with no price a withdrawal or a purchase."""

    nft: tuple[str, int]
    account_id: str
    price: int | None
    content: bytes


class Weather:
    """Decides what fails when. The same story has the same faults, whichever thread comes first."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._asked = Counter()
        self._lock = threading.Lock()
        self.force = random.Random(f"weather {seed}").choice((0, 0.3, 1))
        self.step = 0

    def clear(self) -> None:
        self.force = 0

    def draws(self, what: str) -> random.Random:
        with self._lock:
            self._asked[self.step, what] += 1
            return random.Random(f"{self._seed}/{self.step}/{what}/{self._asked[self.step, what]}")

    def happens(self, dice: random.Random, chance: float) -> bool:
        return dice.random() < chance * self.force


def foo(token: str) -> dict:
    """The record of a collection, for an import."""
    return nft_collections.describe(token, Token("Foo", "NON_FUNGIBLE_UNIQUE", 3), times.now())


def rebuild(token: str) -> None:
    """Import a collection, and recheck what the import has queued."""
    for _ in collection_import.import_collection(foo(token), collection_import.Tally()):
        pass
    drain_queue()


def clear_sky() -> Weather:
    weather = Weather("none")
    weather.clear()
    return weather


class World:
    """The service, the ledger, a replica of the ledger that lags, and the faults of all of them."""

    weather: Weather

    def __init__(self, folder: Path) -> None:
        World.weather = clear_sky()
        self.app = self._create_app(folder, "market.db")
        self.rebuilt = self._create_app(folder, "rebuilt.db")
        self.ledger = services(self.app).sandbox.app
        self.replica = create_sandbox(f"{folder}/replica.db")
        self._answer_freshly = self.ledger.wsgi_app
        self._replica_lock = threading.Lock()
        self.ledger.wsgi_app = self._answer
        services(self.rebuilt).sandbox.app.wsgi_app = self._answer_plainly
        with self.app.app_context():
            token = access_tokens.create("lives", ("read", "write"), None)
        self.client = self.app.test_client()
        self.client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"

    def _create_app(self, folder: Path, name: str):
        return create_app(
            DATABASE_URL=database_url(folder, name),
            DATA_DIR=str(folder),
            MIRROR_NODE_RATE=10_000,
        )

    def begin(self) -> None:
        World.weather = clear_sky()
        for app in (self.app, self.rebuilt):
            with app.app_context(), write() as db:
                for table in (
                    "prepared_transaction",
                    "nft",
                    "collection",
                    "recheck",
                    "job",
                    "event",
                ):
                    db.execute(f"DELETE FROM {table}")
                moment = times.to_iso(times.now())
                following.mark_followed_from(db, moment, moment)
                properties.mark_job_finished(db, "sync", moment)
        with self.ledger.app_context(), ledger_database.write() as db:
            for table in LEDGER_TABLES:
                db.execute(f"DELETE FROM {table}")
        with self.ledger.app_context():
            for token, serial_no in NFTS:
                consensus.mint(token, serial_no, ACCOUNTS[0], MINTED_AT)
        self.past = []  # copies of the ledger's tables, each with its time
        self.has_lied = False
        self.loaded = None
        self.note()

    def note(self) -> None:
        """Copy the ledger as it is now. A replica may show the copy later."""
        with self.ledger.app_context():
            tables = {
                table: [
                    tuple(row) for row in ledger_database.read().execute(f"SELECT * FROM {table}")
                ]
                for table in LEDGER_TABLES
            }
        self.past.append((times.now(), tables))

    def _answer(self, environ, start_response):
        path = environ["PATH_INFO"]
        if path.startswith("/ipfs/"):
            start_response("404 Not Found", [])
            return [b""]
        dice = self.weather.draws(path)
        if self.weather.happens(dice, 0.02):
            raise Killed(path)
        if self.weather.happens(dice, 0.06):
            start_response("503 Service Unavailable", [])
            return [b""]
        if self.weather.happens(dice, 0.02):
            start_response("200 OK", [])
            return [b'{"nfts": [{"token_id": null}], "links": {"next": null}}']
        if self.weather.happens(dice, 0.03):
            return self._answer_wrongly(environ, start_response)
        if self.weather.happens(dice, 0.3):
            return self._answer_lately(dice.randrange(len(self.past)), environ, start_response)
        return self._answer_freshly(environ, start_response)

    def _answer_plainly(self, environ, start_response):
        if environ["PATH_INFO"].startswith("/ipfs/"):
            start_response("404 Not Found", [])
            return [b""]
        return self._answer_freshly(environ, start_response)

    def _answer_wrongly(self, environ, start_response):
        """Answer freshly, but without any spender, as a replica in the middle of an update."""
        self.has_lied = True
        response = Response.from_app(self._answer_freshly, environ)
        document = json.loads(response.get_data())
        for nft in [document, *document.get("nfts", [])]:
            nft["spender"] = None
        response.set_data(json.dumps(document))
        return response(environ, start_response)

    def _answer_lately(self, position: int, environ, start_response):
        then, tables = self.past[position]
        with self._replica_lock:
            if environ["PATH_INFO"].endswith("/blocks"):
                moment = {"from": times.to_consensus(then), "to": times.to_consensus(then)}
                start_response("200 OK", [])
                return [json.dumps({"blocks": [{"timestamp": moment}]}).encode()]
            if self.loaded is not tables:
                with self.replica.app_context(), ledger_database.write() as db:
                    for table, rows in tables.items():
                        db.execute(f"DELETE FROM {table}")
                        if rows:
                            marks = ", ".join("?" * len(rows[0]))
                            db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
                self.loaded = tables
            return list(self.replica(environ, start_response))


class Mortal(sqlite3.Connection):
    """A connection whose process may die at a commit: just before it, or just after."""

    def __init__(self, path, *args, **kwargs) -> None:
        super().__init__(path, *args, **kwargs)
        self._is_ours = str(path).endswith("market.db")

    def execute(self, sql, *args):
        execute = partial(super().execute, sql, *args)
        return die_at(execute) if sql == "COMMIT" and self._is_ours else execute()


def die_at(commit: Callable):
    dice = World.weather.draws("commit")
    if World.weather.happens(dice, 0.03):
        raise Killed("before a commit")
    result = commit()
    if World.weather.happens(dice, 0.03):
        raise Killed("after a commit")
    return result


def make_mortal(set_attribute=setattr) -> None:
    """Let every connection that is opened from now on be one that may die. Retry without a pause."""
    execute_on_postgresql, connect = Cursor.execute, sqlite3.connect

    def execute_or_die(cursor, sql, *parameters, **options):
        execute = partial(execute_on_postgresql, cursor, sql, *parameters, **options)
        return die_at(execute) if sql.endswith("COMMIT") else execute()

    set_attribute(Cursor, "execute", execute_or_die)
    mortal = lambda *args, **kwargs: connect(*args, **{"factory": Mortal} | kwargs)  # noqa: E731
    set_attribute(sqlite3, "connect", mortal)
    set_attribute(mirror, "FIRST_PAUSE_SECONDS", 0.0)


class Story:
    """One story, as it is played."""

    def __init__(self, world: World, seed: str, steps: list[Step]) -> None:
        self.world, self.steps = world, steps
        self.weather = Weather(seed)
        self.weather_was = self.weather.force
        self.lives = {nft: Life(ACCOUNTS[0]) for nft in NFTS}
        self.handed: list[Handed] = []
        self.withdrawals: list[Handed] = []
        self.purchases: list[Handed] = []
        self.dice = random.Random(f"play {seed}")
        self.follower = Follower()
        self.reader = Reader()
        self.sales: list[tuple] = []
        self.taken_back: set[tuple] = set()  # sales after which the seller got the NFT again

    def play(self) -> None:
        """Play all steps, let the sky clear, and compare. Raises Mismatch."""
        self.world.begin()
        World.weather = self.weather
        for position, step in enumerate(self.steps):
            self.weather.step = position
            try:
                getattr(self, step.name)(step)
            except Killed:
                self.follower = Follower()
            with self.world.app.app_context():
                self.reader.compare()
        self.weather.clear()
        self.compare()

    # On the ledger

    def submit(self, bodies, *signers) -> int | None:
        """Sign and submit; returns the time of consensus in nanoseconds, or None if it failed."""
        transaction = seal(bodies)
        for signer in signers:
            transaction = wallet.sign(signer, transaction)
        return self.submit_signed(transaction)

    def submit_signed(self, content: bytes) -> int | None:
        with self.world.ledger.app_context():
            receipt = consensus.submit(content, times.now())
            moment = ledger_queries.get_last_consensus(ledger_database.read())
        self.world.note()
        return moment if receipt.result == "SUCCESS" else None

    def list_(self, nft, price: int | None, moment: int | None) -> None:
        """Update the model: what was signed lists the NFT at this price, or without one ends its listing."""
        if moment is not None:
            self.lives[nft].listing = price and (price, times.to_iso(moment))

    def sign(self, step: Step) -> None:
        if self.handed:
            handed = step.choose(self.handed)
            moment = self.submit_signed(wallet.sign(handed.account_id, handed.content))
            self.list_(handed.nft, handed.price, moment)

    def sign_elsewhere(self, step: Step) -> None:
        """The same transaction is submitted to another node, too: a second row under its id."""
        if self.handed:
            handed = step.choose(self.handed)
            body = body_of(handed.content)
            body.nodeAccountID.accountNum = 4
            self.list_(handed.nft, handed.price, self.submit(body, handed.account_id))

    def freeze_again(self, step: Step) -> None:
        """A wallet's SDK gives the transaction an id of its own."""
        if self.handed:
            handed = step.choose(self.handed)
            body = body_of(handed.content)
            give_new_id(body, handed.account_id)
            self.list_(handed.nft, handed.price, self.submit(body, handed.account_id))

    def alter(self, step: Step) -> None:
        """The owner signs another memo under the same id: another price, another NFT's, or none."""
        if self.handed:
            handed = step.choose(self.handed)
            token, serial_no = handed.nft
            body = body_of(handed.content)
            price, body.memo = (
                (step.price, listing_memo(token, serial_no, step.price, "Foo")),
                (None, listing_memo(token, serial_no + 1, step.price, "Foo")),
                (None, f"Listing for {step.price} HBAR"),
            )[step.number % 7 % 3]
            self.list_(handed.nft, price, self.submit(body, handed.account_id))

    def list_by_other_means(self, step: Step) -> None:
        nft = step.choose(NFTS)
        owner = self.lives[nft].owner
        body = approval(owner, nft, MARKET, listing_memo(*nft, step.price, "Foo"))
        self.list_(nft, step.price, self.submit(body, owner))

    def approve(self, step: Step) -> None:
        nft = step.choose(NFTS)
        owner = self.lives[nft].owner
        body = approval(owner, nft, (MARKET, OTHER_MARKET)[step.number % 2])
        self.list_(nft, None, self.submit(body, owner))

    def withdraw(self, step: Step) -> None:
        nft = step.choose(NFTS)
        owner = self.lives[nft].owner
        self.list_(nft, None, self.submit(withdrawal(owner, nft), owner))

    def sign_withdrawal(self, step: Step) -> None:
        if self.withdrawals:
            handed = step.choose(self.withdrawals)
            moment = self.submit_signed(wallet.sign(handed.account_id, handed.content))
            self.list_(handed.nft, None, moment)

    def sign_purchase(self, step: Step) -> None:
        """The buyer signs what the marketplace has signed; now and then he does not."""
        if self.purchases:
            handed = step.choose(self.purchases)
            content = handed.content
            if step.number % 7:
                content = wallet.sign(handed.account_id, content)
            if (moment := self.submit_signed(content)) is not None:
                amounts = body_of(content).cryptoTransfer.transfers.accountAmounts
                paid = max(-each.amount for each in amounts) // TINYBARS
                sale = (handed.nft, handed.account_id, paid, times.to_iso(moment))
                self.sales.append(sale)
                self.give(handed.nft, handed.account_id)

    def give(self, nft, account_id: str) -> None:
        """Update the model: another account has the NFT now."""
        self.lives[nft].owner, self.lives[nft].listing = account_id, None
        # There are only two accounts: if a buyer loses the NFT, its seller has it again.
        self.taken_back |= {sale for sale in self.sales if sale[0] == nft and sale[1] != account_id}

    def forge(self, step: Step) -> None:
        """A stranger pays for an approval, so that its memo is his. The owner only signs the approval."""
        nft = step.choose(NFTS)
        owner = self.lives[nft].owner
        body = new_body(STRANGER, listing_memo(*nft, 1, "Foo"))
        allow(body.cryptoApproveAllowance, nft, owner, MARKET)
        self.list_(nft, None, self.submit(body, STRANGER, owner))

    def schedule(self, step: Step) -> None:
        """A stranger's schedule executes an approval: two rows under one id, the first memo is his."""
        nft = step.choose(NFTS)
        owner = self.lives[nft].owner
        body = new_body((STRANGER, owner)[step.number % 2], listing_memo(*nft, 1, "Foo"))
        scheduled = body.scheduleCreate.scheduledTransactionBody
        scheduled.memo = listing_memo(*nft, 2, "Foo")
        allow(scheduled.cryptoApproveAllowance, nft, owner, MARKET)
        payer = envelopes.write_id(body.transactionID.accountID)
        self.list_(nft, None, self.submit(body, payer, owner))

    def sell(self, step: Step) -> None:
        nft, buyer = step.choose(NFTS), ACCOUNTS[step.number // 3 % 2]
        if self.lives[nft].owner != buyer:
            with self.world.ledger.app_context():
                receipt = consensus.hand_over(*nft, buyer, times.now())
            if receipt.result == "SUCCESS":
                self.give(nft, buyer)
            self.world.note()

    def update(self, step: Step) -> None:
        with self.world.ledger.app_context():
            update_metadata(*step.choose(NFTS), times.now())
        self.world.note()

    def delete(self, step: Step) -> None:
        token = step.choose(NFTS)[0]
        with self.world.ledger.app_context():
            delete_token(token, times.now())
        for nft, life in self.lives.items():
            if nft[0] == token:
                life.is_deleted, life.listing = True, None
        self.world.note()

    def wipe(self, step: Step) -> None:
        nft = step.choose(NFTS)
        with self.world.ledger.app_context():
            receipt = wipe_nft(nft, self.lives[nft].owner, times.now())
        if receipt.result == "SUCCESS":
            self.lives[nft].is_deleted, self.lives[nft].listing = True, None
        self.world.note()

    # At the service

    def post(self, path: str, nft, account_id: str, **fields):
        body = {"accountId": account_id, "tokenId": nft[0], "serialNo": nft[1]} | fields
        response = self.world.client.post(f"/v1/{path}", json=body)
        if response.status_code not in (200, 202, 404, 409, 429, 502, 503):
            raise Mismatch(f"{path} answered {response.status_code}: {response.text}")
        return response

    def add(self, step: Step) -> None:
        self.post("add", step.choose(NFTS), ACCOUNTS[step.number % 2])

    def prepare(self, step: Step) -> None:
        nft, account_id = step.choose(NFTS), self.lives[step.choose(NFTS)].owner
        answer = self.post("list/extwallet", nft, account_id, listingPrice=step.price)
        self.keep(self.handed, nft, account_id, answer, step.price)

    def prepare_withdrawal(self, step: Step) -> None:
        nft = self.choose_listed(step)
        account_id = self.lives[nft].owner
        answer = self.post("delist/extwallet", nft, account_id)
        self.keep(self.withdrawals, nft, account_id, answer)

    def prepare_purchase(self, step: Step) -> None:
        nft = step.choose(NFTS)
        account_id = (
            ACCOUNTS[step.number // 5 % 2] if step.number % 6 else self.other_than_owner(nft)
        )
        answer = self.post("buy/extwallet", nft, account_id)
        self.keep(self.purchases, nft, account_id, answer)

    def choose_listed(self, step: Step):
        """A listed NFT, if there is one: little can happen to another."""
        return step.choose([nft for nft in NFTS if self.lives[nft].listing] or NFTS)

    def other_than_owner(self, nft) -> str:
        return next(one for one in ACCOUNTS if one != self.lives[nft].owner)

    def keep(self, handed: list[Handed], nft, account_id: str, answer, price=None) -> None:
        if answer.status_code == 200:
            content = base64.b64decode(answer.json["byteArray"])
            handed.append(Handed(nft, account_id, price, content))

    def report_trade(self, step: Step) -> None:
        trades = self.withdrawals + self.purchases
        if trades:
            handed = step.choose(trades)
            fields = {"transactionId": str(id_of(handed.content))} if step.number % 5 else {}
            self.post("comingsoon", handed.nft, handed.account_id, **fields)

    def prepare_long_ago(self, step: Step) -> None:
        nft, then = step.choose(NFTS), times.now() - 600 * times.SECOND
        with self.world.app.app_context():
            if nfts.get_nft(read(), *nft):
                with suppress(MarketplaceError):
                    ask = Ask(self.lives[nft].owner, *nft, "extwallet")
                    listings.prepare_listing(ask, step.price, then)

    def report(self, step: Step) -> None:
        nft, account_id = step.choose(NFTS), ACCOUNTS[step.number % 2]
        fields = {}
        if self.handed and step.number % 3:
            handed = step.choose(self.handed)
            nft, account_id = handed.nft, handed.account_id
            if step.number % 5:
                fields["transactionId"] = str(id_of(handed.content))
        self.post("comingsoon", nft, account_id, **fields)

    def follow(self, step: Step, seconds: int = 0) -> Counter:
        """Follow the ledger to its end, and recheck what is due so many seconds from now."""
        rechecker = Rechecker(self.world.app)
        with closing(rechecker), self.world.app.app_context():
            with suppress(MarketplaceError):
                while self.follower.step():
                    pass
            return rechecker.drain(times.now() + seconds * times.SECOND)

    def sync(self, step: Step) -> Counter:
        with self.world.app.app_context():
            return sync()

    def rebuild(self, step: Step) -> None:
        with self.world.app.app_context(), suppress(MarketplaceError):
            rebuild(step.choose(NFTS)[0])

    # At the end

    def compare(self) -> None:
        self.compare_followed()
        watched = self.watched()
        counts = self.sync(None)
        if not all(done.is_final for done in counts):
            raise Mismatch(f"a round under a clear sky did not finish: {summary(counts)}")
        self.compare_index(self.world.app, watched)
        self.compare_book()
        if not self.watched() - watched:  # no new seller was found
            again = self.sync(None)
            if again.keys() - {Done.SELLERS, Done.INCOMPLETE}:
                raise Mismatch(f"the next round still found something: {summary(again)}")
        self.compare_reports_without_id()
        self.compare_reports()
        self.compare_trades()
        self.compare_events()
        self.audit()
        if self.dice.random() < 0.25:
            with self.world.rebuilt.app_context():
                for token in sorted({token for token, _ in NFTS}):
                    rebuild(token)
            self.compare_index(self.world.rebuilt, ACCOUNTS)

    def compare_events(self) -> None:
        """Each sale has one event, with its facts. No sale of an NFT that was stored then is missing."""
        with self.world.app.app_context():
            self.reader.compare()
        if extra := [sale for sale in self.reader.sales if sale not in self.sales]:
            raise Mismatch(f"sold by the events, and not on the ledger: {extra}")
        if len({*self.reader.sales}) < len(self.reader.sales):
            raise Mismatch(f"a sale has two events: {self.reader.sales}")
        missing = {*self.sales} - {*self.reader.sales}
        if self.weather_was:  # a replica may show the seller again, and no history yet
            missing -= self.taken_back
        if missing and not self.world.has_lied:
            raise Mismatch(f"sold on the ledger, and not by the events: {missing}")
        for token in sorted({token for token, _ in NFTS}):
            self.compare_collection(token)

    def compare_collection(self, token: str) -> None:
        """The counts of a collection are the sums over its NFTs and their sales."""
        paid = [price for nft, _, price, _ in self.reader.sales if nft[0] == token]
        with self.world.app.app_context():
            collection = kept.get_collection(read(), token)
        rows = [row for nft in NFTS if nft[0] == token and (row := self.stored(nft))]
        counted = len(paid), sum(paid), sum(row["is_for_sale"] for row in rows)
        if collection and tuple(collection[name] for name in COUNTED) != counted:
            raise Mismatch(f"{token} has {dict(collection)}, and should have {counted}")

    def compare_followed(self) -> None:
        """Following alone finds everything, unless a wrong answer looked like the newest one."""
        self.follower = Follower()
        for hours in (1, 2):  # an undecided NFT is checked again, later and later
            counts = self.follow(None, seconds=hours * 7200)
        if not all(done.is_final for done in counts):
            raise Mismatch(f"following under a clear sky did not end: {summary(counts)}")
        if self.world.has_lied:
            return
        self.compare_index(self.world.app, ACCOUNTS)
        self.compare_stored()
        found = self.sync(None).keys() & {Done.LISTED, Done.TAKEN_OFF}
        if found:
            raise Mismatch(f"a sweep found what following had not: {found}")

    def compare_stored(self) -> None:
        """What is stored is what the ledger shows, listed or not."""
        for nft, life in self.lives.items():
            row = self.stored(nft)
            if row is None and life.listing and not life.is_deleted:
                raise Mismatch(f"{nft} is listed, and not stored")
            if row and row["owner"] != life.owner and not life.is_deleted:
                raise Mismatch(f"{nft} is stored as {row['owner']}'s, and is {life.owner}'s")

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

    def compare_reports_without_id(self) -> None:
        """A report without an id is OK only if the newest prepared transaction has taken effect."""
        for nft, life in self.lives.items():
            for account_id in ACCOUNTS:
                newest = self.newest_prepared(nft, account_id)
                stands = life.listing is not None and life.owner == account_id
                status = self.post("comingsoon", nft, account_id).status_code
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
        return any(json.loads(row["document"])["result"] == "SUCCESS" for row in rows)

    def compare_reports(self) -> None:
        """A report of the transaction behind a listing is OK, again and again, while the listing stands."""
        for nft, life in self.lives.items():
            if any((nft, life.owner) == trade[:2] for trade in self.withdrawals + self.purchases):
                continue  # a report without an id may be about that
            status = life.listing and self.post("comingsoon", nft, life.owner).status_code
            if status not in (None, 200, 202) and self.stored(nft):
                raise Mismatch(f"{nft} is listed; a report without an id gets {status}")
        for handed in self.handed:
            life = self.lives[handed.nft]
            fields = {"transactionId": str(id_of(handed.content))}
            for _ in range(2):
                status = self.post(
                    "comingsoon", handed.nft, handed.account_id, **fields
                ).status_code
                stands = life.listing and life.owner == handed.account_id
                if status == 200 and not stands:
                    raise Mismatch(f"{handed.nft}: a report is OK, and nothing is listed")
                if status in (502, 503):
                    raise Mismatch(f"{handed.nft}: a report under a clear sky failed")
                if stands and self.listed_at(handed) == life.listing[1] and status != 200:
                    raise Mismatch(f"{handed.nft} is listed by what was reported: {status}")

    def compare_trades(self) -> None:
        """A report of a successful withdrawal or purchase is OK, as long as that stands."""
        for handed in self.withdrawals + self.purchases:
            life, is_purchase = self.lives[handed.nft], handed in self.purchases
            fields = {"transactionId": str(id_of(handed.content))}
            answer = self.post("comingsoon", handed.nft, handed.account_id, **fields)
            result = self.result_of(handed)
            is_listed = life.listing is not None and life.owner == handed.account_id
            expected = (
                (200,) if result == "SUCCESS" and (is_purchase or not is_listed)
                else (200, 409) if not is_purchase and not is_listed and result
                else (409,) if result
                else (202,) if is_purchase or is_listed
                else (200, 202, 409)  # it is off the book, by a sale or by another withdrawal
            )  # fmt: skip
            if answer.status_code not in expected:
                raise Mismatch(f"{handed[:2]}, {result}: a report gets {answer.text}")

    def result_of(self, handed: Handed) -> str | None:
        """The ledger's result of what was handed out; None if it was never submitted."""
        rows = self.records_of(id_of(handed.content))
        results = {json.loads(row["document"])["result"] for row in rows}
        return "SUCCESS" if "SUCCESS" in results else next(iter(results - {"DUPLICATE"}), None)

    def audit(self) -> None:
        """Each NFT that the marketplace moved was paid for; if no replica lagged, at a price of that time."""
        lag = times.now() if self.weather_was else 0
        faults = [
            sale.fault for sale in find_sales(self.world.ledger, MARKET, lag=lag) if sale.fault
        ]
        if faults:
            raise Mismatch("; ".join(faults))

    def stored(self, nft, app=None):
        with (app or self.world.app).app_context():
            return nfts.get_nft(read(), *nft)

    def records_of(self, transaction_id) -> list:
        """What the ledger has under an id."""
        with self.world.ledger.app_context():
            return ledger_queries.list_transactions(ledger_database.read(), transaction_id.dashed)

    def listed_at(self, handed: Handed) -> str | None:
        rows = self.records_of(id_of(handed.content))
        return times.to_iso(rows[0]["consensus_at"]) if rows else None


# Many stories


def fails(world: World, seed: str, steps: list[Step]) -> str | None:
    """Play a story; returns what was wrong at its end, or None."""
    try:
        Story(world, seed, steps).play()
    except Mismatch as mismatch:
        return str(mismatch)
    return None


def shorten(world: World, seed: str, steps: list[Step], reason: str) -> tuple[list[Step], str]:
    """Leave out the steps that a story does not need to fail. Returns the rest, and the last mismatch."""
    position = 0
    while position < len(steps):
        shorter = steps[:position] + steps[position + 1 :]
        if found := fails(world, seed, shorter):
            steps, reason = shorter, found
        else:
            position += 1
    return steps, reason


def play(world: World, first: int, seconds: float, most: int) -> tuple[int, str | None]:
    """Play the stories of one seed after the other until the time is up, or one fails.

    Returns how many were played, and what to print of the one that failed.
    """
    end = time.monotonic() + seconds
    for number in range(most):
        if time.monotonic() > end:
            return number, None
        if number and number % 1000 == 0:
            print(f"{number:,} stories", flush=True)
        seed = str(first + number)
        steps = draw(seed)
        if reason := fails(world, seed, steps):
            steps, reason = shorten(world, seed, steps, reason)
            lines = [f"  {step.name} {step.number}" for step in steps]
            return number, "\n".join(
                [f"Seed {seed}, force {Weather(seed).force}: {reason}", *lines]
            )
    return most, None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--verbose", action="store_true", help="print the service's log, too")
    parser.add_argument("--stories", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument(
        "--postgresql", dest="engine", action="store_const", const="postgresql", default="sqlite"
    )
    options = parser.parse_args()
    make_mortal()
    fast = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with running_on(options.engine), tempfile.TemporaryDirectory(dir=fast) as folder:
        print(f"Stories from seed {options.seed} on", flush=True)
        started = time.monotonic()
        world = World(Path(folder))
        world.app.logger.disabled = not options.verbose
        played, failure = play(world, options.seed, options.seconds, options.stories)
        took = time.monotonic() - started
        print(f"{played:,} stories in {took:,.0f} s: {'one fails' if failure else 'no mismatch'}")
        if failure:
            print(failure)
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
