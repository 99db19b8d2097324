"""Load: wrk with one thread and eight connections, from a core of its own, and what it counted."""

import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from benchmarks import records, server

CONNECTIONS, WRITERS = 8, 4  # a worker takes five writes at once
SCRIPT = Path(__file__).with_name("load.lua")
HOT = 1_000
LEAST_BYTES = {"page": 8_000, "nft": 400, "list": 200}  # of an answer: less is a redirect, or empty


class Walk(NamedTuple):
    """Every ``stride``-th NFT, ``count`` of them, far apart from one another, beginning at ``start``."""

    count: int
    step: int
    stride: int
    start: int = 0

    def number(self, turn: int) -> int:
        return (self.start + turn * self.step) % self.count * self.stride


def everywhere(nfts: int, start: int = 0) -> Walk:
    """Through all NFTs, each once, before any comes again."""
    step = int(nfts * 0.618)
    while math.gcd(step, nfts) > 1:
        step += 1
    return Walk(nfts, step, 1, start)


def hot(nfts: int) -> Walk:
    """Round and round through a few NFTs from all over the table."""
    return Walk(HOT, 1, nfts // HOT)


def require_wrk() -> None:
    if shutil.which("wrk") is None:
        raise SystemExit(
            "wrk makes the load, and is not installed. On Debian as root: apt-get install wrk"
        )


def run(
    port: int, token: str, path: str, seconds: int, what: str = "page", walk: Walk | None = None
) -> dict:
    """Load a server, and return what wrk counted. Raises SystemExit for anything that was no success."""
    numbers = (
        *(walk or Walk(1, 1, 1)),
        records.COLLECTION,
        records.FIRST_TOKEN,
        records.FIRST_OWNER,
        records.OWNERS,
        records.OWNER_STEP,
    )
    words = [
        *("taskset", "-c", str(server.cores()[1])),
        *(
            "wrk",
            "-t1",
            f"-c{WRITERS if what == 'list' else CONNECTIONS}",
            f"-d{seconds}s",
            "--timeout",
            "10s",
            "-s",
            SCRIPT,
        ),
        *("-H", f"Authorization: Bearer {token}", f"http://127.0.0.1:{port}{path}"),
        *("--", what, *map(str, numbers)),
    ]
    output = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = [line[1:] for line in output.stdout.splitlines() if line.startswith("@{")]
    if not lines:
        raise SystemExit(f"wrk failed: {output.stdout}{output.stderr}")
    counted = json.loads(lines[0])
    if counted["not_2xx"] or counted["socket"] or counted["timeout"] or not counted["requests"]:
        raise SystemExit(f"Not every answer to {what} {path} was a good one: {counted}")
    if counted["bytes"] < LEAST_BYTES[what] * counted["requests"]:
        raise SystemExit(f"Answers to {what} {path} are too small: {counted}")
    return counted | {"per_second": counted["requests"] / counted["seconds"]}
