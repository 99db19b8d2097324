"""Import 10,000 NFTs and sync 10,000 listings of 500 sellers, against a mirror node on this machine.

    .venv/bin/python -m benchmarks.ledger [NFTS] [SELLERS]

The mirror node and gateway is a process of its own that answers from memory over real sockets.
"""

import base64
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from urllib.request import urlopen

ROOT = Path(__file__).parent.parent
MARKET, TOKEN = "0.0.9001", "0.0.4000"
MODIFIED = "1700000000.000000001"  # all NFTs, last
CID = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG"
PAGE = 100


class Mirror(BaseHTTPRequestHandler):
    """The few paths that import and sync ask for, about NFTs owned in turn by the sellers."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # it would keep the body for 40 ms, which no latency here says
    nfts = sellers = 0
    latency = 0.0  # seconds
    asked = {"requests": 0, "bytes": 0}
    counting = Lock()

    def do_GET(self):
        if self.path == "/asked":
            self.send(json.dumps(self.asked).encode())
            return
        time.sleep(self.latency)
        body = json.dumps(self.answer()).encode()
        with self.counting:
            self.asked["requests"] += 1
            self.asked["bytes"] += len(body)
        self.send(body)

    def send(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self):
        path, _, query = self.path.partition("?")
        if path.startswith("/ipfs/"):
            return metadata(int(path.rpartition("/")[2].removesuffix(".json")))
        after = re.search(r"serialnumber=gt:([0-9]+)", query)
        first = int(after[1]) + 1 if after else 1
        if match := re.fullmatch(r"/api/v1/accounts/0\.0\.([0-9]+)/nfts", path):
            seller = int(match[1]) - 100_000
            serials = range(seller + 1, self.nfts + 1, self.sellers)
            return page(path, [n for n in serials if n >= first], self.sellers)
        if path.endswith("/nfts"):
            return page(path, range(first, self.nfts + 1), self.sellers)
        return {"name": "Bench", "type": "NON_FUNGIBLE_UNIQUE", "total_supply": str(self.nfts)}

    def log_message(self, *args):
        pass


def owner(serial_no, sellers):
    return f"0.0.{100_000 + (serial_no - 1) % sellers}"


def page(path, serials, sellers):
    shown = list(serials[:PAGE])
    following = f"{path}?limit={PAGE}&order=asc&serialnumber=gt:{shown[-1]}" if shown else None
    nfts = [
        {
            "account_id": owner(serial_no, sellers),
            "created_timestamp": MODIFIED,
            "delegating_spender": None,
            "deleted": False,
            "metadata": base64.b64encode(f"ipfs://{CID}/{serial_no}.json".encode()).decode(),
            "modified_timestamp": MODIFIED,
            "serial_number": serial_no,
            "spender": MARKET,
            "token_id": TOKEN,
        }
        for serial_no in shown
    ]
    # A full page has a link to the next, also where nothing follows.
    return {"nfts": nfts, "links": {"next": following if len(serials) >= PAGE else None}}


def metadata(serial_no):
    traits = [
        {"trait_type": f"Trait {n}", "value": f"Value {serial_no % (n + 2)}"} for n in range(6)
    ]
    return {
        "name": f"Bench #{serial_no}",
        "image": f"ipfs://{CID}/{serial_no}.png",
        "type": "image/png",
        "attributes": traits,
    }


def serve(nfts, sellers, latency=0.0):
    Mirror.nfts, Mirror.sellers, Mirror.latency = int(nfts), int(sellers), float(latency)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    server.serve_forever()


class Running(NamedTuple):
    """A mirror node in a process of its own."""

    url: str

    def asked(self) -> dict:
        """How many requests it has answered, and with how many bytes."""
        with urlopen(f"{self.url}/asked") as answer:
            return json.load(answer)


@contextmanager
def mirror(nfts: int, sellers: int, latency: float = 0) -> Iterator[Running]:
    words = [
        sys.executable,
        "-m",
        "benchmarks.ledger",
        "serve",
        *map(str, (nfts, sellers, latency)),
    ]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Running(f"http://127.0.0.1:{process.stdout.readline().strip()}")
        finally:
            process.kill()


def run(environ, *words):
    """Run one command of ours, and tell how long it took and the most memory it had."""
    started = time.monotonic()
    flask = [sys.executable, "-m", "flask", "--app", "wsgi", *words]
    output = subprocess.run(
        flask, cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"$ flask --app wsgi {' '.join(words)}\n{output.stdout}{output.stderr}", end="")
    print(f"  {seconds:.1f} s, peak memory of all so far {peak:.0f} MB\n", flush=True)


def list_all(environ, sellers):
    """Mark all that was imported as listed, as if each had been confirmed here."""
    code = (
        "from app import create_app\n"
        "from marketplace.store.database import write\n"
        "with create_app().app_context(), write() as db:\n"
        "    db.execute('UPDATE nft SET is_for_sale = 1, listing_price = 5, last_listed_at = ledger_at')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environ, check=True)


def main(nfts=10_000, sellers=500):
    with mirror(nfts, sellers) as running, tempfile.TemporaryDirectory() as folder:
        url = running.url
        environ = os.environ | {
            "MARKETPLACE_NETWORK": "testnet",
            "MARKETPLACE_ACCOUNT_ID": MARKET,
            "MARKETPLACE_MIRROR_NODE_URL": url,
            "MARKETPLACE_IPFS_GATEWAYS": f"{url}/ipfs",
            "MARKETPLACE_DATABASE_URL": f"sqlite:///{folder}/bench.db",
            "MARKETPLACE_MEDIA_URL": f"file:{folder}/media",
        }
        run(environ, "import", TOKEN)
        run(environ, "import", TOKEN)
        list_all(environ, sellers)
        run(environ, "sync")


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(*sys.argv[2:])
    else:
        main(*map(int, sys.argv[1:]))
