"""How fast the watcher follows the ledger, and what it asks of the mirror node meanwhile.

    python -m benchmarks.following

Every answer of the mirror node takes 0.1 s, as the public one does. Three parts: catching up after a stop;
requests a second on a quiet ledger; how long after the mirror node shows a listing the order book shows it.
"""

import json
import random
import tempfile
import threading
import time
from statistics import median

from marketplace import create_app, times
from marketplace.market.memos import listing_memo
from marketplace.sandbox import wallet
from marketplace.sandbox.ledger import consensus
from marketplace.services import services
from marketplace.store import following, nfts, properties
from marketplace.store.database import read, write
from marketplace.watcher.follow import Follower
from marketplace.watcher.loop import watch
from stress.lives import allow, new_body, seal

MARKET, SELLER, TOKEN = "0.0.9001", "0.0.1001", "0.0.7001"
ANSWER_SECONDS = 0.1
LISTINGS, SELLERS, QUIET_SECONDS, ROWS, PAGE = 40, (100, 10_000, 100_000), 20, 100_000, 100
GAP = 3600 * times.SECOND // ROWS  # between two rows


class Mirror:
    """The sandbox's mirror node: slower, and counted."""

    def __init__(self, app) -> None:
        self.sandbox = services(app).sandbox.app
        self._answer, self.requests = self.sandbox.wsgi_app, 0
        self.sandbox.wsgi_app = self

    def __call__(self, environ, start_response):
        self.requests += 1
        time.sleep(ANSWER_SECONDS)
        return self._answer(environ, start_response)


def make_app(folder):
    return create_app(DATA_DIR=str(folder))


def list_on_ledger(mirror: Mirror, serial_no: int) -> None:
    body = new_body(SELLER, listing_memo(TOKEN, serial_no, 5, "Foo"))
    allow(body.cryptoApproveAllowance, (TOKEN, serial_no), SELLER, MARKET)
    with mirror.sandbox.app_context():
        consensus.mint(TOKEN, serial_no, SELLER, times.now())
        assert consensus.submit(wallet.sign(SELLER, seal(body)), times.now()).result == "SUCCESS"


def measure_freshness() -> str:
    """Seconds from a listing on the ledger to its place in the order book, at random moments."""
    with tempfile.TemporaryDirectory() as folder:
        app = make_app(folder)
        mirror, stop, seconds = Mirror(app), threading.Event(), []

        def run():
            with app.app_context():
                watch(stop)

        thread = threading.Thread(target=run)
        thread.start()
        time.sleep(5)
        with app.app_context():
            for serial_no in range(1, LISTINGS + 1):
                time.sleep(random.random())
                list_on_ledger(mirror, serial_no)
                shown = time.monotonic()
                while not (nft := nfts.get_nft(read(), TOKEN, serial_no)) or not nft["is_for_sale"]:
                    time.sleep(0.01)
                seconds.append(time.monotonic() - shown)
        stop.set()
        thread.join()
    worst = max(seconds)
    return (
        f"listing to order book: median {median(seconds):.2f} s, worst {worst:.2f} s of {LISTINGS}"
    )


def measure_quiet(sellers: int) -> str:
    """Requests a second of a watcher that has nothing to do, but for so many sellers' listings."""
    with tempfile.TemporaryDirectory() as folder:
        app = make_app(folder)
        now = times.to_iso(times.now())
        sql = """
            INSERT INTO nft (token, serial_no, name, file_type, owner, last_listed_at, ledger_at,
                is_for_sale, listing_price)
            VALUES (:token, :serial_no, 'x', 'x', :owner, :now, :now, 1, 5)
        """
        with app.app_context(), write() as db:
            following.mark_followed_from(db, now, now)
            properties.mark_job_finished(db, "sync", now)
            for number in range(1, sellers + 1):
                keys = {"token": "0.0.7001", "serial_no": number, "owner": f"0.0.{10**6 + number}"}
                db.execute(sql, keys | {"now": now})
        mirror, stop = Mirror(app), threading.Event()
        timer = threading.Timer(QUIET_SECONDS, stop.set)
        timer.start()
        with app.app_context():
            watch(stop)
        return f"{sellers:,} sellers: {mirror.requests / QUIET_SECONDS:.2f} requests a second"


def write_rows(start: int) -> list[dict]:
    """The ledger's rows of an hour: a tenth of them move NFTs of strangers."""
    return [write_row(number, start + number * GAP) for number in range(ROWS)]


def write_row(number: int, moment: int) -> dict:
    seconds, nanos = divmod(moment, times.SECOND)
    moved = {"token_id": "0.0.8001", "serial_number": 1 + number, "is_approval": False}
    return {
        "name": "CRYPTOTRANSFER",
        "result": "SUCCESS",
        "memo_base64": "",
        "nft_transfers": [] if number % 10 else [moved],
        "consensus_timestamp": times.to_consensus(moment),
        "charged_tx_fee": 1,
        "transaction_id": f"0.0.{2000 + number % 999}-{seconds}-{nanos:09}",
        "nonce": 0,
        "scheduled": False,
    }


def measure_catching_up() -> str:
    """Seconds to read an hour's rows, a page each 0.1 s."""
    with tempfile.TemporaryDirectory() as folder:
        app = make_app(folder)
        start = times.now() - 3600 * times.SECOND
        rows, answer = write_rows(start + 1), services(app).sandbox.app.wsgi_app

        def answer_page(environ, start_response):
            if not environ["PATH_INFO"].endswith("/transactions"):
                return answer(environ, start_response)
            time.sleep(ANSWER_SECONDS)
            after = environ["QUERY_STRING"].partition("timestamp=gt:")[2].partition("&")[0]
            passed = times.from_consensus(after.replace("%3A", ":")) - start
            first = max(0, (passed + GAP - 1) // GAP)
            page = rows[first : first + PAGE]
            start_response("200 OK", [("Content-Type", "application/json")])
            return [json.dumps({"transactions": page, "links": {"next": None}}).encode()]

        services(app).sandbox.app.wsgi_app = answer_page
        with app.app_context():
            with write() as db:
                following.mark_followed_from(db, times.to_iso(start), times.to_iso(start))
            follower, began, cpu = Follower(), time.monotonic(), time.process_time()
            while follower.step():
                pass
            took, cpu = time.monotonic() - began, time.process_time() - cpu
        return f"{ROWS:,} rows: {took:.0f} s, of which {cpu:.0f} s CPU"


if __name__ == "__main__":
    print(measure_catching_up(), flush=True)
    for sellers in SELLERS:
        print(measure_quiet(sellers), flush=True)
    print(measure_freshness(), flush=True)
