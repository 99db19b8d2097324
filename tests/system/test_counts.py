"""What is counted outlives the processes that count."""

import os
import signal

import pytest

from tests.api.test_metrics import REQUESTS, read
from tests.postgresql import until
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
            killed = service.workers()
            for worker in killed:
                os.kill(worker, signal.SIGKILL)
            service.wait_for_other_workers(killed)
            until(service.answers, "nobody answers")
            service.get("/reference").close()
            service.flask("sync")
        assert asked() == 13
        assert len([*folder.glob("*.counts")]) <= 8
