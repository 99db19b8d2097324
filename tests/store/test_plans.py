"""Every statement of ours is explained by both engines, and none of them reads a whole table unasked."""

import inspect
import itertools
import re
from ast import literal_eval
from collections import Counter
from contextlib import suppress
from functools import partial

import pytest
from sqlite_utils.utils import sqlite3

from harness.apps import settings
from marketplace import create_app
from marketplace.market.history import insert_events
from marketplace.services import read, write
from marketplace.store import (
    access_tokens,
    accounts,
    collection_hours,
    collection_search,
    decisions,
    events,
    following,
    nft_collections,
    nfts,
    offers,
    orderbook,
    prepared_transactions,
    properties,
    rechecks,
    traits,
    webhooks,
)
from marketplace.store.database import SCHEMA
from marketplace.store.nft_collections import VERIFIED
from marketplace.store.orderbook import MOST_EXPENSIVE, NEWEST, Selection
from tests.engines import both_engines

DATE = "2026-11-20T12:00:00.000000000Z"


def row_of(table, **values):
    """A row for a table: these values; for other columns, their default or null."""
    with sqlite3.connect(":memory:") as db:
        db.executescript(SCHEMA.sql)
        columns = db.execute(f"PRAGMA table_info({table})").fetchall()
    defaults = {name: literal_eval(default or "None") for _, name, _, _, default, _ in columns}
    return defaults | values


