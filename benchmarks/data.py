"""The tables that are measured: built once, kept until their code changes, copied for each run."""

import hashlib
import itertools
import shutil
from contextlib import closing
from pathlib import Path

import sqlite_utils
from sqlite_utils.utils import sqlite3

from benchmarks import records
from marketplace.store.database import SCHEMA
from marketplace.store.sqlite import SQLiteDatabase

FOLDER = Path(__file__).parent / ".data"
# An NFT is stored with its collection: as read from the ledger, without custom fees
ADD_COLLECTIONS = """
    INSERT INTO collection
        (token, name, sort_name, listed, royalties, fixed_fees, can_change_fees, read_at, retry_at)
    SELECT token, 'Tides', 'tides', SUM(is_for_sale), '[]', '[]', 0, '2024-01-01T00:00:00.000000000Z', '9999'
    FROM nft GROUP BY token
"""


def copy(nfts: int, path: Path) -> Path:
    """Copy a table of N NFTs for a run. Build it first if no kept one is up to date."""
    FOLDER.mkdir(exist_ok=True)
    sources = [Path(records.__file__).read_text(), Path(__file__).read_text(), SCHEMA.sql]
    digest = hashlib.sha256("".join(sources).encode()).hexdigest()[:12]
    kept = FOLDER / f"{nfts}-{digest}.db"
    if not kept.exists():
        for old in FOLDER.glob(f"{nfts}-*"):
            old.unlink()
        print(f"Building a table of {nfts:,} NFTs ...", flush=True)
        building = kept.with_suffix(".building")
        build(building, nfts)
        building.rename(kept)
    shutil.copyfile(kept, path)
    return path


def build(path: Path, nfts: int) -> None:
    """Write a new database of the service with N NFTs."""
    SQLiteDatabase(str(path), SCHEMA).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")  # after a crash it is built again
        db.execute("PRAGMA cache_size = -500000")
        columns = records.COLUMNS.split(", ")
        market = sqlite_utils.Database(db)
        with market.atomic():
            market["nft"].insert_all(itertools.chain([columns], map(list, records.make(nfts))))
            db.execute(ADD_COLLECTIONS)
        db.execute("PRAGMA journal_mode = DELETE")  # one file, without a -wal beside it
    Path(f"{path}.lock").unlink(missing_ok=True)
