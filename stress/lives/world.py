"""The world of a story: the service, the ledger, replicas of it that lag, and the faults of all of them."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from sqlite_utils.utils import sqlite3
from werkzeug.wrappers import Response

from harness.engines import database_url
from harness.wallets import MINTED_AT
from hiero_sandbox import database as ledger_database
from hiero_sandbox.conditions import conditions
from hiero_sandbox.ledger import accounts, keys
from marketplace import create_app
from marketplace.hedera import times
from marketplace.ledger import mirror
from marketplace.market import freshness
from marketplace.sandbox import wallet
from marketplace.sandbox.application import create_sandbox
from marketplace.sandbox.world import mint
from marketplace.services import services, write
from marketplace.store import access_tokens, following, properties
from marketplace.store.postgresql_connection import PostgreSQLCursor

MARKET = "0.0.9001"
COLLECTOR = "0.0.2001"  # gets 5 % of each sale of 0.0.5001
ACCOUNTS = ("0.0.1001", "0.0.1002", COLLECTOR)
NFTS = (("0.0.7001", 7), ("0.0.7001", 8), ("0.0.5001", 7), ("0.0.7001", 9))
# In a wide story, twenty NFTs of a token can be listed at once, and a basket can have ten of five sellers.
WIDE_ACCOUNTS = (*ACCOUNTS, "0.0.1004", "0.0.1007", "0.0.1008")
WIDE_NFTS = (
    *NFTS,
    *[("0.0.7001", serial_no) for serial_no in range(10, 27)],
    *[("0.0.5001", serial_no) for serial_no in range(8, 11)],
)
TOKENS = tuple(sorted({token for token, _ in NFTS}))
LEDGER_TABLES = (
    "account", "association", "nft", "approval_for_all", "deleted_token", "token",
    "transaction_record", "nft_transaction", "gift", "schedule", "schedule_signature",
)  # fmt: skip
LAGS = ((0,), (0,), (0, 2), (0, 2, 10), (0, 60), (0, 0, 0, 60), (0, 20, 60), (0, 1, 5, 40))
STORED_TABLES = (
    "prepared_nft",
    "prepared_transaction",
    "offer",
    "nft",
    "collection",
    "recheck",
    "event",
    "follow",
)


class Killed(BaseException):
    """Stands for the death of the process. The service cannot catch it: it is no Exception."""


class Clock:
    """The clock of everybody in this process, which a story sets forward instead of waiting."""

    def __init__(self) -> None:
        self.ahead = 0  # nanoseconds
        self._time_ns, self._monotonic = time.time_ns, time.monotonic

    def set_forward(self, nanoseconds: int) -> None:
        self.ahead += nanoseconds

    def install(self, set_attribute: Callable) -> None:
        set_attribute(time, "time_ns", lambda: self._time_ns() + self.ahead)
        set_attribute(time, "monotonic", lambda: self._monotonic() + self.ahead / times.SECOND)


CLOCK = Clock()


class Weather:
    """Decides what fails when. The same story has the same faults, whichever thread comes first."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._asked = Counter()
        self._lock = threading.Lock()
        dice = random.Random(f"weather {seed}")
        self.force = dice.choice((0, 0, 0.3, 1))
        # The lags of the replicas, in seconds: each request is answered by any of them.
        self.lags = dice.choice(LAGS)
        self.lies = self.force if dice.random() < 0.2 else 0
        self.skew = dice.choice((0,) * 7 + (60, 60, -20)) * times.SECOND
        self.outage: str | None = None  # paths with this in them are not answered
        self.step = 0

    @property
    def is_fair(self) -> bool:
        """Whether nothing fails, and nothing lags."""
        return not (self.force or any(self.lags) or self.skew)

    def clear(self) -> None:
        """Let nothing fail or lag any more."""
        self.force = self.lies = 0
        self.lags = (0,)
        self.outage = None

    def draws(self, what: str) -> random.Random:
        with self._lock:
            self._asked[self.step, what] += 1
            return random.Random(f"{self._seed}/{self.step}/{what}/{self._asked[self.step, what]}")

    def happens(self, dice: random.Random, chance: float) -> bool:
        return dice.random() < chance * self.force

    def draw_lag(self, dice: random.Random) -> int:
        """How old the answer to a request is, in nanoseconds."""
        return int(dice.choice(self.lags) * dice.uniform(0.95, 1) * times.SECOND)


def clear_sky() -> Weather:
    weather = Weather("none")
    weather.clear()
    weather.skew = 0
    return weather