OF_NFT = {"token": "0.0.7001", "serial_no": 1}
STATE = {
    "is_for_sale": 1, "listing_price": 5, "owner": "0.0.1001", "last_listed_at": DATE,
    "ledger_at": DATE, "ledger_state": "decided", **OF_NFT,
}  # fmt: skip
NFT = row_of("nft", **OF_NFT, name="x", file_type="x", owner="0.0.1001", ledger_at=DATE)
PREPARED = row_of(
    "prepared_transaction", transaction_id="x", account_id="0.0.1001", prepared_at=DATE,
    expires_at=DATE, kind="purchase", caller="x", end_user="x", fee_tinybars=5, is_settled=0,
)  # fmt: skip
PREPARED_NFT = row_of("prepared_nft", **OF_NFT, transaction_id="x", price=5, seller="x")
TOKEN = row_of("access_token", hash="x", name="x", scopes="read", created_at=DATE)
COLLECTION = row_of(
    "collection", token="0.0.7001", name="x", symbol="x", sort_name="x", treasury="0.0.2", read_at=DATE,
    retry_at=DATE, metadata="x", describe_at=DATE,
)  # fmt: skip
EVENT = row_of(
    "event", **OF_NFT, kind="SOLD", from_account="0.0.1001", to_account="0.0.1002", price=5, previous_price=5,
    transaction_id="x", consensus_at=DATE, seen_at=DATE,
)  # fmt: skip
EVENT |= {"offer_id": None, "received": None}  # of a sale
SALE = row_of("sale", event_id=1, way="single", part_tinybars=5, royalties="[]")
WEBHOOK = row_of(
    "webhook", id="x", url="x", kinds="SOLD", is_private=0, secret="x", delivered_to=500
)
HOUR = row_of(
    "collection_hour", token="0.0.7001", hour="2026-11-20T12", sales=1, volume=5, lowest_price=5,
    highest_price=5,
)  # fmt: skip
RANKING = row_of("ranking", token="0.0.7001", version=1, trait_values="[]", ranks="[[], [], []]")
DECISION = row_of(
    "decision", kind="hidden", id="0.0.7001", serial_no=1, reason="x", since=DATE, is_public=0
)
OFFER = row_of(
    "offer", **OF_NFT, schedule_id="0.0.8001", seller="0.0.1001", bidder="0.0.1002", price=5,
    transaction_id="x", created_at=DATE, expires_at=DATE, body=b"x", state="open", state_at=DATE,
)  # fmt: skip
RECHECK = row_of(
    "recheck", kind="nft", id="0.0.7001", serial_no=1, changed_at=DATE, since=DATE, due_at=DATE
)
RECHECK |= {"due_again_at": DATE}
ARGUMENTS = {
    "event": EVENT,
    "lane": 2, "began_at": DATE, "recheck": RECHECK, "due_at": DATE, "kind": "nft",
    "id": "0.0.7001", "moment": DATE,
    "heartbeat_at": DATE, "stored": NFT | STATE | {"listed_order": DATE},
    "cursor_at": DATE, "fresh_at": DATE,
    "metadata": "x", "column": "swept_to", "collection": COLLECTION, "attempts": 1, "retry_at": DATE,
    "soon": DATE, "beyond": DATE, "until": DATE, "nft": NFT, "state": STATE, "prepared": PREPARED,
    "access_token": TOKEN, "token": "0.0.7001", "serial_no": 1, "limit": 20, "owner": "0.0.1001", "now": DATE,
    "transaction_id": "x", "account_id": "0.0.1001", "of_user": 5, "of_token": 50,
    "prepared_nft": PREPARED_NFT, "before": DATE, "token_hash": "x",
    "name": "x", "revoked_at": DATE, "used_at": DATE, "price": 5, "sold_at": DATE, "word": "x", "change": 1,
    "delivered_to": 500, "words": ["x"], "values": ["x"], "chosen": VERIFIED,
    "tokens": ["0.0.7001", "0.0.7002"],
    "ids": [("0.0.7001", 1), ("0.0.7002", 2)],
    "last_attempt": 19,
    "finished_at": DATE, "value": b"x", "trait_value": "x", "since": DATE, "fee_tinybars": 5,
    "webhook": WEBHOOK, "webhook_id": "x", "purchase": PREPARED, "is_sold": 1, "signed": b"x",
    "charged_to": DATE, "after": 500, "sale": SALE, "read_at": DATE, "cents": 5, "hbar": 5,
    "decision": DECISION, "first": 1, "last": 500,
    "part": decisions.DecisionBatch("0.0.7001", 1, 500, None, True),
    "is_listed": True, "is_hidden": True, "is_verified": True,
    "sales": 1, "volume": 5, "skeleton": "x", "key": "x", "ranking": RANKING,
    "offer": OFFER, "schedule_id": "0.0.8001", "replaced": OFFER, "is_covered": True,
    "covered_at": DATE, "executed_at": DATE, "bidder": "0.0.1002", "caller": "x",
    "end_user": "x", "hour": HOUR, "day": HOUR["hour"], "week": HOUR["hour"], "month": HOUR["hour"],
}  # fmt: skip
# What reads all there is of something, as its name says.
WHOLE = {
    "list_access_tokens", "list_ending_tokens", "find_ending", "list_sellers",
    "list_collections",
    "get_follow", "get_first_change", "count_rechecks", "list_rechecks_failed", "list_webhooks",
    "list_changed", "list_decisions", "list_newest_decisions", "list_to_apply", "delete_shown_images",
    "mark_image_lost", "list_unended",
}  # fmt: skip
MODULES = (
    access_tokens, accounts, collection_hours, collection_search, decisions, events, following,
    nft_collections, nfts, offers, orderbook, prepared_transactions, properties, rechecks,
    traits, webhooks,
)  # fmt: skip
STATEMENTS = {
    name: statement
    for module in MODULES
    for name, statement in inspect.getmembers(module, inspect.isfunction)
    if "db" in inspect.signature(statement).parameters and statement.__module__ == module.__name__
}
# Of several statements, or below with arguments of their own.
for name in (
    "list_selected", "_list_conditions", "_select_traits", "_group_by_type", "find_trait",
    "replace_traits", "insert_traits", "get_next_event", "list_page", "read_page", "list_found_collections",
    "is_any_expired",
    "delete_expired", "count_open", "list_nfts_of_owner", "list_listed_values", "list_chosen",
    "list_open", "apply", "find_part", "insert_to_apply", "enqueue", "enqueue_all", "let_failed_be_due",
):  # fmt: skip
    del STATEMENTS[name]
STATEMENTS["list_chosen"] = partial(nft_collections.list_chosen, chosen=VERIFIED)
STATEMENTS["insert_to_apply"] = partial(decisions.insert_to_apply, kind="hidden")
for kind, serial_no in (("hidden", 0), ("hidden", 7), ("blocked", 0)):
    STATEMENTS[f"find_part {kind} {serial_no}"] = partial(
        decisions.find_part, kind=kind, serial_no=serial_no, after=("", 0)
    )
