"""The CPU time of every GET with its worst parameters, on both engines: python -m benchmarks.gets.

Each is asked three times in this process: first, again with an unknown parameter, and after a commit of
something else. The time is that of this process and of PostgreSQL's.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

from sqlite_utils.utils import sqlite3

from benchmarks import activity, data, postgresql, queries, records, service
from harness.postgresql import new_database, new_server
from marketplace.services import read, services, write
from marketplace.store import properties

NFTS = 1_000_000
# Collections of 50,000 NFTs with four traits each; 15,000 of each are listed. All belong to one account.
LARGE = [f"0.0.{900_000 + number}" for number in range(10)]
LARGE_NFTS, LARGE_LISTED = 50_000, 15_000
OWNER = "0.0.1999999"
# A collection of 10,000 listed NFTs with twenty traits each
TRAITS = "0.0.910000"
TRAIT_NFTS, TYPES = 10_000, 20
ADD_NFTS = """
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :nfts)
    INSERT INTO nft (token, serial_no, name, file_type, attributes, image, original_image_url, owner,
        is_for_sale, is_listed, listing_price, last_listed_at, ledger_at, metadata)
    SELECT :token, n, 'Tides #' || n, 'image/png',
        '[' || (
            SELECT group_concat(json_object('trait_type', 'Type ' || k, 'value', 'Value ' || (n * k % 7 % 6)))
            FROM (SELECT value AS k FROM json_each(:kinds))
        ) || ']',
        printf('%064d.webp', n), 'https://ipfs.io/ipfs/bafybeig/' || n || '.png', :owner,
        n <= :listed, n <= :listed, CASE WHEN n <= :listed THEN n * 7919 % 49999 + 1 ELSE 0 END,
        CASE WHEN n <= :listed
            THEN strftime('%Y-%m-%dT%H:%M:%S.000000000Z', 1700000000 + n * 7919, 'unixepoch')
        END, '2024-01-01T00:00:00.000000000Z', 'ipfs://bafybeig/' || n || '.json'
    FROM numbers
"""
ADD_TRAITS = """
    INSERT INTO nft_trait
    SELECT token, json_extract(value, '$.trait_type'), json_extract(value, '$.value'), serial_no
    FROM nft, json_each(attributes) WHERE token = :token
"""
ADD_COLLECTION = """
    INSERT INTO collection (token, name, symbol, retry_at, sort_name, listed)
    SELECT token, 'Tides', 'TDS', '9999', 'tides', SUM(is_for_sale) FROM nft WHERE token = :token
    GROUP BY token
