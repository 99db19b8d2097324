"""Queries among many events and collections, on both engines."""

from benchmarks import records
from benchmarks.activity import TOKEN
from benchmarks.bench import Bench
from benchmarks.client import Client
from benchmarks.latency import Ask, Asks, Seconds, in_turn, page_at

LIMIT = 100  # events of a page
IDS = "&".join(f"id={TOKEN}:{serial_no}" for serial_no in range(1, 101))
# By the name of the row.
PATHS = {
    "collections, by what was sold in 24 hours": "/v1/collections",
    "search for a common word": "/v1/search?q=t",
    "search for two common words and a number": "/v1/search?q=t+m+7",
    "search for what is nowhere": "/v1/search?q=nowhere",
    "traits of a collection of 10,000": f"/v1/collection/{TOKEN}/traits",
    "traits and rank of an NFT": f"/v1/nft/{TOKEN}/7/traits",
    "order book, by price, with a trait": f"/v1/orderbook?tokenId={TOKEN}&trait=Sky:Dusk&sort=price",
    "100 NFTs by id": f"/v1/nfts?{IDS}",
    "an account's NFTs": f"/v1/user/{records.owner(0)}/nfts",
}


# The curves of measure(), by the server that is asked.
CURVES = {"service": "among_events", "postgresql": "among_events_postgresql"}


def measure(bench: Bench) -> Seconds:
    """Median seconds of each request, after a commit that makes cached answers stale."""
    asks: Asks = {}
    for name, writer in bench.writers.items():
        client, curve = bench.client(name), CURVES[name]
        link = client.get("/v1/events").link or ""
        feed = f"/v1/events?limit={LIMIT}&after={link.partition('after=')[2][:8]}"
        paths = {
            "first_events": f"{feed}-0",
            "last_events": f"{feed}-{bench.plan.nfts - LIMIT}",
            "events_of_account": f"{feed}-0&accountId={records.owner(0)}",
            "collection": f"/v1/collection/{TOKEN}",
            **PATHS,
        }
        asks |= {(curve, each): (get(client, path), writer.relist) for each, path in paths.items()}
        asks[curve, "orderbook"] = page_at(client, 0), writer.relist
    return in_turn(asks, bench.plan)


def get(client: Client, path: str) -> Ask:
    return lambda turn: client.get(path).seconds