STATEMENTS["get_nfts of many"] = partial(nfts.get_nfts, ids=[("0.0.7001", 1)] * 100)
BOUNDS = ({}, {"min_price": 5}, {"max_price": 300}, {"min_price": 5, "max_price": 300})
LISTINGS = [Selection(sort, owner="0.0.1001") for sort in orderbook.KEYS]
for sort, token, bounds in itertools.product(orderbook.KEYS, (None, "0.0.7001"), BOUNDS):
    LISTINGS.append(Selection(sort, token, **bounds))
for sort in orderbook.KEYS:
    LISTINGS.append(Selection(sort, "0.0.7001", traits=("x:x", "x:other", "y:common")))
    for chosen in (VERIFIED, ("0.0.7001", "0.0.7002")):
        LISTINGS.append(Selection(sort, chosen=chosen))
for selection, start in itertools.product(LISTINGS, ("first", "far", "after")):
    after = (DATE if selection.sort == NEWEST else 100, "0.0.7001", 1) if start == "after" else None
    STATEMENTS[f"list_selected {start} {selection}"] = partial(
        orderbook.list_selected,
        selection=selection,
        offset=1000 if start == "far" else 0,
        after=after,
    )
for selection in LISTINGS:
    if selection.token and selection.sort == NEWEST:
        STATEMENTS[f"list_listed_values {selection}"] = partial(
            orderbook.list_listed_values, selection=selection
        )
SELECTIONS = (
    events.EventFilter(),
    events.EventFilter("0.0.7001"),
    events.EventFilter("0.0.7001", 1),
    events.EventFilter("0.0.7001", 1, kinds=("SOLD", "LISTED")),
    events.EventFilter(kinds=("SOLD",)),
    events.EventFilter(account_id="0.0.1001"),
    events.EventFilter(kinds=("SOLD", "LISTED")),
)
for selection, after, newest_first in itertools.product(SELECTIONS, (None, 10_000), (False, True)):
    STATEMENTS[f"list_page {selection} {after} {newest_first}"] = partial(
        events.list_page, selection=selection, place=events.Place(after, 20, newest_first)
    )
for selection in (events.EventFilter(), events.EventFilter(kinds=("SOLD",))):
    STATEMENTS[f"get_next_event {selection}"] = partial(
        events.get_next_event, selection=selection, after=500
    )
for by, words in itertools.product(
    (*collection_search.KEYS, "volume24h"), ([], ["x", "common"], ["common"])
):
    STATEMENTS[f"list_found_collections {by} {words}"] = partial(
        collection_search.list_found_collections, sort=by, words=words, after=None
    )
for by, chosen in itertools.product(("volume24h", "name"), (VERIFIED, ("0.0.7001", "0.0.7002"))):
    STATEMENTS[f"list_found_collections {by} {chosen}"] = partial(
        collection_search.list_found_collections, sort=by, words=[], after=None, chosen=chosen
    )
for token in (None, "0.0.7001"):
    STATEMENTS[f"list_nfts_of_owner {token}"] = partial(
        nfts.list_nfts_of_owner, token=token, after=("0.0.7001", 1)
    )
STATEMENTS["get_newest_prepared by one"] = partial(
    prepared_transactions.get_newest_prepared, by=("x", "x")
)
STATEMENTS["get_newest_of_schedule by one"] = partial(
    prepared_transactions.get_newest_of_schedule, by=("x", "x")
)
STATEMENTS["get_newest_prepared with offers"] = partial(
    prepared_transactions.get_newest_prepared, by=("x", "x"), with_offers=True
)
STATEMENTS["list_made"] = partial(offers.list_made, after=(5, "0.0.9"))
for chosen in (
    offers.OfferFilter(token="0.0.7001"),
    offers.OfferFilter("0.0.7001", 1),
    offers.OfferFilter(seller="0.0.1001"),
):
    STATEMENTS[f"list_open {chosen}"] = partial(offers.list_open, chosen=chosen, after=(5, "0.0.9"))
STATEMENTS["list_owners"] = partial(nft_collections.list_owners, after=None)
for which in (prepared_transactions.PREPARATIONS, prepared_transactions.UNSETTLED):
    STATEMENTS[f"count_open {which}"] = partial(prepared_transactions.count_open, which=which)
