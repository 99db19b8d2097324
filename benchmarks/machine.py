"""The machine of a run: its description, and the cores for the servers and for the load."""

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

from sqlite_utils.utils import sqlite3

PACKAGES = ("gunicorn", "granian", "flask", "flask-smorest", "fastapi", "uvicorn", "pydantic")
FASTIFY = Path(__file__).parent / "peers" / "fastify" / "package.json"


@cache  # before this process is pinned itself
def cores() -> tuple[int, int]:
    """One core for servers, another for the load."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[-1], allowed[0]


def pin() -> None:
    """Leave the servers' core to the servers."""
    servers, load = cores()
    if servers == load:
        print("There is only one core: load and servers share it, so the figures mean little.")
    os.sched_setaffinity(0, {load})


def describe() -> dict:
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"The machine is busy (load {load:.1f}): expect rough figures.")
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%dT%H:%MZ}",
        "commit": _say("git", "describe", "--always", "--dirty"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.release()}",
        "load": round(load, 2),
        "versions": {
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
            "node": _say("node", "--version").removeprefix("v"),
            **{package: version(package) for package in PACKAGES},
            **json.loads(FASTIFY.read_text())["dependencies"],
        },
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _say(*words: str) -> str:
    try:
        return subprocess.check_output(words, cwd=FASTIFY.parent, text=True).strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
