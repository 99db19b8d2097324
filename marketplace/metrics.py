"""Every counter and histogram, which prometheus_client counts: ``count("images", outcome="made")``.

Applications of one process count together. After share(), the processes of a program count together, too:
https://prometheus.github.io/client_python/multiprocess/
"""

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram, values
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

PREFIX = "marketplace_"
# Seconds: the upper bounds of a histogram's buckets.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# Name, help text and labels. make docs writes them into docs/monitoring.md.
DURATION = (
    "request_duration_seconds",
    "Histogram: requests (_count), and the time until their responses began. Unknown routes count as none",
    ("method", "route", "status"),
)
COUNTERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("writes_refused", "POST requests refused because too many were in progress", ()),
    (
        "requests_limited",
        "Requests answered 429: a limit of a token, an end_user or an address was reached",
        ("by",),
    ),
    (
        "response_cache_requests",
        "Reads under /v1: answered from the response cache (hit), or not (miss)",
        ("outcome",),
    ),
    (
        "mirror_node_requests",
        "Requests to the mirror node: 2xx, 4xx, 429, 5xx, or silent (no answer)",
        ("outcome",),
    ),
    ("mirror_node_invalid_answers", "Invalid answers from the mirror node", ()),
    ("mirror_node_retries", "Requests to the mirror node that were sent again", ()),
    (
        "mirror_node_wait_seconds",
        "Time waited because of MIRROR_NODE_RATE; its rate is the number of waiting requests",
        (),
    ),
    (
        "sweep_found",
        "Changed NFTs that a sweep found and following missed: 0 on a healthy ledger",
        (),
    ),
    (
        "purchases",
        "Purchase requests: signed, or the name of the error, such as FeesSpent",
        ("outcome",),
    ),
    (
        "images",
        "Attempts to read an NFT's metadata and image: made; or unusable, unreachable, slow or busy, and"
        " tried again",
        ("outcome",),
    ),
    (
        "token_requests",
        "Requests by the access token's name",
        ("token",),
    ),
    ("token_writes", "POST requests by the access token's name", ("token",)),
    (
        "webhook_deliveries",
        "Messages to webhooks: delivered, or failed and tried again",
        ("outcome",),
    ),
)

SERVER, WATCHER = "server", "watcher"  # the programs that share
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
IN_MEMORY = Path("/dev/shm")  # noqa: S108  # a full disk does not matter there


class Metrics:
    """The metrics of this process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Histogram(
            f"{PREFIX}{DURATION[0]}",
            *DURATION[1:],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._counters = {
            name: Counter(f"{PREFIX}{name}", help, labels, registry=self.registry)
            for name, help, labels in COUNTERS
        }
        # Cached, since labels() takes longer than counting.
        self.find_counter = cache(self._find_counter)
        self.find_request = cache(self._requests.labels)

    def _find_counter(self, name: str, *labels: str) -> Counter:
        counter = self._counters[name]
        return counter.labels(*labels) if labels else counter


if VARIABLE in os.environ and not os.path.isdir(os.environ[VARIABLE]):
    # prometheus_client would fail, also in a command that counts nothing. share() makes the folder.
    values.ValueClass = values.MutexValue
_metrics = Metrics()
_shared: Path | None = None  # the folder of all programs, after share()


def count(name: str, number: float = 1, **labels: str) -> None:
    """Add to a counter. No counter has more than one label."""
    _metrics.find_counter(name, *labels.values()).inc(number)


def observe(method: str, route: str, status: str, seconds: float, token: str | None = None) -> None:
    """Count a request by the access token's name, and the time until its response began."""
    _metrics.find_request(method, route, status).observe(seconds)
    if token:
        count("token_requests", token=token)
        if method == "POST":
            count("token_writes", token=token)


def share(data_dir: str, program: str) -> None:
    """Count from now on in files, which the program's forks share. Its counts begin at 0."""
    global _metrics, _shared
    root = _find_root(data_dir)
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if root.lstat().st_uid != os.getuid():
            raise PermissionError(f"{root} belongs to another user")
        shutil.rmtree(root / program, ignore_errors=True)
        (root / program).mkdir()
        os.environ[VARIABLE] = str(root / program)
        values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]
        _metrics, _shared = Metrics(), root
    except OSError as error:
        values.ValueClass = values.MutexValue
        logging.getLogger("marketplace").warning("Each process counts alone: %s", error)


@cache  # share() sets the variable
def _find_root(data_dir: str) -> Path:
    if given := os.environ.get(VARIABLE):
        return Path(given)
    folder = IN_MEMORY if IN_MEMORY.is_dir() else Path(tempfile.gettempdir())
    name = sha256(os.path.realpath(data_dir).encode()).hexdigest()[:16]
    return folder / f"nft-marketplace-{os.getuid()}-{name}"


def end(pid: int) -> None:
    """Tell prometheus_client that a process of this program has ended. Its counts stay."""
    if _shared:
        mark_process_dead(pid)  # type: ignore[no-untyped-call]


def collect() -> Iterator[Metric]:
    """Add up what the processes of all programs counted; without share(), what this process did."""
    if _shared:
        files = [str(path) for path in _shared.glob("*/*.db")]
        yield from MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call]
        return
    for family in _metrics.registry.collect():
        family.samples = [each for each in family.samples if not each.name.endswith("_created")]
        yield family