for which in (prepared_transactions.PREPARATIONS, prepared_transactions.PURCHASES):
    for statement in (prepared_transactions.is_any_expired, prepared_transactions.delete_expired):
        STATEMENTS[f"{statement.__name__} {which}"] = partial(statement, which=which)
SCANS = {
    "sqlite": re.compile(
        r"SCAN (?!page|feed|asked|(100? )?CONSTANT|cheapest|first|found|sale|sold|unsold|incomplete|kept)"
        r"\w+\b(?! USING)|TEMP B-TREE|event_\w+ \(kind=\?\)"  # all sales ever
    ),
    # Or a condition that is checked row by row, where an index could bound it
    "postgresql": re.compile(
        r"Seq Scan|Sort Key|Filter: .*((token|owner|account|word) = '|(sold_at|consensus_at) [<>=])"
    ),
}
FIRST_COLUMNS = """
    SELECT relname AS name, pg_get_indexdef(indexrelid, 1, TRUE) AS first
    FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
"""
# What is put together of several pages is sorted: of rows that were read, never on the way to them.
OF_TWO_PAGES = (f"list_selected after Selection(sort='{MOST_EXPENSIVE}'", "list_page")
# What words or traits find is sorted, and so are sums and counts, and what was prepared for one NFT: dozens.
FOUND = re.compile(
    r"delete_prepared_beyond|get_newest_prepared|get_newest_of_schedule|list_prepared|list_open_purchases|"
    r"list_found_nfts|list_found_collections (volume24h|.*x)|list_selected .*:common'\)|list_trait_values"
    r"|list_owners|list_changed|list_account_collections|list_listed_values|insert_events"
)
PAGE_SORTED = re.compile(
    r"USE TEMP B-TREE FOR ORDER BY$|SCAN part"
    r"|Sort Key: (nft(_\d)?\.listing_price DESC|(event|page)(_\d)?\.id)"
)

# Enough for PostgreSQL's planner to choose as among millions: most events are sales, long ago
MANY = (
    """
    INSERT INTO nft (
        token, serial_no, name, file_type, owner, is_for_sale, is_listed, listing_price, last_listed_at,
        ledger_at, retry_at
    )
    SELECT '0.0.' || (8000 + n % 300), n, 'x', 'x',
        CASE n % 3 WHEN 0 THEN '0.0.1001' ELSE '0.0.' || (1000 + n % 2000) END,
        n % 2, n % 2, n % 2 * (1 + n % 400), date, date, CASE n % 7 WHEN 0 THEN date END
    FROM (
        SELECT n,
            to_char(TIMESTAMP '2026-11-22' - n * INTERVAL '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS.000000000Z')
        FROM generate_series(1, 20000) AS n
    ) AS made (n, date)
    ORDER BY n % 300, n
    """,
    """
    INSERT INTO collection (token, name, retry_at, sort_name)
    SELECT '0.0.' || (7000 + n), 'Tides', '9999', 'tides ' || n FROM generate_series(1000, 4000) AS n
    """,
    """
    INSERT INTO collection_skeleton (skeleton, token)
    SELECT 'x' || n % 1500, '0.0.' || (7000 + n) FROM generate_series(1000, 4000) AS n
    """,
    """
    INSERT INTO collection_word (word, token)
    SELECT word || n % 100, '0.0.' || (7000 + n)
    FROM generate_series(1000, 4000) AS n CROSS JOIN (VALUES ('x'), ('common'), ('other')) AS made (word)
    """,
    """
    INSERT INTO prepared_transaction (
        transaction_id, kind, account_id, prepared_at, expires_at, caller, end_user
    )
    SELECT '0.0.1001@' || n, 'listing', '0.0.' || (1000 + n % 700), ledger_at, ledger_at, 'x', 'x'
    FROM (SELECT ledger_at, serial_no AS n FROM nft WHERE token > '0.0.8') AS made
    """,
    """
    INSERT INTO prepared_nft (transaction_id, token, serial_no, price)
    SELECT '0.0.1001@' || serial_no, token, serial_no, 5 FROM nft WHERE token > '0.0.8'
    """,
    """
    INSERT INTO event
        (id, kind, token, serial_no, from_account, to_account, price, consensus_at, seen_at)
    SELECT 1000 + n,
        CASE n % 10 WHEN 0 THEN 'LISTED' WHEN 1 THEN 'WITHDRAWN' WHEN 2 THEN 'TRANSFERRED' ELSE 'SOLD' END,
        '0.0.' || (7000 + n % 1000), 1 + n % 997, '0.0.' || (1000 + n % 719), '0.0.' || (1000 + n % 701), 5,
        date, date
    FROM (
        SELECT n,
            to_char(TIMESTAMP '2026-11-22' - n * INTERVAL '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS.000000000Z')
        FROM generate_series(1, 20000) AS n
    ) AS made (n, date)
    """,
    """
    INSERT INTO offer (
        schedule_id, token, serial_no, seller, bidder, price, transaction_id, created_at, expires_at, body,
        state, state_at
    )
    SELECT '0.0.' || (900000 + n), '0.0.' || (8000 + n % 300), n, '0.0.' || (1000 + n % 719),
        '0.0.' || (1000 + n % 701), 5, 'x' || n, '2026-11-22', '2026-12-22', 'x', 'open', '2026-11-22'
    FROM generate_series(1, 5000) AS n
    """,
)


