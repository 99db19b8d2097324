"""What Prometheus reads: counts of all processes, for who may see them, whatever has become of the rest."""

import os
import re
import struct
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from marketplace import counts, create_app
from marketplace.api import metrics
from marketplace.counts.folder import Folder
from marketplace.counts.table import METRICS
from marketplace.services import services
from marketplace.store import access_tokens
from tests.conftest import ALICE, TOKEN, assert_error, authorized_client, settings
from tests.engines import move_database
from tests.network import PATIENCE_SECONDS
from tests.postgresql import DATABASE, new_server

REQUESTS = "marketplace_request_duration_seconds_count"
SEEN = REQUESTS, "GET", "/reference", "200"


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
    assert found["marketplace_kept_answers_asked_total", "hit"] == 2
    assert found["marketplace_kept_answers",] >= 2
    assert found["marketplace_kept_answers_bytes",] > 1000


@pytest.mark.once("the counts are no database's")
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
    keys = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7}
    assert client.post("/v1/list/extwallet", json=keys | {"listingPrice": 5}).status_code == 200
    found = scrape(scraper)
    assert found["marketplace_listings",] == 2
    assert found["marketplace_nfts_incomplete",] == 0
    assert found["marketplace_preparations_open",] >= 1
    assert found["marketplace_database_bytes",] > 10_000
    assert found["marketplace_mirror_node_requests_total", "2xx"] > 2
    assert found["marketplace_mirror_node_rate",] == 40
    assert "marketplace_last_sync_age_seconds" not in {name for name, *_ in found}


def test_it_shows_how_old_the_last_sync_is(app, scraper):
    assert app.test_cli_runner().invoke(args=["sync"]).exit_code == 0
    assert 0 <= scrape(scraper)["marketplace_last_sync_age_seconds",] < 600


@pytest.mark.once("the counts are no database's")
def test_it_counts_what_the_mirror_node_does_wrong(app, client, scraper, mirror):
    mirror.fail_first(429, 503)
    keys = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7}
    assert client.post("/v1/add", json=keys).status_code == 200
    mirror.fail_first(200)
    assert client.post("/v1/add", json=keys | {"serialNo": 8}).status_code == 502
    found = scrape(scraper)
    assert found["marketplace_mirror_node_requests_total", "429"] == 1
    assert found["marketplace_mirror_node_requests_total", "5xx"] == 1
    assert found["marketplace_mirror_node_retries_total",] == 2
    assert found["marketplace_mirror_node_nonsense_total",] == 1


@pytest.mark.once("the counts are no database's")
@pytest.mark.parametrize("scopes", [("read", "write"), ("read",)])
def test_it_asks_for_the_scope(app, scopes):
    assert_error(authorized_client(app, *scopes).get("/metrics"), 403, "metrics")


@pytest.mark.once("the counts are no database's")
def test_it_asks_for_a_token(app):
    assert_error(app.test_client().get("/metrics"), 401)
    headers = {"Authorization": "Bearer nftm_unknown"}
    assert_error(app.test_client().get("/metrics", headers=headers), 401)


@pytest.mark.once("the counts are no database's")
def test_its_token_is_for_nothing_else(scraper):
    assert_error(scraper.get("/v1/orderbook"), 403, "read")
    assert_error(scraper.post("/v1/add", json={}), 403, "write")


@pytest.mark.once("the counts are no database's")
def test_a_host_decides_who_may_see_it(tmp_path):
    asked = []
    app = create_app(
        authenticate=lambda request, scope: not asked.append(scope), **settings(tmp_path)
    )
    assert app.test_client().get("/metrics").status_code == 200
    assert asked == ["metrics"]


@pytest.mark.once("the counts are no database's")
def test_every_metric_is_documented():
    with open("docs/monitoring.md") as file:
        text = file.read()
    for name, metric in METRICS.items():
        shown = f"`{name}{'_total' if metric.kind == 'counter' else ''}`"
        assert shown in text, shown
    for name in (*metrics.HELP, "info"):
        assert f"`{name}`" in text, name


@pytest.mark.once("its file")
def test_it_is_unavailable_while_the_database_is_gone(client, scraper, tmp_path):
    move_database(tmp_path / "marketplace.db", tmp_path / "elsewhere.db")
    assert_error(scraper.get("/metrics"), 503, "its file has vanished")
    (tmp_path / "elsewhere.db").rename(tmp_path / "marketplace.db")
    assert scrape(scraper)["marketplace_listings",] == 0


