"""Two services on one database of three servers, and what their clients see while the servers fail.

Clients add NFTs through both services, and read each from the other service as soon as it is acknowledged.
Others prepare listings. Others read an NFT and the order book while the NFT's price goes up with each commit:
no answer may be older than a commit that was acknowledged before its request.

    python -m stress.failover --seconds 10
"""

import argparse
import contextlib
import itertools
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError

import psycopg

from harness.postgresql import Server, until
from harness.serving import Service, run_flask, serve
from stress.cluster import Cluster, cluster

ALICE, TOKEN = "0.0.1001", "0.0.7001"
LISTED = "0.0.7002"  # its NFTs are stored from the beginning, and clients prepare their listings
PRICED = "0.0.7003"  # the NFT whose price goes up
WRITERS = READERS = 2  # for each service, and one more that adds
PAUSE_SECONDS = 0.02  # between two requests of one client
MISSING_SECONDS = 1  # until somebody promotes a standby
COUNT = 50_000
FILL = """
    INSERT INTO nft (token, serial_no, name, file_type, owner, ledger_at)
    SELECT %(token)s, serial_no, 'An NFT', 'image/png', %(owner)s, '2026-01-01T00:00:00Z'
    FROM generate_series(1, %(count)s) AS serial_no
"""
RETRY_SECONDS = 2  # the longest Retry-After of the services


@contextlib.contextmanager
def lose_the_primary(servers: Cluster, lose: Callable[[Server], object]):
    before = servers.primary
    lose(before)
    time.sleep(MISSING_SECONDS)
    servers.fail_over()
    yield
    servers.proxies[before].thaw()
    servers.join(before)


@contextlib.contextmanager
def switch_as_planned(servers: Cluster):
    servers.switch(servers.standbys[0])
    yield


@contextlib.contextmanager
def lose_a_standby(servers: Cluster):
    lost = servers.standbys[0]
    lost.kill()
    yield
    servers.join(lost)


# What happens to the servers. Each yields once there is a primary again, and then repairs everything.
FAULTS = {
    "kill_the_primary": lambda servers: lose_the_primary(servers, Server.kill),
    "switch_as_planned": switch_as_planned,
    "lose_a_standby": lose_a_standby,
    "let_the_primary_hang": lambda servers: lose_the_primary(servers, Server.freeze),
    # As when a machine loses its power: nothing reaches it or comes back, not even a refusal.
    "cut_off_the_primary": lambda servers: lose_the_primary(
        servers, lambda primary: servers.proxies[primary].freeze()
    ),
}


class Request(NamedTuple):
    service: Service
    is_write: bool
    began: float
    ended: float
    failure: str | None


class Outcome(NamedTuple):
    """What clients saw during one fault. Times are in seconds."""

    acknowledged: int  # writes
    stored: int
    lost: int  # of those that were acknowledged
    read: int
    stale: list[str]
    write_gap: float  # the longest time without an acknowledged write through a service
    read_gap: float
    slowest: float
    refused: int  # 503, to be tried again
    wrong: list[str]  # all other failures
    late: int  # failures of requests that began after the fault was over

    def __str__(self):
        figures = [len(it) if isinstance(it, list) else it for it in self]
        return " ".join(f"{it:12,.2f}" if isinstance(it, float) else f"{it:12,}" for it in figures)