class RolledBack(Exception):
    """Nothing of the transaction is to stay."""


class Explainer:
    """Has each statement explained instead of executed, and keeps what was said."""

    def __init__(self, db, explain):
        self.db, self.explain, self.plan = db, explain, []

    def execute(self, sql, parameters=None):
        self.n = 10**6 if "common" in (parameters or {}).values() else 0
        rows = self.db.execute(f"{self.explain} {sql}", parameters or {}).fetchall()
        self.plan += [dict(row) for row in rows]
        return self

    def __iter__(self):
        return iter(())

    def fetchone(self):
        return None

    def fetchall(self):
        return [Counter(n=self.n)]

    rowcount = 0


@pytest.fixture(scope="module")
def app(tmp_path_factory, engine):
    """A service with a thousand NFTs, whose tables were analysed."""
    app = create_app(**settings(tmp_path_factory.mktemp("plans")))
    with app.app_context(), write() as db:
        for number in range(1, 1000):
            keys = {"token": f"0.0.{7000 + number % 7}", "serial_no": number}
            keys |= {"owner": f"0.0.{1000 + number % 11}"}
            date = f"2026-11-20T12:{number // 60:02}:{number % 60:02}.000000000Z"
            nft = nfts.insert_nft(db, NFT | keys)
            listing = {"last_listed_at": date, "listing_price": 1 + number % 400}
            nfts.mark_reconciled(db, STATE | keys | listing, nft)
            kinds = {"kind": "SOLD" if number % 50 else "LISTED", "from_account": keys["owner"]}
            event = EVENT | {name: keys[name] for name in ("token", "serial_no")} | kinds
            insert_events(db, [event])
    with app.app_context(), write() as db:
        if engine == "postgresql":
            db.execute("SET LOCAL statement_timeout = 0")
            for statement in MANY:
                db.execute(statement)
            db.execute("ANALYZE")
            # Its planner reads small tables whole, and sorts them, whatever indexes there are.
            db.execute("SET enable_seqscan = off")
            db.execute("SET enable_sort = off")
    return app


@pytest.fixture
def explainer(app, engine):
    explain = "EXPLAIN QUERY PLAN" if engine == "sqlite" else "EXPLAIN"
    with app.app_context():
        yield Explainer(read(), explain)


def run(name, db):
    parameters = inspect.signature(STATEMENTS[name]).parameters.values()
    needed = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
    STATEMENTS[name](db, **{parameter: ARGUMENTS[parameter] for parameter in needed[1:]})


@both_engines
def test_no_statement_scans_a_whole_table(explainer, engine, subtests):
    for name in STATEMENTS:
        with subtests.test(name):
            assert_reads_few_rows(name, explainer, engine)


