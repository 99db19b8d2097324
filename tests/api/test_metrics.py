"""What Prometheus reads: counts of all processes, for who may see them, whatever has become of the rest."""

import os
import re
import shutil
import signal

import pytest

from harness.apps import authorized_client, settings
from harness.cast import KEYS, TOKEN
from harness.engines import move_database
from marketplace import create_app, metrics
from marketplace.services import services
from tests.answers import assert_error
from tests.metrics import REQUESTS, scrape

SEEN = REQUESTS, "GET", "/reference", "200"


@pytest.fixture
def scraper(app):
    return authorized_client(app, "metrics")


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


def test_it_counts_requests_by_token(app, scraper):
    reader, writer = authorized_client(app, "read"), authorized_client(app, "write")
    names = [line.partition("  [")[0] for line in list_tokens(app)]
    for _ in range(2):
        reader.get("/v1/orderbook")  # the second one from the cache
    writer.post("/v1/add", data="{")
    app.test_client().get("/v1/orderbook")
    found = scrape(scraper)
    requests, writes = "marketplace_token_requests_total", "marketplace_token_writes_total"
    assert [found.get((requests, name)) for name in names[-2:]] == [2, 1]
    assert [found.get((writes, name)) for name in names[-2:]] == [None, 1]


def list_tokens(app):
    return app.test_cli_runner().invoke(args=["token", "list"]).output.splitlines()


def test_its_buckets_are_those_of_a_histogram(client, scraper):
    for _ in range(5):
        client.get("/v1/orderbook")
    text = scraper.get("/metrics").text
    bounds = re.findall(r'_bucket\{le="([^"]+)",method="GET",route="/v1/orderbook".*\} (\S+)', text)
    values = [float(value) for _, value in bounds]
    assert bounds[0][0] == "0.001" and bounds[-1][0] == "+Inf"
    assert values == sorted(values) and values[-1] == 5


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
    assert found["marketplace_mirror_node_rate",] == 10_000
    assert "marketplace_last_sync_age_seconds" not in {name for name, *_ in found}


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


def test_it_is_unavailable_while_the_database_is_gone(client, scraper, tmp_path):
    move_database(tmp_path / "marketplace.db", tmp_path / "elsewhere.db")
    assert_error(scraper.get("/metrics"), 503, "its file has vanished")
    (tmp_path / "elsewhere.db").rename(tmp_path / "marketplace.db")
    assert scrape(scraper)["marketplace_listings",] == 0


def test_the_room_is_known_where_the_folder_of_images_was_removed(app, client, scraper):
    shutil.rmtree(services(app).media.folder)
    assert scrape(scraper)["marketplace_disk_free_bytes",] > 0
    assert client.get("/status?ready").status_code == 200
    assert "All is well" not in (shown := app.test_cli_runner().invoke(args=["status"])).output
    assert "Error: No watcher is running" in shown.stderr


def in_a_process(act):
    """Run it in a process of its own, which is killed at the end."""
    pid = os.fork()
    if not pid:
        try:
            act()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where programs share."""
    monkeypatch.setattr(metrics, "_find_root", lambda data_dir: tmp_path / "shared")
    return tmp_path


def test_processes_of_two_programs_count_together(app, folder):
    def count_in(program):
        metrics.share(folder, program)
        for _ in range(2):
            in_a_process(count_once)

    def count_once():
        metrics.count("images", outcome="made")
        metrics.count("writes_refused", 3)
        metrics.observe("GET", "/reference", "200", 0.5)

    def scrape_all():
        metrics.share(folder, metrics.SERVER)
        in_a_process(count_once)
        found = scrape(authorized_client(app, "metrics"))
        assert found["marketplace_images_total", "made"] == 3
        assert found["marketplace_writes_refused_total",] == 9
        assert found[SEEN] == 3
        assert not [name for name, *_ in found if name.endswith("_created")]
        (folder / "scraped").touch()

    in_a_process(lambda: count_in(metrics.WATCHER))
    in_a_process(lambda: count_in(metrics.SERVER))  # a start forgets what it counted
    in_a_process(scrape_all)
    assert (folder / "scraped").exists()


def test_who_cannot_share_counts_alone(app, folder, caplog):
    """As where another user made the folder."""
    (folder / "shared").touch()

    def count_alone():
        metrics.share(folder, metrics.SERVER)
        metrics.count("images", outcome="made")
        assert scrape(authorized_client(app, "metrics"))["marketplace_images_total", "made"] == 1
        (folder / "scraped").touch()

    in_a_process(count_alone)
    assert (folder / "scraped").exists()


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