class Stage:
    """Three servers and two services on them."""

    def __init__(self, servers: Cluster, services: list[Service], token: str):
        self.servers = servers
        self.services = services
        self.token = token
        self.serial_numbers = itertools.count(1)  # each of them is written once
        self.prices = itertools.count(1)

    def ask(self, service: Service, path: str, body: dict | None = None):
        """The JSON of an answer. Raises HTTPError or OSError."""
        return service.call(path, body, self.token)

    def add(self, service: Service, serial_no: int, token: str = TOKEN):
        keys = {"accountId": ALICE, "tokenId": token, "serialNo": serial_no}
        return self.ask(service, "/v1/add", keys)

    def prepare(self, service: Service, serial_no: int):
        keys = {"accountId": ALICE, "tokenId": LISTED, "serialNo": serial_no}
        return self.ask(service, "/v1/list/extwallet", keys | {"listingPrice": 250})

    def other(self, service: Service) -> Service:
        return self.services[1 - self.services.index(service)]

    def database(self):
        """A connection to the primary that no service uses."""
        options = {"target_session_attrs": "read-write", "connect_timeout": 2}
        return psycopg.connect(self.servers.url, autocommit=True, **options)

    def suffer(self, fault, seconds: float) -> Outcome:
        """Let clients ask for ``seconds`` before a fault, and as long after it."""
        with Crowd(self) as crowd:
            time.sleep(seconds)
            until(crowd.is_served, "clients are not served")
            began = time.monotonic()
            with fault(self.servers):
                self.servers.wait(1)
                over = time.monotonic()
                time.sleep(max(seconds, RETRY_SECONDS + 1))
                until(crowd.is_served, "clients are not served again")
            self.servers.wait()
        return crowd.outcome(began, over)


class Crowd:
    """Clients of both services, until the end of its block."""

    def __init__(self, stage: Stage):
        self.stage = stage
        self.first = next(stage.serial_numbers)
        self.requests: list[Request] = []
        self.acknowledged: list[int] = []  # serial numbers
        self.price = 0  # the newest that was acknowledged
        self.stale: list[str] = []
        self.broken: list[BaseException] = []
        self.over = threading.Event()
        loops = [self.raise_the_price]
        for service in stage.services:
            loops += [lambda it=service: self.add(it)]
            loops += [lambda it=service: self.write(it, stage.prepare)] * WRITERS
            loops += [lambda it=service: self.read(it)] * READERS
        self.threads = [threading.Thread(target=self.run, args=(loop,)) for loop in loops]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
        assert not self.broken, self.broken

    def run(self, step):
        try:
            while not self.over.wait(PAUSE_SECONDS):
                step()
        except BaseException as error:
            self.broken.append(error)

    def write(self, service, post):
        """Repeat a write until it is acknowledged, or the run is over."""
        serial_no = next(self.stage.serial_numbers)
        while not self.attempt(service, lambda: post(service, serial_no), is_write=True):
            if self.over.wait(PAUSE_SECONDS):
                return None
        self.acknowledged.append(serial_no)
        return serial_no

    def add(self, service):
        if serial_no := self.write(service, self.stage.add):
            path = f"/v1/nft/{TOKEN}/{serial_no}"
            other = self.stage.other(service)
            self.attempt(other, lambda: self.stage.ask(other, path))  # 404 is a wrong answer

    def read(self, service):
        for path in (f"/v1/nft/{PRICED}/1", "/v1/orderbook?limit=1"):
            newest = self.price
            answer = self.attempt(service, lambda path=path: self.stage.ask(service, path))
            if answer is not None:
                nft = answer[0] if isinstance(answer, list) else answer
                if nft["listingPrice"] < newest:
                    self.stale.append(f"{path}: {nft['listingPrice']} and not {newest}")

    def attempt(self, service, ask, is_write=False):
        """The answer, or None. The request is recorded, with what was wrong."""
        began, answer, failure = time.monotonic(), None, None
        try:
            answer = ask()
        except HTTPError as error:
            failure = describe(error)
        except OSError as error:
            failure = repr(error)
        ended = time.monotonic()
        self.requests.append(Request(service, is_write, began, ended, failure))
        return answer

    def is_served(self):
        """Whether both services answered reads and writes in the last second, and refused none."""
        since = time.monotonic() - 1
        recent = [request for request in list(self.requests) if request.began > since]
        served = {(request.service.port, request.is_write) for request in recent}
        return len(served) == 4 and not any(request.failure for request in recent)

    def raise_the_price(self):
        """Commit after commit on a connection of its own, as another machine would."""
        sql = "UPDATE nft SET listing_price = %s WHERE token = %s RETURNING listing_price"
        with contextlib.suppress(psycopg.OperationalError), self.stage.database() as database:
            while not self.over.wait(PAUSE_SECONDS):
                price = next(self.stage.prices)
                assert database.execute(sql, (price, PRICED)).fetchone() == (price,)
                self.price = price

    def outcome(self, began, over) -> Outcome:
        with self.stage.database() as database:
            sql = """
                SELECT serial_no FROM nft WHERE token = %s
                UNION ALL SELECT DISTINCT serial_no FROM prepared_nft
            """
            stored = {row[0] for row in database.execute(sql, (TOKEN,))}
        failures = [request for request in self.requests if request.failure]
        wrong = [request.failure for request in failures if request.failure != REFUSED]
        reads = [request for request in self.requests if not request.is_write]
        return Outcome(
            acknowledged=len(self.acknowledged),
            stored=sum(serial_no >= self.first for serial_no in stored),
            lost=len(set(self.acknowledged) - stored),
            read=sum(request.failure is None for request in reads),
            stale=self.stale,
            write_gap=self.gap(True, began),
            read_gap=self.gap(False, began),
            slowest=max(request.ended - request.began for request in self.requests),
            refused=len(failures) - len(wrong),
            wrong=[f"{count} x {failure}" for failure, count in Counter(wrong).items()],
            late=sum(request.began > over + RETRY_SECONDS for request in failures),
        )

    def gap(self, is_write, began) -> float:
        gaps = [0.0]
        for service in self.stage.services:
            moments = sorted(
                request.ended
                for request in self.requests
                if request.service is service
                and request.is_write is is_write
                and request.failure is None
            )
            pairs = itertools.pairwise(moments)
            gaps += [after - before for before, after in pairs if after > began]
        return max(gaps)