def assert_reads_few_rows(name, explainer, engine):
    explainer.plan = []
    run(name, explainer)
    lines = [str(row.get("detail") or row.get("QUERY PLAN")) for row in explainer.plan]
    assert lines or name.startswith("insert_") or engine == "sqlite"
    if FOUND.match(name):
        lines = [line for line in lines if "B-TREE" not in line and "Sort Key" not in line]
    if name.startswith(OF_TWO_PAGES):
        lines = [line for line in lines if not PAGE_SORTED.search(line)]
    if lines[:1] == ["MATERIALIZE page"] and lines[-1] == "USE TEMP B-TREE FOR ORDER BY":
        lines.pop()  # SQLite 3.40 sorts the rows of the page again
    if name not in WHOLE:
        assert not [line for line in lines if SCANS[engine].search(line)], "\n".join(lines)
    # To merge sales and words, which it may not sort here, it reads all words in the order of their tokens.
    if engine == "postgresql" and not re.match(r"list_found_collections volume24h .*common", name):
        assert find_index_scans(explainer) == [], "\n".join(lines)


def find_index_scans(explainer):
    """Conditions without the index's first column: for them, PostgreSQL before 18 reads the whole index."""
    rows = explainer.db.execute(FIRST_COLUMNS)
    first = {row["name"]: without_brackets(row["first"]) for row in rows}
    plan = "\n".join(row["QUERY PLAN"] for row in explainer.plan)
    found = re.findall(r"(?:using|Index Scan on) (\w+).*\n *Index Cond: (.*)", plan)
    return [
        (index, condition)
        for index, condition in found
        if first[index] not in without_brackets(condition)
    ]


def without_brackets(sql):
    """An expression as both an index and a plan write it: the one with fewer brackets than the other."""
    return re.sub("[()]", "", sql)


def test_no_statement_is_prepared_again(app, subtests):
    """SQLite prepares one again each time for a bare parameter as a LIMIT, or beside a partial index."""
    prepared = []
    with app.app_context():
        read().set_authorizer(lambda *what: prepared.append(what) or 0)
        for name in STATEMENTS:
            with subtests.test(name):
                for _ in range(3):
                    prepared.clear()
                    with suppress(RolledBack), write() as db:
                        if name == "insert_prepared_nft":
                            run("insert_prepared_transaction", db)
                        run(name, db)
                        raise RolledBack
                assert [what for what in prepared if what[1] not in ("BEGIN", "ROLLBACK")] == []
        read().set_authorizer(None)


def test_one_statement_writes_what_is_for_sale(app):
    """SQLite asks its authorizer before an update of a column, whatever the statement's words are."""
    writers = set()

    def note(name, action, table, column, *_):
        if (action, table, column) == (sqlite3.SQLITE_UPDATE, "nft", "is_for_sale"):
            writers.add(name)
        return sqlite3.SQLITE_OK

    with app.app_context():
        for name in STATEMENTS:
            read().set_authorizer(partial(note, name))
            with suppress(RolledBack), write() as db:
                if name == "insert_prepared_nft":
                    run("insert_prepared_transaction", db)
                run(name, db)
                raise RolledBack
        read().set_authorizer(None)
    assert writers == {"mark_reconciled"}


@both_engines
def test_a_far_offset_is_found_in_an_index_alone(explainer, engine, subtests):
    for selection in LISTINGS:
        if not selection.traits:
            with subtests.test(repr(selection)):
                assert_is_found_in_index(selection, explainer, engine)


def assert_is_found_in_index(selection, explainer, engine):
    explainer.plan = []
    orderbook.list_selected(explainer, selection, 20, 1000)
    lines = [str(row.get("detail") or row.get("QUERY PLAN")) for row in explainer.plan]
    if engine == "postgresql":
        alone = "Index Only Scan using nft_"
    elif selection.sort == NEWEST or sqlite3.sqlite_version_info < (3, 46):
        # Of a date, which is generated, it does not say so, and reads no row that is skipped, either. SQLite
        # 3.40 reads skipped rows, too: it does not know that those in a partial index are for sale.
        alone = " USING INDEX nft_"
    else:
        alone = " USING COVERING INDEX nft_"
    assert any(alone in line for line in lines), "\n".join(lines)


def test_each_index_serves_statements_that_are_there():
    modules = {module.__name__.rpartition(".")[2]: module for module in MODULES}
    comments = re.findall(r"^-- Serves .*?(?=^CREATE)", SCHEMA.sql, re.MULTILINE | re.DOTALL)
    named = re.findall(r"([a-z_]+)\.([a-z_]+)", " ".join(comments))
    assert len(named) > 20
    assert [pair for pair in named if not hasattr(modules[pair[0]], pair[1])] == []
