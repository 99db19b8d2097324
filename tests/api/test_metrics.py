"""What Prometheus reads: counts of all processes, for who may see them, whatever has become of the rest."""

import json
import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlite_utils.utils import sqlite3

from harness.apps import authorized_client, settings
from harness.cast import KEYS, TOKEN
from harness.engines import move_database
from harness.network import PATIENCE_SECONDS
from harness.postgresql import DATABASE, new_server
from marketplace import counts, create_app
from marketplace.api import metrics
from marketplace.counts import Counts
from marketplace.counts.table import METRICS
from marketplace.services import services
from tests.answers import assert_error
from tests.engines import both_engines

REQUESTS = "marketplace_request_duration_seconds_count"
SEEN = REQUESTS, "GET", "/reference", "200"
COUNTED = "request_duration_seconds", "GET", "/reference", "200"


@pytest.fixture
def scraper(app):
    return authorized_client(app, "metrics")


def read(text):
    """Each sample's value, by its name and its labels in order."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scrape(scraper):
    answer = scraper.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.content_type == "text/plain; version=0.0.4; charset=utf-8"
    return read(answer.text)


@both_engines
def test_it_counts_requests_by_route_and_status(client, scraper, nft):
    token, serial_no = nft
    for _ in range(3):
        assert client.get(f"/v1/nft/{token}/{serial_no}").status_code == 200
    client.get(f"/v1/nft/{token}/8")
    client.get("/nowhere/1")
    client.get("/nowhere/2")
    client.head("/v1/orderbook")
    client.open("/v1/orderbook", method="FROBNICATE")
    client.post("/v1/add", data="{")
    found = scrape(scraper)
    route = "/v1/nft/<tokenId>/<serialNo>"
    assert found[REQUESTS, "GET", route, "200"] == 3
    assert found[REQUESTS, "GET", route, "404"] == 1
    assert found[REQUESTS, "GET", "none", "404"] == 2
    assert found[REQUESTS, "HEAD", "/v1/orderbook", "200"] == 1
    assert found[REQUESTS, "other", "none", "405"] == 1
    assert found[REQUESTS, "POST", "/v1/add", "415"] == 1
    assert found["marketplace_response_cache_requests_total", "hit"] == 2


def test_its_buckets_are_those_of_a_histogram(client, scraper):
    for _ in range(5):
        client.get("/v1/orderbook")
    text = scraper.get("/metrics").text
    bounds = re.findall(r'_bucket\{le="([^"]+)",method="GET",route="/v1/orderbook".*\} (\S+)', text)
    values = [float(value) for _, value in bounds]
    assert bounds[0][0] == "0.001" and bounds[-1][0] == "+Inf"
    assert values == sorted(values) and values[-1] == 5


@both_engines
def test_it_shows_what_the_database_holds(client, scraper, lister):
    for serial_no in (7, 8):
        lister((TOKEN, serial_no))
    assert client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": 5}).status_code == 200
    found = scrape(scraper)
    assert found["marketplace_listings",] == 2
    assert found["marketplace_nfts_incomplete",] == 0
    assert found["marketplace_preparations_open",] >= 1
    assert found["marketplace_database_bytes",] > 10_000
    assert found["marketplace_mirror_node_requests_total", "2xx"] > 2
    assert found["marketplace_mirror_node_rate",] == 40
    assert "marketplace_last_sync_age_seconds" not in {name for name, *_ in found}


@both_engines
def test_it_shows_how_old_the_last_sync_is(app, scraper):
    assert app.test_cli_runner().invoke(args=["sync"]).exit_code == 0
    assert 0 <= scrape(scraper)["marketplace_last_sync_age_seconds",] < 600


def test_it_counts_what_the_mirror_node_does_wrong(app, client, scraper, mirror):
    mirror.fail_first(429, 503)
    assert client.post("/v1/add", json=KEYS).status_code == 200
    mirror.fail_first(200)
    assert client.post("/v1/add", json=KEYS | {"serialNo": 8}).status_code == 502
    found = scrape(scraper)
    assert found["marketplace_mirror_node_requests_total", "429"] == 1
    assert found["marketplace_mirror_node_requests_total", "5xx"] == 1
    assert found["marketplace_mirror_node_retries_total",] == 2
    assert found["marketplace_mirror_node_invalid_answers_total",] == 1


def test_a_host_decides_who_may_see_it(tmp_path):
    asked = []
    app = create_app(
        authenticate=lambda request, scope: not asked.append(scope), **settings(tmp_path)
    )
    assert app.test_client().get("/metrics").status_code == 200
    assert asked == ["metrics"]


def test_every_metric_is_documented():
    with open("docs/monitoring.md") as file:
        text = file.read()
    for name, metric in METRICS.items():
        shown = f"`{name}{'_total' if metric.kind == 'counter' else ''}`"
        assert shown in text, shown
    for name in (*metrics.HELP, "info"):
        assert f"`{name}`" in text, name


def test_it_is_unavailable_while_the_database_is_gone(client, scraper, tmp_path):
    move_database(tmp_path / "marketplace.db", tmp_path / "elsewhere.db")
    assert_error(scraper.get("/metrics"), 503, "its file has vanished")
    (tmp_path / "elsewhere.db").rename(tmp_path / "marketplace.db")
    assert scrape(scraper)["marketplace_listings",] == 0


def test_it_is_unavailable_while_the_server_says_nothing(tmp_path):
    with new_server() as server:
        server.execute(f"CREATE DATABASE silent OWNER market {DATABASE}")
        app = create_app(**settings(tmp_path) | {"DATABASE_URL": server.url("silent")})
        scraper = authorized_client(app, "metrics")
        assert scrape(scraper)["marketplace_listings",] == 0
        server.freeze()
        try:
            started = time.monotonic()
            assert_error(scraper.get("/metrics"), 503, "can not be reached")
            assert time.monotonic() - started < PATIENCE_SECONDS
            assert scraper.get("/status?alive").status_code == 200
            assert_error(scraper.get("/status?ready"), 503, "can not be reached")
        finally:
            server.thaw()
        services(app).database.close()


def test_counts_of_another_process_are_shown(app, scraper):
    with app.app_context():
        counts.count("images", outcome="made")  # the parent's: a child does not count it again
        pid = os.fork()
        if not pid:
            try:
                counts.count("images", outcome="made")
                time.sleep(2 * counts.WRITTEN_AFTER_SECONDS)
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)
    assert scrape(scraper)["marketplace_images_total", "made"] == 2


def test_counts_that_can_not_be_written_are_written_later(tmp_path, caplog):
    app = create_app(**settings(tmp_path))
    file = tmp_path / "machine.db"
    file.unlink()
    file.mkdir()
    scraper = authorized_client(app, "metrics")
    for _ in range(2):
        app.test_client().get("/reference")
        assert SEEN in scrape(scraper)
    assert scrape(scraper)[SEEN] == 2
    [record] = [record for record in caplog.records if "machine.db" in record.getMessage()]
    assert "each process counts for itself" in record.getMessage()
    file.rmdir()
    assert scrape(scraper)[SEEN] == 2
    assert sum(Counts(tmp_path).read()[COUNTED][:-1]) == 2


def test_processes_add_up_what_they_count(tmp_path):
    def keep_counting(table):
        for _ in range(100):
            table.add(("writes_refused",))
            table.write()

    tables = [Counts(tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        [*pool.map(keep_counting, tables)]
    assert Counts(tmp_path).read() == {("writes_refused",): [400]}


def test_a_damaged_file_harms_nobody(client, scraper, tmp_path):
    (tmp_path / "machine.db").write_bytes(os.urandom(1000))
    client.get("/reference")
    assert scrape(scraper)[SEEN] == 1


@pytest.mark.parametrize(
    ("key", "length"),
    [
        (["unknown"], 1),
        (["writes_refused", "label"], 1),
        (["images"], 1),
        (["writes_refused"], 2),
        ([*COUNTED], 14),
    ],
)
def test_counts_of_another_version_are_left_out(tmp_path, key, length):
    table = Counts(tmp_path)
    table.observe(COUNTED, 0.5)
    table.add(("writes_refused",), 3)
    before = table.read()
    with closing(sqlite3.connect(tmp_path / "machine.db", isolation_level=None)) as other:
        other.execute("INSERT INTO metric VALUES (?, ?, 0, 1)", (json.dumps(key), length))
    assert table.read() == before
    table.add(("writes_refused",))
    assert table.read()["writes_refused",] == [4]


def test_every_error_has_the_id_of_its_request(client, caplog):
    ids = [
        client.get(path).headers["X-Request-ID"] for path in ("/nowhere", "/v1/orderbook?limit=x")
    ]
    assert len({*ids}) == 2
    assert "X-Request-ID" not in client.get("/v1/orderbook").headers


@pytest.mark.parametrize(
    ("sent", "proxies", "believed"),
    [
        ("a.B-c_1", 1, True),
        ("a.B-c_1", 0, False),
        ("x" * 65, 1, False),
        ("", 1, False),
        ("a b", 1, False),
        ("a\u00e9", 1, False),
    ],
)
def test_only_a_trusted_proxy_may_name_a_request(tmp_path, sent, proxies, believed):
    app = create_app(**settings(tmp_path) | {"TRUSTED_PROXIES": proxies})
    answer = app.test_client().get("/nowhere", headers={"X-Request-ID": sent})
    assert (answer.headers["X-Request-ID"] == sent) == believed
