"""How long an added NFT takes to be complete, beside hostile collections: ``python -m stress.strangers``.

Twenty collections whose hosts are silent, drip, reset or serve bombs have NFTs to complete throughout, while
honest ones are added one after the other. Everything but the hosts is as it is run.
"""

import argparse
import itertools
import logging
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from marketplace import create_app
from marketplace.market import add_nft
from marketplace.sandbox import catalogue
from marketplace.sandbox.application import create_sandbox
from marketplace.store import nfts
from marketplace.store.database import read
from marketplace.watcher.enrichment import make_enricher
from stress.bombs import CORPUS
from tests import network

ACCOUNT = "0.0.1001"
HOSTILE = [f"0.0.{number}" for number in range(66_600, 66_620)]
BOMB = CORPUS["jpeg_endless"]()
FAULTS = itertools.cycle(
    [network.silence, network.drip_body, network.drip_headers, network.reset_in_the_middle, None]
)
FAULT_OF = dict(zip(HOSTILE, FAULTS, strict=False))
DEADLINE_SECONDS = 60


def answer(connection, path: str, images: dict) -> None:
    """A gateway's answer: of a hostile collection its fault, or a bomb."""
    _, _, cid, name = path.split("/")
    token, serial_no = catalogue.token_of(cid), int(name.partition(".")[0])
    if fault := FAULT_OF.get(token):
        fault(connection)
    if name.endswith(".json"):
        connection.sendall(network.response(catalogue.metadata(token, serial_no).encode()))
    else:
        connection.sendall(network.response(BOMB if token in FAULT_OF else images["honest"]))


def measure(app, count: int) -> list[float]:
    """Seconds from each answered add until the NFT has its image."""
    seconds = []
    with app.app_context():
        for serial_no in range(1, count + 1):
            token = f"0.0.{7000 + serial_no % 5}"
            began = time.monotonic()
            add_nft.add(ACCOUNT, token, serial_no)
            while not nfts.get_nft(read(), token, serial_no)["image"]:
                if time.monotonic() - began > DEADLINE_SECONDS:
                    break
                time.sleep(0.01)
            seconds.append(time.monotonic() - began)
    return sorted(seconds)


def add_hostile(app, stop: threading.Event) -> None:
    """Let each hostile collection have something to complete all the time."""
    with app.app_context():
        for serial_no in itertools.count(1):
            for token in HOSTILE:
                add_nft.add(ACCOUNT, token, serial_no)
            if stop.wait(2):
                return


def run(enricher, stop: threading.Event) -> None:
    while not stop.is_set():
        enricher.run()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="honest NFTs (default 100)")
    parser.add_argument("--alone", action="store_true", help="without hostile collections")
    arguments = parser.parse_args()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    images = {"honest": catalogue.image("0.0.7001", 1)}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        sandbox, stop = create_sandbox(f"{folder}/s.db", 65536), threading.Event()
        with (
            network.serve(sandbox) as mirror_url,
            network.serve_raw(
                lambda connection, path: answer(connection, path, images), by_path=True
            ) as gateway_url,
        ):
            app = create_app(
                NETWORK="testnet",
                ACCOUNT_ID="0.0.9001",
                MIRROR_NODE_URL=mirror_url,
                MIRROR_NODE_RATE=1000,
                IPFS_GATEWAYS=f"{gateway_url}/ipfs",
                DATABASE_URL=f"sqlite:///{folder}/m.db",
                MEDIA_URL=f"file:{folder}/media",
            )
            enricher = make_enricher(app)
            pool.submit(run, enricher, stop)
            if not arguments.alone:
                pool.submit(add_hostile, app, stop)
                time.sleep(5)
            try:
                seconds = measure(app, arguments.count)
            finally:
                stop.set()
                enricher.close()
            report(app, seconds)


def report(app, seconds: list[float]) -> None:
    with app.app_context():
        sql = "SELECT token, missing, attempts FROM nft WHERE missing IS NOT NULL"
        rows = read().execute(sql).fetchall()
    tried = Counter(row["missing"] for row in rows if row["token"] in FAULT_OF)
    print(f"{len(seconds)} added NFTs were complete, in seconds after the add began:")
    for percent in (50, 90, 99):
        print(f"  p{percent} {seconds[min(len(seconds) * percent // 100, len(seconds) - 1)]:6.2f}")
    print(f"{sum(tried.values())} hostile ones meanwhile:")
    for reason, count in tried.most_common():
        print(f"  {count:4} {reason}")


if __name__ == "__main__":
    main()
