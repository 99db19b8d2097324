"""How fast the watcher follows the ledger, and how many requests it makes to the mirror node.

    python -m benchmarks.following

Every answer of the mirror node takes 0.1 s, like those of the public one. Three parts: catching up after a
stop; requests per second on a quiet ledger; the time from a listing on the mirror node to the order book.
"""

import json
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from werkzeug import Request, Response

from harness.mirror import Mirror
from harness.wallets import approval, seal
from hiero_sandbox import node
from marketplace import create_app
from marketplace.hedera import times
from marketplace.market import freshness
from marketplace.market.memos import listing_memo
from marketplace.sandbox import wallet
from marketplace.sandbox.world import mint
from marketplace.services import read, services, write
from marketplace.store import following, nfts, properties
from marketplace.watcher.follow import Follower
from marketplace.watcher.loop import watch

MARKET, SELLER, TOKEN = "0.0.9001", "0.0.1001", "0.0.7001"
ANSWER_SECONDS = 0.1
LISTINGS, SELLERS, QUIET_SECONDS, ROWS, PAGE = 40, (100, 10_000, 100_000), 20, 100_000, 100
GAP = 3600 * times.SECOND // ROWS  # between two rows
INSERT = """
    INSERT INTO nft (token, serial_no, name, file_type, owner, last_listed_at, ledger_at, is_for_sale,
        is_listed, listing_price)
    VALUES ('0.0.7001', :number, 'x', 'x', '0.0.' || (1000000 + :number), :now, :now, 1, 1, 5)
"""


@contextmanager
def serving() -> Iterator[tuple[Any, Mirror]]:
    """The service in a folder of its own, with the sandbox's mirror node, slowed down and counted."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(DATA_DIR=folder)
        mirror = Mirror(app)
        mirror.before("/", lambda _: time.sleep(ANSWER_SECONDS))
        with app.app_context():
            yield app, mirror


def list_on_ledger(app, serial_no: int) -> None:
    memo = listing_memo(TOKEN, serial_no, 5, "Foo")
    body = approval(SELLER, (TOKEN, serial_no), MARKET, memo)
    with services(app).sandbox.app.app_context():
        mint(TOKEN, serial_no, SELLER, times.now())
        assert node.submit(wallet.sign(SELLER, seal(body)), times.now()).result == "SUCCESS"


def measure_freshness() -> str:
    """Seconds from a listing on the ledger to its place in the order book, at random moments."""
    with serving() as (app, _):
        stop, seconds = threading.Event(), []

        def run():
            with app.app_context():
                watch(stop)

        thread = threading.Thread(target=run)
        thread.start()
        time.sleep(5)
        for serial_no in range(1, LISTINGS + 1):
            time.sleep(random.random())
            list_on_ledger(app, serial_no)
            shown = time.monotonic()
            while not (nft := nfts.get_nft(read(), TOKEN, serial_no)) or not nft["is_for_sale"]:
                time.sleep(0.01)
            seconds.append(time.monotonic() - shown)
        stop.set()
        thread.join()
    typical, worst = median(seconds), max(seconds)
    return f"listing to order book: median {typical:.2f} s, worst {worst:.2f} s of {LISTINGS}"


def measure_quiet(sellers: int) -> str:
    """Requests per second of a watcher that only rechecks N sellers' listings."""
    with serving() as (_, mirror):
        now, stop = times.to_iso(times.now()), threading.Event()
        with write() as db:
            following.mark_followed_from(db, now, now)
            properties.mark_property(db, properties.LAST_SWEEP, now.encode())
            for name in (properties.RULE, properties.SWEEP_RULE):  # or a sweep is due
                properties.mark_property(db, name, freshness.write_rule())
            for number in range(1, sellers + 1):
                db.execute(INSERT, {"number": number, "now": now})
        threading.Timer(QUIET_SECONDS, stop.set).start()
        watch(stop)
        return f"{sellers:,} sellers: {len(mirror.asked) / QUIET_SECONDS:.2f} requests a second"


def write_row(number: int, moment: int) -> dict:
    """A row of the ledger. A tenth of them move NFTs of strangers."""
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
    """Seconds to read an hour's rows, at 0.1 s a page."""
    with serving() as (_, mirror):
        start = times.now() - 3600 * times.SECOND
        rows = [write_row(number, start + 1 + number * GAP) for number in range(ROWS)]

        @Request.application
        def answer_page(request):
            time.sleep(ANSWER_SECONDS)
            after = times.from_consensus(request.args["timestamp"].removeprefix("gt:"))
            first = max(0, (after - start + GAP - 1) // GAP)
            page = {"transactions": rows[first : first + PAGE], "links": {"next": None}}
            return Response(json.dumps(page), content_type="application/json")

        mirror.answer("/transactions$", answer_page)
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