class World:
    """The service, the ledger, and what a mirror node with many replicas shows of it."""

    weather: Weather
    events = 0  # that were compared with the model

    def __init__(self, folder: Path) -> None:
        World.weather = clear_sky()
        self.app = self._create_app(folder, "market.db")
        self.rebuilt = self._create_app(folder, "rebuilt.db")
        self.ledger = services(self.app).sandbox.app
        self.replica = create_sandbox(f"{folder}/replica.db")
        self._answer_freshly = self.ledger.wsgi_app
        self._replica_lock = threading.Lock()
        sandbox = services(self.app).sandbox
        self._submit, sandbox.submit = sandbox.submit, self.submit
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

    def begin(
        self,
        owners: dict[tuple[str, int], str],
        account_ids: Sequence[str],
        skew: int,
        is_followed: bool,
        is_judged: bool,
    ) -> None:
        """Start again. If the ledger ``is_followed``, a watcher has followed it to this moment.

        Unless it ``is_judged``, the next sweep has to judge by the present rule what is not for sale.
        """
        World.weather = clear_sky()
        World.weather.skew = skew
        for app in (self.app, self.rebuilt):
            with app.app_context(), write() as db:
                for table in STORED_TABLES:
                    db.execute(f"DELETE FROM {table}")
                names = "'listing_rule', 'sweep_rule', 'last_sweep'"
                db.execute(f"DELETE FROM property WHERE name IN ({names})")
                if is_followed:
                    moment = times.to_iso(self.ledger_now())
                    following.mark_followed_from(db, moment, moment)
                    properties.mark_property(db, properties.LAST_SWEEP, moment.encode())
                if is_judged:
                    properties.mark_property(db, properties.RULE, freshness.write_rule())
        for ledger in (self.ledger, self.replica):
            with ledger.app_context():
                conditions().clock_moved = -skew
        with self.ledger.app_context(), ledger_database.write() as db:
            for table in LEDGER_TABLES:
                db.execute(f"DELETE FROM {table}")
            # A real account has a key from its first moment. Here it would get one by its first signature,
            # which a lagging replica does not show.
            for account_id in account_ids:
                key = keys.of_bytes(wallet.public_key(account_id)).SerializeToString().hex()
                accounts.change(db, account_id, MINTED_AT, key=key)
        with self.ledger.app_context():
            for (token, serial_no), owner in owners.items():
                mint(token, serial_no, owner, MINTED_AT)
        self.past = []  # copies of the ledger's tables, each with its time
        self.has_lied = False
        self.loaded = None
        self.note()

    def submit(self, content: bytes) -> bytes:
        """What the service submits. It may be killed before, or after it."""
        dice = self.weather.draws("submit")
        if self.weather.happens(dice, 0.1):
            raise Killed("before a submission")
        answer = self._submit(content)
        self.note()
        if self.weather.happens(dice, 0.1):
            raise Killed("after a submission")
        return answer

    def ledger_now(self) -> int:
        """The ledger's clock. The service's is ahead of it by the weather's skew."""
        return times.now() - self.weather.skew

    def note(self) -> None:
        """Copy the ledger as it is now. A replica may show the copy later."""
        with self.ledger.app_context():
            tables = {
                table: [
                    tuple(row) for row in ledger_database.read().execute(f"SELECT * FROM {table}")
                ]
                for table in LEDGER_TABLES
            }
        self.past.append((self.ledger_now(), tables))

    def _answer(self, environ, start_response):
        path = environ["PATH_INFO"]
        if path.startswith("/ipfs/"):
            start_response("404 Not Found", [])
            return [b""]
        dice = self.weather.draws(path)
        if self.weather.happens(dice, 0.02):
            raise Killed(path)
        is_out = self.weather.outage is not None and self.weather.outage in path
        if is_out or self.weather.happens(dice, 0.06):
            start_response("503 Service Unavailable", [])
            return [b""]
        if self.weather.happens(dice, 0.02):
            start_response("200 OK", [])
            return [b'{"nfts": [{"token_id": null}], "links": {"next": null}}']
        if dice.random() < 0.03 * self.weather.lies:
            return self._answer_wrongly(environ, start_response)
        return self._answer_of(
            self.ledger_now() - self.weather.draw_lag(dice), environ, start_response
        )

    def _answer_plainly(self, environ, start_response):
        if environ["PATH_INFO"].startswith("/ipfs/"):
            start_response("404 Not Found", [])
            return [b""]
        return self._answer_of(self.ledger_now(), environ, start_response)

    def _answer_wrongly(self, environ, start_response):
        """Answer freshly, but without any spender, as a replica in the middle of an update."""
        self.has_lied = True
        response = Response.from_app(self._answer_freshly, environ)
        document = json.loads(response.get_data())
        for nft in [document, *document.get("nfts", [])]:
            nft["spender"] = None
        response.set_data(json.dumps(document))
        return response(environ, start_response)

    def _answer_of(self, moment: int, environ, start_response):
        """Answer as a replica that shows the ledger as it was at a moment."""
        if environ["PATH_INFO"].endswith("/blocks"):
            block = {"from": times.to_consensus(moment), "to": times.to_consensus(moment)}
            start_response("200 OK", [])
            return [json.dumps({"blocks": [{"timestamp": block}]}).encode()]
        shown = [tables for noted_at, tables in self.past if noted_at <= moment]
        tables = shown[-1] if shown else self.past[0][1]
        if tables is self.past[-1][1]:
            return self._answer_freshly(environ, start_response)
        with self._replica_lock:
            if self.loaded is not tables:
                self._load(tables)
            return list(self.replica(environ, start_response))

    def _load(self, tables: dict[str, list[tuple]]) -> None:
        with self.replica.app_context(), ledger_database.write() as db:
            for table, rows in tables.items():
                db.execute(f"DELETE FROM {table}")
                if rows:
                    marks = ", ".join("?" * len(rows[0]))
                    db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        self.loaded = tables


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
    """Let every connection that is opened from now on be one that may die, and stories set the clock.

    The client of the mirror node retries without a pause.
    """
    execute_on_postgresql, connect = PostgreSQLCursor.execute, sqlite3.connect

    def execute_or_die(cursor, sql, *parameters, **options):
        execute = partial(execute_on_postgresql, cursor, sql, *parameters, **options)
        return die_at(execute) if sql.endswith("COMMIT") else execute()

    set_attribute(PostgreSQLCursor, "execute", execute_or_die)
    mortal = lambda *args, **kwargs: connect(*args, **{"factory": Mortal} | kwargs)  # noqa: E731
    set_attribute(sqlite3, "connect", mortal)
    set_attribute(mirror, "FIRST_PAUSE_SECONDS", 0.0)
    CLOCK.install(set_attribute)
