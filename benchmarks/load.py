"""Puts load on a server: wrk with one thread and eight connections, on a core of its own."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

from benchmarks import machine

CONNECTIONS, WRITERS = 8, 4  # a worker takes five writes at once
SCRIPT = Path(__file__).with_name("load.lua")
# The least size of an answer, by the beginning of its request. A smaller one is a redirect, or empty.
LEAST_BYTES = {"/v1/orderbook": 8_000, "/v1/nft/": 400, "{": 200, "/": 20_000}


def run(port: int, token: str, requests: Iterable[str], seconds: int) -> dict:
    """Load a server, and return what wrk counted. Raises SystemExit if any request failed.

    A request is the path of a GET, or the body of a listing. After the last one, the first one is next.
    """
    lines = list(requests)
    command = [
        *("taskset", "-c", str(machine.cores()[1]), "wrk", "-t1", f"-d{seconds}s"),
        f"-c{WRITERS if lines[0].startswith('{') else CONNECTIONS}",
        *("--timeout", "10s", "-s", SCRIPT, "-H", f"Authorization: Bearer {token}"),
        f"http://127.0.0.1:{port}",
    ]
    asked = "\n".join(lines)
    wrk = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)
    found = [line[1:] for line in wrk.stdout.splitlines() if line.startswith("@{")]
    if not found:
        raise SystemExit(f"wrk failed: {wrk.stdout}{wrk.stderr}")
    counted = json.loads(found[0])
    if counted["not_2xx"] or counted["socket"] or counted["timeout"] or not counted["requests"]:
        raise SystemExit(f"Some requests such as {lines[0]} failed: {counted}")
    least = next(size for start, size in LEAST_BYTES.items() if lines[0].startswith(start))
    if counted["bytes"] < least * counted["requests"]:
        raise SystemExit(f"Answers to {lines[0]} are too small: {counted}")
    return counted | {"per_second": counted["requests"] / counted["seconds"]}
