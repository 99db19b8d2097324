"""Who is measured, and the command line each is started with; nothing else here knows a server by name."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks import server, service
from benchmarks.client import Client
from benchmarks.load import HOT, hot
from benchmarks.records import key
from benchmarks.server import Server

BIN = Path(sys.executable).parent
PEERS = Path(__file__).parent / "peers"
GUNICORN = [
    str(BIN / "gunicorn"),
    *["--bind", "127.0.0.1:{port}", "--workers", "1", "--log-level", "warning"],
]
BARE = [*GUNICORN, "--config", str(PEERS / "bare_gunicorn.conf.py"), "benchmarks.peers.bare:app"]
# As many threads as gunicorn.conf.py gives a worker.
GRANIAN = [
    str(BIN / "granian"),
    *["--interface", "wsgi", "--host", "127.0.0.1", "--port", "{port}", "--http", "1", "--no-ws"],
    *["--workers", "1", "--blocking-threads", "8", "--log-level", "warning"],
]
UVICORN = [
    str(BIN / "uvicorn"),
    *["--host", "127.0.0.1", "--port", "{port}", "--loop", "uvloop", "--http", "httptools"],
    *["--no-access-log", "--log-level", "warning"],
]

HOST = [*GUNICORN, "benchmarks.peers.host:app"]

# By name: title, command.
COMMANDS = {
    "bare": ("bare WSGI function, gunicorn", BARE),
    "service": ("this service, gunicorn", GUNICORN),
    "fastapi": ("FastAPI, uvicorn", [*UVICORN, "benchmarks.peers.fastapi_peer:app"]),
    "fastify": ("Fastify, Node.js", ["node", str(PEERS / "fastify" / "server.js")]),
    "granian": ("this service, granian", [*GRANIAN, "wsgi:app"]),
    "host": ("this service, its host's own authentication", HOST),
}
# Those that benchmarks/postgresql.py starts.
BESIDE = {
    "postgresql": ("this service on PostgreSQL", GUNICORN),
    "postgresql_host": ("this service on PostgreSQL, its host's own authentication", HOST),
}


def title(name: str) -> str:
    return (COMMANDS | BESIDE).get(name, (name,))[0]


@contextmanager
def start(name: str, database: Path, bodies: Path | None = None, **settings) -> Iterator[Server]:
    """One contender on the servers' core, until the end of the block; with settings of its own."""
    command = (COMMANDS | BESIDE)[name][1]
    environ = service.environ(database, **settings) | {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(service.ROOT),
        "BENCH_DATABASE": str(database),
        "BENCH_MEDIA_URL": service.MEDIA_URL,
        "BENCH_BODIES": str(bodies),
        "NODE_ENV": "production",
    }
    log = database.parent / f"{name}-{database.stem}.log"
    with server.running(command, environ, service.ROOT, server.cores()[0], log) as running:
        yield running


@contextmanager
def start_all(database: Path, nfts: int, token: str) -> Iterator[dict[str, Server]]:
    """Every contender at once, on one table; idle ones take no time from the one that is asked."""
    bodies = database.with_suffix(".json")
    with ExitStack() as stack:
        servers = {"service": stack.enter_context(start("service", database))}
        bodies.write_text(json.dumps(_remember(servers["service"].port, token, nfts)))
        for name in COMMANDS:
            if name not in servers:
                servers[name] = stack.enter_context(start(name, database, bodies))
        yield servers


def _remember(port: int, token: str, nfts: int) -> dict[str, str]:
    """What the service answers where a bare function has to answer the same."""
    walk = hot(nfts)
    keys = (key(walk.number(turn)) for turn in range(HOT))
    paths = ["/v1/orderbook", *(f"/v1/nft/{token_id}/{serial_no}" for token_id, serial_no in keys)]
    paths.append("/nowhere")  # what a server is asked to see whether it is up
    with Client(port, token) as client:
        return {path: client.get(path).body.decode() for path in paths}
