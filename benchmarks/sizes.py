"""How much room a database takes: NFTs, their traits, and events.

python -m benchmarks.sizes
"""

import tempfile
from contextlib import closing
from pathlib import Path

from sqlite_utils.utils import sqlite3

from benchmarks import activity, data, records, service
from marketplace.services import services, write
from marketplace.store import traits

NFTS, EVENTS = 10_000, 100_000


def measure(database: Path) -> int:
    """The size of an SQLite file, with all that its -wal held."""
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return database.stat().st_size


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "market.db")
        data.build(database, NFTS)
        sizes, count = [measure(database)], 0
        app = service.create(database)
        with app.app_context(), write() as db:
            for nft in db.execute("SELECT token, serial_no, attributes FROM nft").fetchall():
                pairs = traits.read_traits(nft["attributes"])
                traits.insert_traits(db, nft["token"], nft["serial_no"], pairs)
                count += len(pairs)
        sizes.append(measure(database))
        with app.app_context(), write() as db:
            keys = {"token": records.FIRST_TOKEN, "owner": records.FIRST_OWNER, "count": EVENTS}
            db.execute(activity.EVENTS, keys)
        sizes.append(measure(database))
        services(app).database.close()
    print(f"an NFT, without traits: {sizes[0] / NFTS:.0f} bytes")
    print(f"a trait of an NFT: {(sizes[1] - sizes[0]) / count:.0f} bytes")
    print(f"an event: {(sizes[2] - sizes[1]) / EVENTS:.0f} bytes")


if __name__ == "__main__":
    main()
