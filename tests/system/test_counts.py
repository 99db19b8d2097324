"""What is counted outlives the processes that count, until the server, or the watcher, starts again."""

import os
import signal

from harness.postgresql import until
from harness.serving import serve, watcher
from tests.metrics import REQUESTS, read

SEEN = REQUESTS, "GET", "/reference", "200"
ASKED = "marketplace_mirror_node_requests_total", "2xx"


def scraping(service, name="p"):
    token = service.flask("token", "create", name, "--scope", "metrics").stdout.strip()

    def scrape():
        with service.get("/metrics", Authorization=f"Bearer {token}") as response:
            return read(response.read().decode())

    return scrape


def test_workers_that_end_keep_their_counts(tmp_path):
    with serve(tmp_path, "--workers", "2") as service:
        scrape = scraping(service)
        for _ in range(10):
            service.get("/reference").close()
        assert scrape()[SEEN] == 10
        for asked, how in ((11, signal.SIGKILL), (12, signal.SIGTERM)):
            ended = service.workers()
            for worker in ended:
                os.kill(worker, how)
            service.wait_for_other_workers(ended)
            until(service.answers, "nobody answers")
            service.get("/reference").close()
            assert scrape()[SEEN] == asked


def test_the_watchers_counts_are_shown_and_a_start_begins_at_0(tmp_path):
    with serve(tmp_path) as service, watcher(tmp_path, PUBLIC_URL=service.url):
        service.get("/reference").close()
        scrape = scraping(service)
        until(lambda: scrape().get(ASKED, 0) > 2, "the watcher's questions are not shown")
        before = scrape()[ASKED]
        service.stop()
        with serve(tmp_path) as service:
            found = scraping(service, "again")()
        assert SEEN not in found
        assert found[ASKED] >= before
