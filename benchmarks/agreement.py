"""Whether all contenders answer the same, before anything is measured."""

import json

from benchmarks import contenders
from benchmarks.client import Client
from benchmarks.load import HOT, everywhere, hot
from benchmarks.records import key
from benchmarks.server import Server

SAMPLES = 25
# Who answers a page at an offset, and who any NFT of the table.
WHOLE = ("service", "host", "granian", "fastapi", "fastify")


def require(servers: dict[str, Server], nfts: int, deep: int, reader: str) -> None:
    """Raise SystemExit where a contender's answer is another than the service's, or asks for no token."""
    first, hot_nfts, any_nfts = "/v1/orderbook", hot(nfts), everywhere(nfts)
    hot_paths = [_nft_path(hot_nfts.number(turn)) for turn in range(0, HOT, HOT // SAMPLES)]
    any_paths = [_nft_path(any_nfts.number(turn)) for turn in range(SAMPLES)]
    pages = [f"{first}?limit=20&offset={offset}" for offset in (0, 40, deep)]
    expected = _ask("service", servers["service"], reader, [first, *hot_paths, *any_paths, *pages])
    for name in (*WHOLE, "bare"):
        paths = expected if name in WHOLE else [first, *hot_paths]
        answers = _ask(name, servers[name], reader, paths)
        for path in paths:
            if json.loads(answers[path]) != json.loads(expected[path]):
                raise SystemExit(f"{contenders.title(name)} answers {path} differently")
    for name in WHOLE:
        with Client(servers[name].port, "nftm_of_a_stranger") as stranger:
            if (status := stranger.get(first).status) != 401:
                raise SystemExit(f"{contenders.title(name)} answers a stranger with {status}")


def _nft_path(number: int) -> str:
    token, serial_no = key(number)
    return f"/v1/nft/{token}/{serial_no}"


def _ask(name: str, server: Server, token: str, paths: list[str]) -> dict[str, bytes]:
    bodies = {}
    with Client(server.port, token) as client:
        for path in paths:
            answer = client.get(path)
            if answer.status != 200:
                raise SystemExit(f"{contenders.title(name)} answers {path} with {answer.status}")
            bodies[path] = answer.body
    return bodies
