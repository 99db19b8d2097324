"""What is stored beside the NFTs: collections with names, traits of one of them, and events."""

import random
from pathlib import Path

from benchmarks import records, service
from marketplace.hedera import times
from marketplace.ledger.objects import LedgerToken
from marketplace.market import collection_facts
from marketplace.services import services, write
from marketplace.store import traits

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
    INSERT INTO event (
        id, kind, token, serial_no, from_account, to_account, price, transaction_id, consensus_at, seen_at
    )
    SELECT
        n, kind, token, serial_no, from_account, to_account, price, transaction_id, date, date
    FROM made
"""


def fill(database: Path, count: int) -> None:
    """Write the collections, the words of their names, the traits of one of them, and this many events."""
    dice, now, app = random.Random(25), times.now(), service.create(database)
    with app.app_context(), write() as db:
        for number in range(COLLECTIONS):
            words = ["".join(dice.choices(SYLLABLES, k=dice.randrange(1, 4))) for _ in range(3)]
            token = f"0.0.{records.FIRST_TOKEN + number}"
            collection = collection_facts.describe(token, LedgerToken(" ".join(words)), now)
            collection_facts.store(db, token, collection)
        for nft in db.execute(f"SELECT * FROM nft WHERE token = '{TOKEN}'").fetchall():
            pairs = traits.read_traits(nft["attributes"])
            traits.insert_traits(db, TOKEN, nft["serial_no"], pairs)
        keys = {"token": records.FIRST_TOKEN, "owner": records.FIRST_OWNER}
        db.execute(EVENTS, keys | {"count": count})
    services(app).database.close()
