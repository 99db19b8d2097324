"""What is counted outlives the processes that count."""

import os
import signal
import subprocess
import time

import pytest

from tests.api.test_metrics import REQUESTS, read
from tests.network import PATIENCE_SECONDS
from tests.serving import serve

pytestmark = pytest.mark.once("the counts are no database's")


def test_processes_that_end_keep_their_counts_and_leave_no_files(tmp_path):
    folder = tmp_path / "instance/metrics"
    with serve(tmp_path, "--workers", "2") as service:
        token = service.flask("token", "create", "p", "--scope", "metrics").stdout.strip()

        def found():
            with service.get("/metrics", Authorization=f"Bearer {token}") as response:
                return read(response.read().decode())

        def asked():
            return found()[REQUESTS, "GET", "/reference", "200"]

        for _ in range(10):
            service.get("/reference").close()
        assert asked() == 10
        for _ in range(3):
            for worker in workers(service):
                os.kill(worker, signal.SIGKILL)
            started = time.monotonic()
            while not service.answers():
                assert time.monotonic() - started < PATIENCE_SECONDS
                time.sleep(0.1)
            service.get("/reference").close()
            service.flask("sync")
        assert asked() == 13
        assert len([*folder.glob("*.counts")]) <= 8


def workers(service):
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(service.process.pid)], capture_output=True, text=True
    )
    return map(int, listed.stdout.split())
