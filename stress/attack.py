"""Attacks by clients and by foreign hosts, and how much they slow down other clients.

``python -m stress.attack --seconds 20`` serves with the default settings and two workers, beside hosts that
are silent, drip or answer with bombs. It prints how long reads took meanwhile. A watcher fetches the metadata
and images of the NFTs that are added.
"""

import argparse
import asyncio
import json
import logging
import multiprocessing
import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from harness import mounts, network
from harness.engines import ENGINES
from harness.images import CORPUS
from harness.serving import run_flask, serve, watcher
from marketplace.sandbox import gateway as artwork_gateway
from marketplace.sandbox.application import create_sandbox
from stress import sequences, visitors

CLIENTS, WORKERS = 200, 2
SCRIPT = Path(__file__).with_name("attack.lua")
READS = {"order book": "/v1/orderbook", "status": "/status"}
READS_A_SECOND = 20  # of each


def answer_with_bombs():
    bomb = CORPUS["png_palette_with_transparency"]()
    metadata = json.dumps({"name": "Bomb", "image": "ipfs://Qm/bomb.png"}).encode()

    def application(environ, start_response):
        body = bomb if environ["PATH_INFO"].endswith("bomb.png") else metadata
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    return network.serve(application)


# Where metadata and images come from; None is our sandbox's own gateway, which is quick.
GATEWAYS = {
    "silent": lambda: network.serve_raw(network.silence),
    "dripping": lambda: network.serve_raw(network.drip_body),
    "bombs": answer_with_bombs,
}
ATTACKS = {
    "no attack": {},
    "nothing but a flood": {},
    "metadata is silent": {"gateway": "silent"},
    "metadata drips": {"gateway": "dripping"},
    "images are bombs": {"gateway": "bombs"},
    "the mirror node is silent": {"mirror": network.silence},
    "the mirror node drips": {"mirror": network.drip_body},
    "the bucket is silent": {"media": network.silence},
    "a foreign lock": {"is_locked": True},
    "the name server is silent": {"address": "http://mirror.example"},
}
SIEGE = "silent visitors"  # who prepare purchases, beside an honest buyer, on both engines
NAME_SERVER = "127.0.0.53"  # resolv.conf has no port: it is 53, which only root may use
UNTRIED = (
    "not tried: only root can put a silent name server into /etc/resolv.conf, in a mount namespace of its"
    " own (unshare --mount). Any other name server answers at once, which proves nothing"
)


class Timings(NamedTuple):
    """The seconds that many requests took, and how many of them got each status."""

    p50: float
    p99: float
    worst: float
    statuses: dict

    @classmethod
    def of(cls, answers):
        """From the status and the seconds of each request."""
        seconds = sorted(took for _, took in answers)
        p99 = seconds[int(len(seconds) * 0.99)]
        statuses = Counter(status for status, _ in answers)
        return cls(statistics.median(seconds), p99, seconds[-1], statuses)

    def __str__(self):
        counts = ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items()))
        return f"p50 {self.p50:.3f}  p99 {self.p99:.3f}  worst {self.worst:.3f} s  ({counts})"


async def ask(port, path, token):
    """Send one request on a connection of its own; returns its status, or 0 if there was no answer."""
    request = (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        "Connection: close\r\n\r\n"
    )
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request.encode())
        answer = await reader.read()
        writer.close()
        return int(answer.split(b" ", 2)[1])
    except (OSError, IndexError):
        return 0


@contextmanager
def flooding(port, token, seconds, clients, kind="add"):
    """Let clients add NFTs, or prepare purchases, without a pause.

    Yields a list, to which their timings are added at the end.
    """
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds:.0f}s", "--timeout", "60s", "-s", SCRIPT]
    command += ["-H", f"Authorization: Bearer {token}", f"http://127.0.0.1:{port}", "--", kind]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    found = []
    yield found
    output = process.communicate()[0]
    found.append(json.loads(next(line[1:] for line in output.splitlines() if line.startswith("@"))))


async def read_all(port, token, seconds):
    answers = {name: [] for name in READS}

    async def read(name):
        began = time.monotonic()
        status = await ask(port, READS[name], token)
        answers[name].append((status, time.monotonic() - began))

    tasks, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        # Requests begin at fixed times, however slow the answers are.
        tasks += [asyncio.create_task(read(name)) for name in READS]
        await asyncio.sleep(1 / READS_A_SECOND)
    await asyncio.gather(*tasks)
    return {name: Timings.of(found) for name, found in answers.items()}


def run(coroutine, *arguments):
    return asyncio.run(coroutine(*arguments))