"""


def paths(epoch: str) -> dict[str, list[str]]:
    """The paths of each kind of GET, by a name. They are asked in turn."""
    first, token, large = activity.TOKEN, TRAITS, LARGE[0]
    many = [f"trait=Type+{kind}:Value+{value}" for kind in range(1, 5) for value in range(5)]
    common = [f"trait=Type+{kind}:Value+1" for kind in range(1, TYPES + 1)]
    book = f"/v1/orderbook?tokenId={token}"
    feed = f"/v1/events?limit=1000&after={epoch}"
    found = {
        "order book": ["/v1/orderbook"],
        "order book, offset 290,000": ["/v1/orderbook?offset=290000"],
        "order book, offset 290,000, by price": ["/v1/orderbook?offset=290000&sort=price"],
        "order book, offset 290,000, by price, falling": [
            "/v1/orderbook?offset=290000&sort=-price"
        ],
        "order book, prices of few": ["/v1/orderbook?minPrice=49998&maxPrice=49998"],
        "order book, prices of all, offset 290,000": [
            "/v1/orderbook?minPrice=2&maxPrice=49998&offset=290000"
        ],
        "order book of a collection, offset 9,900": [f"/v1/orderbook?tokenId={first}&offset=9900"],
    }
    for sort in ("lastListedDate", "price", "-price"):
        found |= {
            f"order book, a common trait, {sort}": [f"{book}&sort={sort}&{many[0]}"],
            f"order book, 20 values of 4 types, {sort}": [f"{book}&sort={sort}&{'&'.join(many)}"],
            f"order book, the same, offset 9,900, {sort}": [
                f"{book}&sort={sort}&{'&'.join(many)}&offset=9900"
            ],
            f"order book, 20 types, {sort}": [f"{book}&sort={sort}&{'&'.join(common)}"],
        }
    found |= {
        "NFT": [records.nft_path(7)],
        "100 NFTs by id": [f"/v1/nfts?{queries.IDS}"],
        "an account's listings, 1,000 at offset 149,000": [
            f"/v1/user/{OWNER}/listed?limit=1000&offset=149000"
        ],
        "an account's NFTs, 1,000": [f"/v1/user/{OWNER}/nfts?limit=1000"],
        "a collection": [f"/v1/collection/{first}"],
        "the 15,000 listed of a collection": [f"/v1/nftslisted/{large}"],
        "the traits of ten large collections in turn": [
            f"/v1/collection/{each}/traits" for each in LARGE
        ],
        "an NFT's rank in ten large collections in turn": [
            f"/v1/nft/{each}/7/traits" for each in LARGE
        ],
        "an NFT's rank among twenty traits": [f"/v1/nft/{token}/7/traits"],
    }
    for sort in ("volume24h", "-volume", "listed", "name", "newest"):
        for q in ("", "t", "ti+mo", "0.0", "tides"):
            found[f"collections by {sort}, {q!r}"] = [
                f"/v1/collections?limit=100&sort={sort}&q={q}"
            ]
    for q in ("t", "t+m+7", "0.0.1", "nowhere", "tides+7", "a+b+c+d+e+k+m"):
        found[f"search, {q!r}"] = [f"/v1/search?q={q}"]
    account = records.owner(0)
    found |= {
        "1,000 events": [f"{feed}-0"],
        "the last 1,000 events": ["/v1/events?limit=1000"],
        "events of four kinds": [f"{feed}-0&kind=SOLD&kind=LISTED&kind=WITHDRAWN&kind=BURNED"],
        "events of no kind that there is": [f"{feed}-0&kind=BURNED"],
        "events of a kind and a token": [f"{feed}-0&kind=BURNED&tokenId={first}"],
        "events of a kind and an account": [f"{feed}-0&kind=BURNED&accountId={account}"],
        "events of an account": [f"{feed}-0&accountId={account}"],
        "events of an NFT": [f"/v1/nft/{first}/7/events?limit=1000"],
        "the network": ["/v1/network"],
    }
    return found


class Engine(NamedTuple):
    """A service in this process, without a cached answer, and the seconds of CPU that it has used."""

    get: Callable[[str], None]
    cpu: Callable[[], float]
    commit: Callable[[], None]
    epoch: str


@contextmanager
def started(path: Path, url: str | None) -> Iterator[Engine]:
    app = service.create(path, url)
    reader, _ = service.create_access_tokens(path, url)
    headers, client = {"Authorization": f"Bearer {reader}"}, app.test_client()

    def get(path: str) -> None:
        answer = client.get(path, headers=headers)
        assert answer.data and answer.status_code in (200, 503), (path, answer.status_code)

    with app.app_context():
        pid = (
            None
            if url is None
            else read().execute("SELECT pg_backend_pid() AS pid").fetchone()["pid"]
        )

        def cpu() -> float:
            of_server = (
                0
                if pid is None
                else int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
            )
            return time.process_time() + of_server

        turns = count()

        def commit() -> None:
            with write() as db:
                properties.mark_property(db, "benchmark", str(next(turns)).encode())

        get("/v1/orderbook?limit=1")
        link = client.get("/v1/events", headers=headers).headers["Link"]
        yield Engine(get, cpu, commit, link.partition("after=")[2][:8])
        services().database.close()


def measure(engine: Engine) -> Iterator[tuple[str, list[float]]]:
    """The most milliseconds of each kind of GET: the first time, again, and after a commit."""
    for name, each in paths(engine.epoch).items():
        first = [_spent(engine, path) for path in each]
        again = [_spent(engine, f"{path}{'&' if '?' in path else '?'}x=1") for path in each]
        later = []
        for path in each:
            engine.commit()
            later.append(_spent(engine, path))
        yield name, [max(first), max(again), max(later)]


def _spent(engine: Engine, path: str) -> float:
    before = engine.cpu()
    engine.get(path)
    return (engine.cpu() - before) * 1000


def build(path: Path) -> None:
    """Write the tables: a million NFTs and events, and the large collections."""
    data.copy(NFTS, path)
    activity.fill(path, NFTS)
    with closing(sqlite3.connect(path)) as db:
        sizes = [(token, LARGE_NFTS, LARGE_LISTED, 4) for token in LARGE]
        for token, nfts, listed, kinds in [*sizes, (TRAITS, TRAIT_NFTS, TRAIT_NFTS, TYPES)]:
            print(f"Adding {token} ...", flush=True)
            numbers = str([*range(1, kinds + 1)])
            keys = {
                "token": token,
                "nfts": nfts,
                "listed": listed,
                "kinds": numbers,
                "owner": OWNER,
            }
            for statement in (ADD_NFTS, ADD_TRAITS, ADD_COLLECTION):
                db.execute(statement, keys)
        db.commit()


def main() -> None:
    argparse.ArgumentParser(prog="python -m benchmarks.gets", description=__doc__).parse_args()
    data.FOLDER.mkdir(exist_ok=True)
    figures: dict[str, list[float]] = {}
    with (
        tempfile.TemporaryDirectory(dir=data.FOLDER) as folder,
        new_server(**postgresql.DURABLE, **postgresql.SIZES) as server,
        new_database(server.url("postgres")) as url,
    ):
        path = Path(folder) / "gets.db"
        build(path)
        print("Filling PostgreSQL ...", flush=True)
        postgresql.fill(path, url)
        for address in (None, url):
            with started(path, address) as engine:
                for name, times in measure(engine):
                    figures.setdefault(name, []).extend(times)
    engines, columns = ("SQLite", "PostgreSQL"), ("first", "again", "commit")
    print(f"{'ms of CPU':56}" + "".join(f"{name:>27}" for name in engines))
    print(" " * 56 + "".join(f"{name:>9}" for name in columns * 2))
    for name, times in figures.items():
        print(f"{name:56}" + "".join(f"{each:9.1f}" for each in times))


if __name__ == "__main__":
    main()
