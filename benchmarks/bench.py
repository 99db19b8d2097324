"""A run: its tables, the servers that serve them, and the access tokens for them."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks import activity, contenders, data, postgresql, records, service
from benchmarks.client import Client
from benchmarks.plan import Plan
from benchmarks.writer import Writer
from harness.serving import Service

ORDERBOOK = "/v1/orderbook"
FRONT_PAGE = "/"


class Bench(NamedTuple):
    """What every measurement needs of a run."""

    plan: Plan
    databases: dict[int, Path]  # by their number of rows
    servers: dict[str, Service]
    reader: str
    seller: str
    writers: dict[str, Writer]  # by the server whose database each writes

    @property
    def writer(self) -> Writer:
        return self.writers["service"]

    @property
    def database(self) -> Path:
        return self.databases[self.plan.nfts]

    def client(self, name: str, token: str | None = None) -> Client:
        title, server = contenders.CONTENDERS[name].title, self.servers[name]
        return Client(title, server.port, token or self.reader)


def remembered(plan: Plan) -> list[str]:
    """All paths that the bare function can answer."""
    return [ORDERBOOK, FRONT_PAGE, *map(records.nft_path, records.hot(plan.nfts))]


@contextmanager
def setting(plan: Plan) -> Iterator[Bench]:
    """The tables of a run, its tokens, and all contenders, until the end of the block."""
    data.FOLDER.mkdir(exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=data.FOLDER)))
        databases = {nfts: data.copy(nfts, folder / f"{nfts}.db") for nfts in plan.sizes}
        database = databases[plan.nfts]
        reader, seller = service.create_access_tokens(database)
        print(f"Writing {plan.nfts:,} events ...", flush=True)
        activity.fill(database, plan.nfts)
        url = stack.enter_context(postgresql.copied(database))
        print("Starting all contenders ...", flush=True)
        starting = contenders.start_all(database, reader, remembered(plan), url)
        servers = stack.enter_context(starting)
        writers = {"service": Writer(database, plan.nfts)}
        if url:
            writers["postgresql"] = Writer(database, plan.nfts, url)
        yield Bench(plan, databases, servers, reader, seller, writers)
