"""The programs of examples/sdk, and what they need."""

import re
import shutil

import pytest

from harness.serving import ROOT

FOLDER = ROOT / "examples/sdk"
JAVASCRIPT, JAVA = FOLDER / "javascript", FOLDER / "java"
SECONDS = 180  # with a program that takes three, on a busy machine
HBAR = r"[0-9.]+ (?:ℏ|tinybars)"
ID = r"0\.0\.[0-9]+@[0-9]+\.[0-9]+"
STEPS = [
    rf"Listed: SUCCESS, {HBAR} of fees, {ID}",
    "In the order book for 250 HBAR",
    rf"Withdrawn: SUCCESS, {HBAR} of fees, {ID}",
    "Not in the order book any more",
    rf"Listed again: SUCCESS, {HBAR} of fees, {ID}",
    "In the order book for 199 HBAR",
    rf"Bought: SUCCESS, {HBAR} of fees, 0\.0\.9001@[0-9.]+",
    "It belongs to the buyer now",
    # Of 10,000 HBAR: the price of 199 comes or goes, and fees go, those of queries among them.
    r"Seller has 10197\.49[0-9]* ℏ",
    r"Buyer has 980[01]\.[0-9]* ℏ",
]
needs_javascript = pytest.mark.skipif(
    not shutil.which("node") or not (JAVASCRIPT / "node_modules").exists(),
    reason="needs the JavaScript SDKs (make tools, with npm)",
)


def assert_printed(lines, forms):
    assert len(lines) == len(forms), lines
    for line, form in zip(lines, forms, strict=True):
        assert re.fullmatch(form, line), line


def assert_sold(lines):
    """The last two lines are in any order."""
    assert_printed(lines[:-2] + sorted(lines[-2:], reverse=True), STEPS)
