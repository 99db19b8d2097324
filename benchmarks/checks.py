"""What can not be noise, for CI: a query that scans, a 304 that is missing, half of a target missed."""

import re
from contextlib import closing
from pathlib import Path

from sqlite_utils.utils import sqlite3

from benchmarks import records, service
from benchmarks.client import Client
from benchmarks.rows import Row
from benchmarks.throughput import Bench
from marketplace.api.http_caching import MAX_WHOLE_BYTES

SMALL = 1_000  # rows of a table that may be read whole
# A plan that reads a table from end to end, without an index, or sorts what it found.
SCAN = re.compile(r"^SCAN (\S+)$")
SORT = re.compile(r"^USE TEMP B-TREE FOR ORDER BY")


def run(bench: Bench, rows: list[Row]) -> list[str]:
    """All problems, a sentence each."""
    return [*_scans(bench), *_missing_304(bench), *far_from_target(rows)]


def _addresses(bench: Bench) -> list[str]:
    token, serial_no = records.key(0)
    return [
        "/v1/orderbook",
        f"/v1/orderbook?limit=20&offset={bench.plan.deep}",
        f"/v1/nft/{token}/{serial_no}",
        f"/v1/nftslisted/{token}",
        f"/v1/user/{records.owner(0)}/listed?limit=100",
    ]


def _scans(bench: Bench) -> list[str]:
    """Ask the application in this process, note each statement it runs, and explain its plan."""
    problems, statements = [], []
    connect = sqlite3.connect

    def connect_and_note(*args, **kwargs):
        connection = connect(*args, **kwargs)
        connection.set_trace_callback(statements.append)
        return connection

    sqlite3.connect = connect_and_note
    try:
        app = service.create(bench.database)
        for address in _addresses(bench):
            statements.clear()
            answer = app.test_client().get(
                address, headers={"Authorization": f"Bearer {bench.reader}"}
            )
            answer.get_data()
            if answer.status_code != 200:
                problems.append(f"GET {address} is answered with {answer.status_code}")
            problems += explain(bench.database, connect, address, statements)
    finally:
        sqlite3.connect = connect
    return problems


def explain(database: Path, connect, address: str, statements: list[str]) -> list[str]:
    problems = []
    with closing(connect(database)) as db:
        queries = [
            text for text in statements if re.match(r"\s*(SELECT|WITH)\b", text, re.IGNORECASE)
        ]
        if not queries:
            problems.append(f"GET {address}: no query was seen")
        for query in queries:
            steps = [step for *_, step in db.execute(f"EXPLAIN QUERY PLAN {query}")]
            for step in steps:
                if SORT.match(step) or _scans_a_table(db, step, steps):
                    problems.append(f"GET {address}: {step}: {' '.join(query.split())}")
    return problems


def _scans_a_table(db, step: str, steps: list[str]) -> bool:
    scan = SCAN.match(step)
    is_subquery = scan and f"CO-ROUTINE {scan[1]}" in steps  # whose own steps tell what it reads
    return bool(scan) and not is_subquery and not _is_small(db, scan[1])


def _is_small(db, name: str) -> bool:
    try:
        return db.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0] <= SMALL
    except sqlite3.OperationalError:
        return False  # an alias: look at it


def _missing_304(bench: Bench) -> list[str]:
    problems = []
    with Client(bench.servers["service"].port, bench.reader) as client:
        for address in _addresses(bench):
            answer = client.get(address)
            if len(answer.body) > MAX_WHOLE_BYTES:
                continue  # sent as it is read, without an ETag
            etag = answer.headers.get("etag", "none was sent")
            if (status := client.get(address, If_None_Match=etag).status) != 304:
                problems.append(f"GET {address} with its ETag ({etag}) is answered with {status}")
    return problems


def far_from_target(rows: list[Row]) -> list[str]:
    problems = []
    for row in rows:
        if row.target is None or not row.other:  # a figure of its own says much about the machine
            continue
        if row.value < row.target / 2 if row.at_least else row.value > row.target * 2:
            problems.append(f"{row.group}: {row.name}: {row.shown}, far from {row.target:g}")
    return problems
