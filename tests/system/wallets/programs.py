"""Runs the wallets' libraries, if they are installed, and compares what they did with what was recorded."""

import importlib.metadata
import json
import re
import shutil
from pathlib import Path

import pytest

from harness.serving import run_program, sandbox_market

FOLDER = Path(__file__).parent
RESULTS = (
    FOLDER / "results.json"
)  # of the last recorded run; make docs writes it into docs/wallets.md
IN_THE_TEST = "in the test"  # what the test itself could not do
KINDS = ("list", "withdraw", "buy", "offer")
CODE = re.compile(r"[A-Z_]+")
needs_wallets = pytest.mark.skipif(
    not shutil.which("node") or not (FOLDER / "node_modules").exists(),
    reason="needs the wallets' libraries (make tools, with npm)",
)


def run_libraries(folder):
    """What the libraries did: a dict for each row and kind, and for each fact about the bytes."""
    bundle = folder / "main.mjs"
    run_program("node", "build.mjs", bundle, cwd=FOLDER, check=True)
    settings = {"SALE_FEE_BUDGET": 10_000, "MIRROR_NODE_RATE": 10_000}
    own = folder / "one"
    own.mkdir()
    with sandbox_market(own, "--workers", "1", **settings) as one:
        given = {"url": one.url, "token": one.token, "node": f"127.0.0.1:{one.node.port}"}
        (folder / "node_modules").symlink_to(FOLDER / "node_modules")
        ended = run_program("node", bundle, json.dumps(given), cwd=folder, check=True)
    return [json.loads(line) for line in ended.stdout.splitlines()]


def find_versions():
    """The versions of the libraries that were recorded, as they are installed now."""
    locked = json.loads((FOLDER / "package-lock.json").read_text())["packages"]
    versions = json.loads(RESULTS.read_text())["versions"]
    return {
        name: importlib.metadata.version(name)
        if name == "hiero-sdk-python"
        else locked[f"node_modules/{name}"]["version"]
        for name in versions
    }


def write_cell(line):
    """The cell of the page for an outcome; None where any error would do."""
    another = "" if line["hasItsId"] or not line["isSubmitted"] else ", another id"
    return f"`{line['outcome']}`{another}" if line["isSubmitted"] else None


def is_true(cell, line):
    if line["isSubmitted"]:
        return cell == write_cell(line)
    # What the test itself could not do is no library's error.
    is_error = not line["outcome"].startswith((IN_THE_TEST, "nothing was submitted"))
    if cell == "error":
        return is_error
    words = cell.strip("`")
    return is_error and not CODE.fullmatch(words) and words in line["outcome"]