REFUSED = "503, as it should be"


def describe(error: HTTPError) -> str:
    """Describe a failure: REFUSED if clients may see it, otherwise what is wrong with it."""
    with error:
        text = error.read().decode()
    try:
        message = json.loads(text)["message"]
    except (ValueError, KeyError):
        return f"{error.code} {text[:80]}"
    retry_after = error.headers.get("Retry-After", "")
    is_patient = retry_after.isdigit() and int(retry_after) <= RETRY_SECONDS
    if error.code == 503 and is_patient and "othing was changed" not in message:
        return REFUSED
    return f"{error.code}, Retry-After {retry_after or 'missing'}: {message}"


@contextlib.contextmanager
def stage(folder: Path):
    """Three servers, two services, an access token, and one NFT that is listed."""
    with contextlib.ExitStack() as stack:
        servers = stack.enter_context(cluster())
        # One ledger and one folder, as for services on one machine.
        settings = {"DATABASE_URL": servers.url, "DATA_DIR": folder}
        services = []
        for name in ("one", "other"):
            (folder / name).mkdir()
            service = serve(folder / name, "--workers", "2", **settings)
            services.append(stack.enter_context(service))
        scopes = ("--scope", "read", "--scope", "write")
        created = run_flask(folder, "token", "create", "clients", *scopes, **settings)
        assert created.exit_code == 0, created.output
        this = Stage(servers, services, created.stdout.strip())
        this.add(services[0], 1, PRICED)
        with this.database() as database:
            database.execute(FILL, {"token": LISTED, "owner": ALICE, "count": COUNT})
            listed = "is_for_sale = 1, is_listed = 1, listing_price = 1"
            at = "last_listed_at = '2026-01-01T00:00:00Z'"
            database.execute(f"UPDATE nft SET {listed}, {at} WHERE token = %s", (PRICED,))
        yield this
    for service in services:
        assert "Traceback" not in service.output, service.output


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=10, help="before and after each fault")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--only", action="append", choices=FAULTS, help="one fault; may be repeated"
    )
    options = parser.parse_args()
    is_sound = True
    with tempfile.TemporaryDirectory() as folder, stage(Path(folder)) as this:
        print(" " * 22 + " ".join(f"{name:>12}" for name in Outcome._fields))
        for name in (options.only or [*FAULTS]) * options.rounds:
            outcome = this.suffer(FAULTS[name], options.seconds)
            print(f"{name.replace('_', ' '):22}{outcome}", flush=True)
            for complaint in outcome.stale[:5] + outcome.wrong[:5]:
                print(f"  {complaint}")
            faults = (outcome.lost, outcome.stale, outcome.wrong, outcome.late)
            is_sound = is_sound and not any(faults)
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
