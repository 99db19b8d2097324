"""The wallets' libraries, if they are installed."""

import shutil
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
needs_wallets = pytest.mark.skipif(
    not shutil.which("node") or not (FOLDER / "node_modules").exists(),
    reason="needs the wallets' libraries (make tools, with npm)",
)