@pytest.mark.once("a server of its own")
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


def authorized(token, app):
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    return client


def test_a_revoked_token_sees_nothing(app):
    with app.app_context():
        token = access_tokens.create("prometheus", ("metrics",), seconds=None)
    client = authorized(token, app)
    assert client.get("/metrics").status_code == 200
    assert app.test_cli_runner().invoke(args=["token", "revoke", "prometheus"]).exit_code == 0
    assert_error(client.get("/metrics"), 401, "revoked")


@pytest.mark.once("the counts are no database's")
def test_what_another_process_counts_is_seen(app, scraper, tmp_path):
    pid = os.fork()
    if not pid:
        try:
            with app.app_context():
                counts.count("images", outcome="made")
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    with app.app_context():
        counts.count("images", outcome="made")
        counts.count("writes_under_way", 3)
        counts.count("writes_under_way", -1)
    found = scrape(scraper)
    assert found["marketplace_images_total", "made"] == 2
    assert found["marketplace_writes_under_way",] == 2


@pytest.mark.once("its disk")
def test_where_the_folder_can_not_be_written_the_process_counts_for_itself(tmp_path, caplog):
    (tmp_path / "metrics").write_text("")
    app = create_app(**settings(tmp_path))
    scraper = authorized_client(app, "metrics")
    for _ in range(2):
        app.test_client().get("/reference")
    assert scrape(scraper)[REQUESTS, "GET", "/reference", "200"] == 2
    [record] = [record for record in caplog.records if "/metrics" in record.getMessage()]
    assert "can not be written" in record.getMessage()


@pytest.mark.once("its disk")
def test_a_process_goes_on_in_the_file_of_a_dead_one(tmp_path):
    first = Folder(tmp_path).begin()
    for key, number in ((("writes_refused",), 3), (("writes_under_way",), 2)):
        first.numbers[first.find(key)] = number
    other = Folder(tmp_path).begin()
    other.numbers[other.find(("writes_refused",))] = 1
    assert Folder(tmp_path).read() == ({("writes_refused",): [4], ("writes_under_way",): [2]}, 2)
    del first
    assert Folder(tmp_path).read() == ({("writes_refused",): [4]}, 1)
    second = Folder(tmp_path).begin()
    second.numbers[second.find(("writes_refused",))] += 1
    second.numbers[second.find(("purchases", "signed"))] += 1
    total, living = Folder(tmp_path).read()
    assert total == {
        ("writes_refused",): [5],
        ("writes_under_way",): [0],
        ("purchases", "signed"): [1],
    }
    assert living == len([*tmp_path.iterdir()]) == 2


@pytest.mark.once("its disk")
def test_a_spoilt_file_of_a_dead_process_harms_nobody(app, client, scraper, tmp_path):
    files = tmp_path / "metrics"
    files.mkdir()
    (files / "1-1.counts").write_bytes(b"")
    (files / "1-2.counts").write_bytes(b"\xff" * 5000)
    (files / "1-3.counts").write_bytes((3000).to_bytes(8, "little") + b"\x08\0\0\0" * 1000)
    strange = struct.pack("qii", 8 + 16, 8, 1) + b"[[1], 2]" + bytes(8)
    (files / "1-4.counts").write_bytes(strange)
    client.get("/v1/orderbook")
    assert scrape(scraper)[REQUESTS, "GET", "/v1/orderbook", "200"] == 1
    assert len([*files.glob("*.counts")]) == 4  # the process goes on in one of them


@pytest.mark.once("the counts are no database's")
def test_more_routes_than_there_is_room_for_break_nothing(app, scraper):
    table = services(app).counts
    for number in range(3000):
        table.observe(("request_duration_seconds", "GET", f"/{number}", "200"), 0.1)
    assert scrape(scraper)["marketplace_listings",] == 0


@pytest.mark.once("the counts are no database's")
def test_every_error_has_the_id_of_its_request(client, caplog):
    ids = [
        client.get(path).headers["X-Request-ID"] for path in ("/nowhere", "/v1/orderbook?limit=x")
    ]
    assert len({*ids}) == 2
    assert "X-Request-ID" not in client.get("/v1/orderbook").headers


@pytest.mark.once("the counts are no database's")
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