@contextmanager
def beside():
    """A process beside this one. It is no fork, because threads of this one may hold locks of SQLite."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        process.submit(int)  # so that it begins now
        yield process


@contextmanager
def silent_name_server():
    """Let all names be asked of a server that never answers: this process's, and those that it starts."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server,
        tempfile.NamedTemporaryFile("w", suffix=".conf") as file,
    ):
        server.bind((NAME_SERVER, 53))
        file.write(f"nameserver {NAME_SERVER}\n")
        file.flush()
        subprocess.run(["mount", "--bind", file.name, "/etc/resolv.conf"], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", "/etc/resolv.conf"], check=True)


@contextmanager
def scene(gateway=None, mirror=None, address=None, media=None, is_locked=False, settings=None):
    """A service on a testnet of our own; yields it, and an access token."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        enter = stack.enter_context
        if address is not None:
            enter(silent_name_server())
        sandbox = create_sandbox(f"{folder}/ledger.db")
        sandbox.register_blueprint(artwork_gateway.blp)
        ledger = enter(network.serve(sandbox) if mirror is None else network.serve_raw(mirror))
        ipfs = f"{ledger}/ipfs" if gateway is None else f"{enter(GATEWAYS[gateway]())}/ipfs"
        own = {
            "DATABASE_URL": f"sqlite:///{folder}/market.db",
            "NETWORK": "testnet",
            "ACCOUNT_ID": "0.0.9001",
            "MIRROR_NODE_URL": address or ledger,
            "IPFS_GATEWAYS": ipfs,
            **(settings or {}),
        }
        if media is not None:
            own["MEDIA_URL"] = "s3://bucket/images"
            bucket = enter(network.serve_raw(media))
            names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
            enter(patch.dict(os.environ, dict.fromkeys(names, "x") | {"AWS_ENDPOINT_URL": bucket}))
        made = run_flask(
            folder, "token", "create", "attack", "--scope", "read", "--scope", "write", **own
        )
        with serve(folder, "--workers", str(WORKERS), **own) as service:
            if is_locked:
                lock = sqlite3.connect(folder / "market.db", isolation_level=None)
                lock.execute("BEGIN IMMEDIATE")
                stack.callback(lock.close)
            enter(watcher(folder, PUBLIC_URL=service.url, **own))  # it asks the foreign hosts
            yield service, made.stdout.strip()


def attack(name, seconds, clients=CLIENTS, **settings):
    """Make one attack; returns the timings of each kind of read, and of the clients that attack."""
    with beside() as readers, scene(**ATTACKS[name], settings=settings) as (service, token):
        writing = flooding(service.port, token, seconds, clients)
        with writing if name != "no attack" else nullcontext([]) as of_writers:
            time.sleep(1)
            timings = readers.submit(run, read_all, service.port, token, seconds - 2).result()
        if of_writers:
            timings["add"] = Timings(**of_writers[0])
        return timings


def besiege(engine, seconds, clients=CLIENTS):
    """Let an honest buyer buy beside silent visitors; returns what both got."""
    with visitors.besieged(engine) as service:
        with service.get("/visitor-token") as answer:
            token = json.load(answer)["token"]
        with flooding(service.port, token, seconds, clients, "buy") as of_visitors:
            time.sleep(1)
            answers = visitors.buy_all(service, time.monotonic() + seconds - 2)
        return visitors.Got(answers, of_visitors, *visitors.count_held(service))


def report_siege(engine, seconds, clients):
    got = besiege(engine, seconds, clients)
    print(f"{SIEGE}, {engine}, {clients} clients")
    print(f"  {'honest':<12} {Timings.of(got.answers)}")
    print(f"  {'visitors':<12} {Timings(**got.visitors[0])}")
    print(f"  {got.held} purchases of visitors are held, {got.tinybars} tinybars", flush=True)


def main() -> int:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    parser = argparse.ArgumentParser(prog="python -m stress.attack")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--limit", help="MARKETPLACE_WRITE_LIMIT, in place of the default")
    parser.add_argument(
        "--only",
        action="append",
        choices=[*ATTACKS, SIEGE, *sequences.SEQUENCES],
        help="one attack; may be repeated",
    )
    arguments = parser.parse_args()
    mounts.enter_namespace("stress.attack")  # for the name server
    chosen = arguments.only or [*ATTACKS, SIEGE, *sequences.SEQUENCES]
    fallen = 0
    if steps := [name for name in chosen if name in sequences.SEQUENCES]:
        fallen = sum(sequences.run(engine, steps) for engine in ENGINES)
    for name in (name for name in chosen if name not in steps):
        if name == SIEGE:
            for engine in ENGINES:
                report_siege(engine, arguments.seconds, arguments.clients)
            continue
        if "address" in ATTACKS[name] and not mounts.are_own():
            print(f"{name}: {UNTRIED}", flush=True)
            continue
        settings = {"WRITE_LIMIT": arguments.limit} if arguments.limit else {}
        timings = attack(name, arguments.seconds, arguments.clients, **settings)
        print(f"{name}, {arguments.clients} clients")
        for what, figures in timings.items():
            print(f"  {what:<12} {figures}", flush=True)
    return 1 if fallen else 0


if __name__ == "__main__":
    sys.exit(main())
