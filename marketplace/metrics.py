"""Every counter and histogram, which prometheus_client counts: ``count("images", outcome="made")``.

A process counts in its memory, unless it called share(): then it counts in files of its own, and /metrics of
any process adds up those of all. Applications of one process count together.
"""

import fcntl
import logging
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram, values
from prometheus_client.metrics_core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

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
    ("writes_refused", "POST and DELETE requests refused because too many were in progress", ()),
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
        "Requests by the access token's name. A process counts up to 100 names; the rest count as other",
        ("token",),
    ),
    ("token_writes", "POST requests by the access token's name", ("token",)),
    (
        "webhook_deliveries",
        "Messages to webhooks: delivered, or failed and tried again",
        ("outcome",),
    ),
)

SERVER, WATCHER = "server", "watcher"  # the programs that share, with a folder for each
# Bytes of a process's files: enough for 500 routes with their statuses. Without room of its own, a file would
# have the system kill its process (SIGBUS) when the disk is full.
SIZES = {"histogram": 2 * 1024 * 1024, "counter": 256 * 1024}
NAMES = 100  # of access tokens that a process counts by name; requests with further ones count as "other"
UNUSED = 8  # bytes of a file without a metric
ENDED = "ended"  # in place of a process's id: what ended processes counted


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
        self._names: set[str] = set()
        # To find the child of some labels takes labels() longer than to count.
        self.find_counter = cache(self._find_counter)
        self.find_request = cache(self._requests.labels)

    def find_label(self, name: str) -> str:
        """The label of an access token: there is no end of names, but one of a process's file."""
        if name not in self._names:
            if len(self._names) >= NAMES:
                return "other"
            self._names.add(name)
        return name

    def _find_counter(self, name: str, *labels: str) -> Counter:
        counter = self._counters[name]
        return counter.labels(*labels) if labels else counter


_metrics = Metrics()
_is_shared = False
_reported: set[str] = set()  # damaged files that the log has named


def count(name: str, number: float = 1, **labels: str) -> None:
    """Add to a counter. No counter has more than one label."""
    _metrics.find_counter(name, *labels.values()).inc(number)


def count_token(name: str, *, writes: bool) -> None:
    """Count a request with an access token."""
    label = _metrics.find_label(name)
    count("token_requests", token=label)
    if writes:
        count("token_writes", token=label)


def observe(method: str, route: str, status: str, seconds: float) -> None:
    """Count a request, and the time until its response began."""
    _metrics.find_request(method, route, status).observe(seconds)


def share(data_dir: str, program: str) -> None:
    """Count in files of this process from now on, which begin at 0; in memory if there is no room."""
    global _metrics, _is_shared
    folder = _folder(data_dir, program)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for kind, size in SIZES.items():
            _make_file(folder / f"{kind}_{os.getpid()}.db", size)
    except OSError as error:
        logging.getLogger("marketplace").warning(
            "/metrics of the other processes lacks what this one counts: %s", error
        )
        values.ValueClass, _is_shared = values.MutexValue, False
    else:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
        values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]
        _is_shared = True
    _metrics = Metrics()


def _make_file(path: Path, size: int) -> None:
    """Make a file of zeros. Under its name it is seen only whole: /metrics of others may read it at once."""
    partial = path.with_suffix(".new")
    try:
        with partial.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def forget(data_dir: str, program: str) -> None:
    """Remove what ended processes of a program counted: it starts, and counts begin at 0."""
    for file in _folder(data_dir, program).glob("*_*.*"):  # a kill leaves a .new
        pid = file.stem.rpartition("_")[2]
        if pid == ENDED or (pid.isdecimal() and not _is_alive(int(pid))):
            file.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)  # another user's is alive
    return True


def end(data_dir: str, program: str, pid: int) -> None:
    """Keep what a process counted that has ended: in one file for all of them, however many there were.

    Without room for that, or while /metrics is read, its own files stay, without the room that they no longer
    need.
    """
    folder = _folder(data_dir, program)
    for kind in SIZES:
        path = folder / f"{kind}_{pid}.db"
        with suppress(OSError):
            with path.open("rb+") as file:
                used = int.from_bytes(file.read(4), sys.byteorder)
                file.truncate(max(used, UNUSED))
            with _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
                _add_up(folder / f"{kind}_{ENDED}.db", path)


def _add_up(total: Path, part: Path) -> None:
    """Add the values of a file to those of another, and remove it."""
    files = [path for path in (total, part) if path.exists()]
    if any(map(_is_damaged, files)):
        return
    values: dict[str, float] = defaultdict(float)
    for path in files:
        rows = MmapedDict.read_all_values_from_file(path)  # type: ignore[no-untyped-call]
        for key, value, *_ in rows:
            values[key] += value
    both = total.with_suffix(".both")
    try:
        _make_file(both, sum(path.stat().st_size for path in files))
        written = MmapedDict(both)  # type: ignore[no-untyped-call]
        for key, value in values.items():
            written.write_value(key, value, 0)  # type: ignore[no-untyped-call]
        written.close()  # type: ignore[no-untyped-call]
        both.replace(total)
    finally:
        both.unlink(missing_ok=True)
    part.unlink()


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    """Hold the lock of a folder, so that nobody adds up files while others are reading them."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


def collect(data_dir: str) -> Iterator[Metric]:
    """Add up what this process and all that share() counted."""
    families = [] if _is_shared else [*_metrics.registry.collect()]
    sums: dict[tuple[str, str, str], dict[tuple[str, tuple[tuple[str, str], ...]], float]] = {}
    for family in (*families, *_read_files(data_dir)):
        name, kind = family.name, family.type
        samples = sums.setdefault((name, family.documentation, kind), defaultdict(float))
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                samples[sample.name, tuple(sorted(sample.labels.items()))] += sample.value
    for (name, documentation, kind), samples in sorted(sums.items()):
        family = Metric(name, documentation, kind)
        for (sample_name, labels), value in samples.items():
            family.add_sample(sample_name, dict(labels), value)
        yield family


def _read_files(data_dir: str) -> list[Metric]:
    with ExitStack() as locks:
        for program in (SERVER, WATCHER):
            with suppress(FileNotFoundError):
                locks.enter_context(_locked(_folder(data_dir, program), fcntl.LOCK_SH))
        files = [str(path) for path in Path(data_dir, "metrics").glob("*/*.db")]
        try:
            return _merge(files)
        except FileNotFoundError:  # the server or the watcher has just started, and removed some
            pass
        except Exception:  # whatever a damaged file makes the library raise
            damaged = {*filter(_is_damaged, files)}
            for path in damaged - _reported:
                logging.getLogger("marketplace").warning(
                    "/metrics leaves out %s, which is damaged. The next start removes it", path
                )
            _reported.update(damaged)
            return _merge([path for path in files if path not in damaged])
    return _read_files(data_dir)


def _merge(files: list[str]) -> list[Metric]:
    return [*MultiProcessCollector.merge(files)]  # type: ignore[no-untyped-call]


def _is_damaged(path: str | Path) -> bool:
    try:
        _merge([str(path)])
    except FileNotFoundError:
        return False
    except Exception:
        return True
    return False


def _folder(data_dir: str, program: str) -> Path:
    return Path(data_dir, "metrics", program)
