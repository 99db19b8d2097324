"""What is counted outlives the processes that count."""

import os
import signal
import time

from harness.postgresql import until
from harness.serving import serve
from marketplace import counts
from tests.api.test_metrics import REQUESTS, read


def test_processes_that_end_keep_their_counts(tmp_path):
    with serve(tmp_path, "--workers", "2") as service:
        token = service.flask("token", "create", "p", "--scope", "metrics").stdout.strip()

        def has_counted(number):
            with service.get("/metrics", Authorization=f"Bearer {token}") as response:
                found = read(response.read().decode())
            return found.get((REQUESTS, "GET", "/reference", "200"), 0) == number

        for _ in range(10):
            service.get("/reference").close()
        until(lambda: has_counted(10), "the workers do not add up what they count")
        for asked in (11, 12):
            killed = service.workers()
            for worker in killed:
                os.kill(worker, signal.SIGKILL)
            service.wait_for_other_workers(killed)
            until(service.answers, "nobody answers")
            service.get("/reference").close()
            service.flask("sync")
            until(lambda asked=asked: has_counted(asked), "what was counted is lost")
        [worker, _] = service.workers()
        service.get("/reference").close()
        os.kill(worker, signal.SIGTERM)
        time.sleep(2 * counts.WRITTEN_AFTER_SECONDS)
        until(lambda: has_counted(13), "a worker that is stopped loses what it counted")
