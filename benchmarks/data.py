"""The tables that are measured: built once, kept while they would come out the same, copied for each run."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlite_utils.utils import sqlite3

from benchmarks import records
from benchmarks.plan import listed_of
from marketplace.store.database import SCHEMA
from marketplace.store.sqlite import Database

FOLDER = Path(__file__).parent / ".data"


def prepare(nfts: int) -> Path:
    """The kept table of so many NFTs; it is built first where it is missing, or out of date."""
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
    return kept


def build(path: Path, nfts: int) -> None:
    """Write a new table of the service, with so many NFTs in it."""
    Database(str(path), SCHEMA).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")  # a crash here costs a new start, and nothing else
        db.execute("PRAGMA cache_size = -500000")
        db.execute("BEGIN")
        marks = ", ".join("?" * len(records.COLUMNS.split(",")))
        statement = f"INSERT INTO nft ({records.COLUMNS}) VALUES ({marks})"
        db.executemany(statement, records.make(nfts, listed_of(nfts)))
        db.execute("COMMIT")
        db.execute("PRAGMA journal_mode = DELETE")  # one file, without a -wal beside it
    Path(f"{path}.lock").unlink(missing_ok=True)


@contextmanager
def folder() -> Iterator[Path]:
    """A run's own folder, gone after it; those of runs that were killed go, too."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("run-*-*"):
        if not Path("/proc", old.name.split("-")[1]).exists():
            shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=FOLDER, prefix=f"run-{os.getpid()}-") as name:
        yield Path(name)


def copy(nfts: int, path: Path) -> Path:
    """A table of a run's own, to be written to."""
    shutil.copyfile(prepare(nfts), path)
    return path
