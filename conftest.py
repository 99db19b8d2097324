"""What all tests share: Hypothesis' settings, signals, and what makes a thousand applications quick."""

import gc
import signal
from collections import Counter

import hypothesis
import pytest
import sqlite_utils
from sqlite_utils.utils import sqlite3

from harness import url_builders

# The same cases each time. How long something takes says nothing on a busy machine: no test fails for it.
hypothesis.settings.register_profile(
    "patient",
    deadline=None,
    derandomize=True,
    max_examples=20,
    suppress_health_check=[*hypothesis.HealthCheck],
)
hypothesis.settings.register_profile(
    "thorough", hypothesis.settings.get_profile("patient"), max_examples=60
)
hypothesis.settings.load_profile("patient")

# A shell ignores SIGINT for what runs in its background, and every process that a test starts would, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

url_builders.share()


def pytest_report_header():
    version = getattr(sqlite_utils, "__version__", "4")
    return f"SQLite {sqlite3.sqlite_version}, sqlite-utils {version}"


def pytest_collection_finish():
    """Keep the garbage collector from the modules of all tests, and let it run once per application.

    It took a third of the time in which an application is made. Python's own sqlite3 needs it often: it
    closes the connections of threads that have ended.
    """
    if sqlite3.__name__ == "sqlite3":
        return
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Say after all else what was not tested, and what to run so that it is next time."""
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count} skipped: {reason}")
