"""The way back to 0.4.0 that docs/database.md describes, with both versions."""

import re
import subprocess
import sys

import pytest

from harness.serving import BIN, ROOT, environment, run_program
from tests.store.released import TESTNET, put

COMMIT = "de35050147dae08475b630317c7874d89c83b8eb"  # the last one of 0.4.0
PAGE = (ROOT / "docs/database.md").read_text()


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """A clone of 0.4.0 with an environment of its own; returns its folder."""
    folder = tmp_path_factory.mktemp("old") / "0.4.0"
    folder.mkdir()
    archive = subprocess.run(["git", "archive", COMMIT], cwd=ROOT, capture_output=True)
    if archive.returncode:
        pytest.skip("needs the history of git")
    subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)
    run_program(sys.executable, "-m", "venv", "--without-pip", folder / ".venv", check=True)
    options = ["--quiet", "--python", folder / ".venv/bin/python"]
    packages = ["-r", folder / "requirements.txt", "-c", folder / "constraints.txt"]
    run_program(BIN / "uv", "pip", "install", *options, *packages, check=True)
    return folder


def test_the_way_back_is_as_the_page_says(old, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    put(data, **TESTNET)
    own = environment(DATA_DIR=data, **TESTNET) | {"PYTHONPATH": ""}
    del own["PROMETHEUS_MULTIPROC_DIR"]  # 0.4.0 has a folder of its own

    def call(program, folder, *words):
        return run_program(program, "--app", "wsgi", *words, cwd=folder, env=own)

    def new(*words):
        return call(BIN / "flask", ROOT, *words)

    def earlier(*words):
        return call(old / ".venv/bin/flask", old, *words)

    assert earlier("token", "create", "kept").returncode == 0
    upgraded = new("upgrade")
    assert upgraded.returncode == 0, upgraded.stderr
    backup = re.search(r"old content is in (\S+)", upgraded.stdout)[1]
    assert new("token", "create", "later").returncode == 0

    assert "is of a newer version" in earlier("restore", backup).stderr  # without the missing step
    [move] = re.findall(r"mkdir .*marketplace\.db.*", PAGE)
    move = move.partition("   ")[0].replace("instance", str(data))
    run_program("sh", "-c", move, check=True)
    restored = earlier("restore", backup)
    assert restored.returncode == 0, restored.stderr
    assert "kept" in earlier("token", "list").stdout
    assert "later" not in earlier("token", "list").stdout
    assert new("upgrade").returncode == 0
    assert "kept" in new("token", "list").stdout
