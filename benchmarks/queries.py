"""Queries among many events and collections: the rows that are stored for them, and their requests."""

import random

from flask import Flask

from benchmarks import records
from benchmarks.bench import Bench
from benchmarks.latency import Seconds, in_turn, page_at
from marketplace.hedera import times
from marketplace.ledger.mirror_schemas import Token
from marketplace.market import nft_collections
from marketplace.store import traits
from marketplace.store.database import write

LIMIT = 100  # events of a page
COLLECTIONS = 10_000  # most of them without an NFT
TOKEN = f"0.0.{records.FIRST_TOKEN}"  # of 10,000 NFTs, all for sale
SYLLABLES = ("ti", "mo", "ra", "pu", "lan", "ke", "cro", "so", "ben", "dri")
# 2,500 a day, until now. Seven of ten are sales.
EVENTS = """
    WITH RECURSIVE
    numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count),
    made (n, kind, token, serial_no, from_account, to_account, price, transaction_id, date) AS (
        SELECT
            n,
            CASE n % 10
                WHEN 0 THEN 'LISTED' WHEN 1 THEN 'WITHDRAWN' WHEN 2 THEN 'TRANSFERRED' ELSE 'SOLD'
            END,
            '0.0.' || (:token + n / 10 % 100), 1 + n % 9973, '0.0.' || (:owner + n % 7919),
            '0.0.' || (:owner + n % 7907), n % 900 + 1, '0.0.9001@1763640000.' || (100000000 + n),
            strftime('%Y-%m-%dT%H:%M:%S.000000000Z', 'now', ((n - :count) * 86400 / 2500) || ' seconds')
        FROM numbers
    )
    INSERT INTO event
    SELECT
        n, kind, token, serial_no, from_account, to_account, price, NULL, transaction_id, date, date
    FROM made
"""
IDS = "&".join(f"id={TOKEN}:{serial_no}" for serial_no in range(1, 101))
# By the name of the row.
PATHS = {
    "collections, by what was sold in 24 hours": "/v1/collections",
    "search for a common word": "/v1/search?q=t",
    "search for two common words and a number": "/v1/search?q=t+m+7",
    "search for what is nowhere": "/v1/search?q=nowhere",
    "traits of a collection of 10,000": f"/v1/collection/{TOKEN}/traits",
    "traits and rank of an NFT": f"/v1/nft/{TOKEN}/7/traits",
    "order book, by price, with a trait": f"/v1/orderbook?tokenId={TOKEN}&trait=Sky:Dusk&sort=price",
    "100 NFTs by id": f"/v1/nfts?{IDS}",
    "an account's NFTs": f"/v1/user/{records.owner(0)}/nfts",
}


def measure(bench: Bench) -> Seconds:
    """Median seconds of each request, after a commit that makes cached answers stale."""
    count, client = bench.plan.nfts, bench.client("service")
    print(f"Writing {count:,} events ...", flush=True)
    fill(bench.writer.app, count)
    link = client.get("/v1/events").link or ""
    epoch = link.partition("after=")[2][:8]
    feed = f"/v1/events?limit={LIMIT}&after={epoch}"
    paths = {
        "first_events": f"{feed}-0",
        "last_events": f"{feed}-{count - LIMIT}",
        "collection": f"/v1/collection/{TOKEN}",
        **PATHS,
    }

    def get(path: str):
        return lambda turn: client.get(path).seconds

    asks = {("among_events", name): get(path) for name, path in paths.items()}
    asks["among_events", "orderbook"] = page_at(client, 0)
    return in_turn({key: (ask, bench.writer.relist) for key, ask in asks.items()}, bench.plan)


def fill(app: Flask, count: int) -> None:
    """Write the collections, the words of their names, the traits of one of them, and so many events."""
    dice, now = random.Random(25), times.now()
    with app.app_context(), write() as db:
        for number in range(COLLECTIONS):
            words = ["".join(dice.choices(SYLLABLES, k=dice.randrange(1, 4))) for _ in range(3)]
            token = f"0.0.{records.FIRST_TOKEN + number}"
            collection = nft_collections.describe(token, Token(" ".join(words)), now)
            nft_collections.store(db, token, collection)
        for nft in db.execute(f"SELECT * FROM nft WHERE token = '{TOKEN}'").fetchall():
            pairs = traits.read_traits(nft["attributes"])
            traits.insert_traits(db, TOKEN, nft["serial_no"], pairs)
        keys = {"token": records.FIRST_TOKEN, "owner": records.FIRST_OWNER}
        db.execute(EVENTS, keys | {"count": count})
