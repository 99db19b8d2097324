"""The servers that are measured, each with its command line. No other file here knows how a server starts."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks import machine, service
from benchmarks.client import Client
from harness.network import reserved_port
from harness.serving import ROOT, Service, environment

GUNICORN = "gunicorn --bind 127.0.0.1:{port} --workers 1 --log-level warning"
BARE = f"{GUNICORN} --config benchmarks/peers/bare_gunicorn.conf.py benchmarks.peers.bare:app"
HOST = f"{GUNICORN} benchmarks.peers.host:app"
# As many threads as gunicorn.conf.py gives a worker.
GRANIAN = (
    "granian --interface wsgi --host 127.0.0.1 --port {port} --http 1 --no-ws --workers 1"
    " --blocking-threads 8 --log-level warning wsgi:app"
)
FASTIFY = "node benchmarks/peers/fastify/server.js"
UVICORN = (
    "uvicorn --host 127.0.0.1 --port {port} --loop uvloop --http httptools --no-access-log"
    " --log-level warning benchmarks.peers.fastapi_peer:app"
)


class Contender(NamedTuple):
    title: str
    command: str
    is_ours: bool = True
    is_on_postgresql: bool = False


CONTENDERS = {
    "service": Contender("this service, gunicorn", GUNICORN),
    "bare": Contender("bare WSGI function, gunicorn", BARE, is_ours=False),
    "fastapi": Contender("FastAPI, uvicorn", UVICORN, is_ours=False),
    "fastify": Contender("Fastify, Node.js", FASTIFY, is_ours=False),
    "granian": Contender("this service, granian", GRANIAN),
    "host": Contender("this service, its host's own authentication", HOST),
    "postgresql": Contender("this service on PostgreSQL", GUNICORN, is_on_postgresql=True),
    "postgresql_host": Contender(
        "PostgreSQL, its host's own authentication", HOST, is_on_postgresql=True
    ),
}


@contextmanager
def start(name: str, database: Path, url: str | None = None) -> Iterator[Service]:
    """Run one contender on the servers' core, until the end of the block. ``url``: see start_all()."""
    contender = CONTENDERS[name]
    settings = service.settings(database, url if contender.is_on_postgresql else None)
    with reserved_port() as port:
        environ = environment(**settings) | {
            "BENCH_DATABASE": str(database),
            "BENCH_MEDIA_URL": f"{service.PUBLIC_URL}/media",
            "BENCH_BODIES": str(_bodies(database)),
            "NODE_ENV": "production",
            "PORT": str(port),
        }
        on_its_core = ["setpriv", "--pdeathsig", "TERM", "taskset", "-c", str(machine.cores()[0])]
        command = contender.command.format(port=port).split()
        server = Service(ROOT, port, environ)
        with server.running([*on_its_core, *command], start_new_session=True):
            yield server


@contextmanager
def start_all(
    database: Path, token: str, remembered: list[str], url: str | None
) -> Iterator[dict[str, Service]]:
    """Run all contenders together, on one table. Idle ones take no time from the one that is asked.

    ``remembered`` are the paths that the bare function answers. ``url``: the same table in PostgreSQL.
    """
    with ExitStack() as stack:
        servers = {"service": stack.enter_context(start("service", database))}
        client = Client("service", servers["service"].port, token)
        answers = {path: client.get(path).body.decode() for path in ["/status", *remembered]}
        _bodies(database).write_text(json.dumps(answers))
        for name, contender in CONTENDERS.items():
            if name not in servers and (url or not contender.is_on_postgresql):
                servers[name] = stack.enter_context(start(name, database, url))
        yield servers


def _bodies(database: Path) -> Path:
    return database.with_suffix(".json")
