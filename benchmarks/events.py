"""Among many events: the feed at its beginning and at its end, a collection, and what finding.py has."""

from contextlib import ExitStack, closing

from sqlite_utils.utils import sqlite3

from benchmarks import finding, records
from benchmarks.client import Client
from benchmarks.latency import in_turn, page_at, seconds_of
from benchmarks.throughput import Bench
from benchmarks.writer import Writer

LIMIT = 100  # events of a page
# 2,500 a day, until now.
FILL = """
    WITH RECURSIVE
    numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count),
    made (n, kind, token, serial_no, from_account, to_account, price, transaction_id, date) AS (
        SELECT
            n,
            CASE n % 4 WHEN 0 THEN 'SOLD' WHEN 1 THEN 'LISTED' WHEN 2 THEN 'WITHDRAWN' ELSE 'TRANSFERRED' END,
            '0.0.' || (:token + n / 4 % 100), 1 + n % 9973, '0.0.' || (:owner + n % 7919),
            '0.0.' || (:owner + n % 7907), n % 900 + 1, '0.0.9001@1763640000.' || (100000000 + n),
            strftime('%Y-%m-%dT%H:%M:%S.000000000Z', 'now', ((n - :count) * 86400 / 2500) || ' seconds')
        FROM numbers
    )
    INSERT INTO event
    SELECT
        n, kind, token, serial_no, from_account, to_account, price, NULL, transaction_id, date, date,
        substr(json_object(
            'kind', kind, 'token', token, 'serialNo', serial_no,
            'from', json_object('accountId', from_account), 'to', json_object('accountId', to_account),
            'price', price, 'previousPrice', NULL, 'transactionId', transaction_id,
            'consensusTimestamp', unixepoch(date) || '.000000000', 'date', substr(date, 1, 23) || 'Z'
        ), 2)
    FROM made
"""


def measure(bench: Bench) -> dict[str, float]:
    """Median seconds of each, while nothing that was answered before still holds."""
    count = bench.plan.nfts
    print(f"Writing {count:,} events ...", flush=True)
    with closing(sqlite3.connect(bench.database, isolation_level=None, timeout=60)) as db:
        keys = {"count": count, "token": records.FIRST_TOKEN, "owner": records.FIRST_OWNER}
        db.execute("BEGIN")
        db.execute(FILL, keys)
        finding.fill(db)
        db.execute("COMMIT")
    with ExitStack() as stack:
        writer = stack.enter_context(closing(Writer(bench.database, count)))
        client = stack.enter_context(Client(bench.servers["service"].port, bench.reader))
        link = client.get("/v1/events").link or ""
        epoch = link.partition("after=")[2][:8]
        paths = {
            "beginning": f"/v1/events?limit={LIMIT}&after={epoch}-0",
            "end": f"/v1/events?limit={LIMIT}&after={epoch}-{count - LIMIT}",
            "collection": f"/v1/collection/0.0.{records.FIRST_TOKEN}",
            **finding.PATHS,
        }
        asks = {
            name: (lambda turn, path=path: seconds_of(client, path), writer.relist)
            for name, path in paths.items()
        }
        asks["orderbook"] = page_at(client, 0), writer.relist
        return in_turn(asks, bench.plan)
