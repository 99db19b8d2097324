"""What images that harm their decoder cost, and how they must end."""

import threading
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from harness.images import MEGABYTE
from harness.network import response, serve_raw
from marketplace.settings import load
from marketplace.watcher.enrichment_processes import EnrichmentProcesses
from marketplace.watcher.enrichment_result import QUICK, EnrichmentResult, Limits

POINTER = '{"image": "ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG/7.png"}'

REFUSED = [
    "png_one_row_of_many_pixels",
    "jpeg_largest",
    "jpeg_progressive_huge",
]


def assert_bounded(found):
    assert found.decoder < 245 * MEGABYTE  # with the reader of which it is a fork
    assert found.outcome.startswith(
        (
            "made ",
            "it takes ",
            "it took too long",  # on a busy machine, before its processor time is used up
            "the image can't ",
            "it is not an image",
            "the answer is empty",
        )
    )


class Cost(NamedTuple):
    outcome: str
    decoder: int  # its peak memory in bytes
    seconds: float


def cost(content: bytes, seconds: int = QUICK.decoding) -> Cost:
    """Fetch and decode an image as the first try does, with ``seconds`` seconds of processor time."""
    with serve_raw(lambda connection: connection.sendall(response(content))) as url:
        settings = load({"NETWORK": "sandbox", "IPFS_GATEWAYS": f"{url}/ipfs"}, {})
        with closing(EnrichmentProcesses(settings, dict)) as processes:
            began = time.monotonic()
            found, decoder = _enrich(processes, Limits(15, seconds))
    return Cost(found.reason or "made small", decoder, time.monotonic() - began)


def _enrich(processes: EnrichmentProcesses, limits: Limits) -> tuple[EnrichmentResult, int]:
    """The result, and the peak memory of the decoder in bytes."""
    peak, is_done = 0, threading.Event()

    def look() -> None:
        nonlocal peak
        while not is_done.wait(0.001):
            for reader in [*processes._readers]:
                pid = reader.process.pid
                for decoder in _read(Path(f"/proc/{pid}/task/{pid}/children")).split():
                    peak = max(peak, _memory(decoder))

    looker = threading.Thread(target=look)
    looker.start()
    try:
        return processes.enrich(POINTER, limits), peak
    finally:
        is_done.set()
        looker.join()


def _memory(pid: str) -> int:
    """The memory of a process in bytes, without the files that it maps."""
    lines = _read(Path(f"/proc/{pid}/status")).splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")), 0)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ProcessLookupError):
        return ""  # the process has ended
