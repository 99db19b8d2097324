"""What ``make run`` says where it can not serve."""

import shutil
import socket
import subprocess

import pytest

from tests.serving import BIN, ROOT, environment

pytestmark = pytest.mark.once("the newcomer's first commands")


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("host", ["127.0.0.1", ""])
def test_a_port_that_is_taken(tmp_path, host):
    with socket.create_server((host, 0)) as taken:
        port = taken.getsockname()[1]
        # What is installed is left alone, whatever its age.
        command = ["make", "-s", "-f", ROOT / "Makefile", "-o", ".venv/installed", "run"]
        ended = subprocess.run(
            [*command, f"BIN={BIN}", f"PORT={port}"],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=20,
        )
    assert ended.returncode != 0
    assert ended.stdout == (f"Port {port} is taken: choose another one, make run PORT={port + 1}\n")
    assert list(tmp_path.iterdir()) == []  # nothing was seeded
