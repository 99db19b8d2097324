"""gunicorn as we configure it, over real sockets: silent clients, what it logs, what it says at start."""

import json
import os
import re
import signal
import socket
import time
from contextlib import ExitStack
from urllib.error import HTTPError

import pytest

from harness.network import PATIENCE_SECONDS, read_all
from harness.postgresql import until
from harness.serving import CONFIGURATION, HUNDRED_NFTS, serve
from marketplace import create_app
from marketplace.api.reference import ASSETS, SCRIPT_NAME
from marketplace.serving import startup
from marketplace.settings import load
from tests import metrics
from tests.engines import both_engines

PATIENCE = 1
THREADS = 2
# Far above what it takes until silent clients were dropped, and far below what they would wait themselves.
SOON = 30

IMPATIENT = f"""
exec(open({str(CONFIGURATION)!r}).read())
from gunicorn.workers import gthread
from marketplace.serving import gunicorn_config

workers, threads = 1, {THREADS}
gunicorn_config.SILENT_CLIENT_SECONDS = {PATIENCE}
# So long gunicorn itself waits for the rest of a body that the application did not read.
gthread.DEFAULT_WORKER_DATA_TIMEOUT = {PATIENCE}
"""


@pytest.fixture(scope="module")
def impatient(tmp_path_factory):
    """The service with two threads, and little patience."""
    folder = tmp_path_factory.mktemp("server")
    configuration = folder / "impatient.conf.py"
    configuration.write_text(IMPATIENT)
    path = str(folder / "http.sock")
    with serve(folder, "--bind", f"unix:{path}", "-c", configuration) as service:
        service.silent_clients, service.path = 0, path
        yield service
    assert "Traceback" not in service.output
    dropped = service.output.count("Dropped a client that fell silent")
    assert dropped <= service.silent_clients, service.output


def fall_silent(service, *said, times=THREADS + 1, family=socket.AF_INET, dropped=True, **options):
    """Clients, more than there are threads, say something and then nothing more. Another one is answered."""
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.socket(family)) for _ in range(times)]
        for client in clients:
            client.settimeout(2 * SOON)
            for option, value in options.items():
                client.setsockopt(socket.SOL_SOCKET, getattr(socket, option), value)
            address = service.path if family == socket.AF_UNIX else ("127.0.0.1", service.port)
            client.connect(address)
            client.sendall("\r\n".join(said).encode())
        service.silent_clients += times if any(said) else 0
        time.sleep(0.5)  # until they hold what threads they can
        started = time.monotonic()
        assert service.answers()
        assert time.monotonic() - started < SOON
        for client in clients if dropped else []:
            read_all(client)


def test_who_says_nothing_takes_no_thread(impatient):
    # In turns on the threads, they would keep them for longer than soon.
    fall_silent(impatient, "", times=2 * SOON * THREADS // PATIENCE, dropped=False)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_UNIX])
def test_half_a_request_is_dropped(impatient, family):
    fall_silent(impatient, "GET /status HTTP/1.1", "Host: x", "", family=family)


@pytest.mark.parametrize("known", [True, False])
def test_half_a_body_is_dropped(impatient, known):
    token = impatient.token if known else "unknown"
    head = ["POST /v1/add HTTP/1.1", "Host: x", f"Authorization: Bearer {token}"]
    head += ["Content-Type: application/json", "Content-Length: 100", "", '{"accountId": ']
    fall_silent(impatient, *head)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_UNIX])
def test_who_does_not_read_is_dropped(impatient, family):
    # Ten times 5 MB is more than the kernel keeps for a client.
    request = (
        f"GET /reference/assets/{ASSETS.digest}/{SCRIPT_NAME} HTTP/1.1\r\nHost: x\r\n\r\n" * 10
    )
    fall_silent(impatient, request, family=family, dropped=False, SO_RCVBUF=4096)


HOST = """
from flask import Flask
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from marketplace import create_app

shop = Flask(__name__)
shop.get("/status")(lambda: "The shop")
markets = {f"/{path}": create_app(DATA_DIR=path, authenticate=lambda *_: True) for path in PATHS}
shop.wsgi_app = DispatcherMiddleware(shop.wsgi_app, markets)
"""


@pytest.mark.parametrize("paths", [[], ["art"], ["art", "games"]])
def test_a_host_is_served_whatever_it_mounts(tmp_path, paths):
    """gunicorn failed at the host's missing setting DATA_DIR; without our configuration, it fell silent."""
    (tmp_path / "shop.py").write_text(HOST.replace("PATHS", repr(paths)))
    with serve(tmp_path, "--workers", "2", "shop:shop") as service:
        service.silent_clients = 0
        fall_silent(service, "", times=50, dropped=False)
        for path in paths * 20:
            service.get(f"/{path}/v1/orderbook").close()
        if len(paths) == 1:  # the workers count together
            until(lambda: count_reads(service) == 20, "not all reads are counted")
            assert {count_reads(service) for _ in range(20)} == {20}
    assert "Traceback" not in service.output


def count_reads(service):
    with service.get("/art/metrics") as response:
        return metrics.read(response.read().decode())[
            metrics.REQUESTS, "GET", "/v1/orderbook", "200"
        ]


@both_engines
def test_a_request_that_runs_is_finished_before_it_stops(tmp_path):
    with serve(tmp_path, "--workers", "1") as service:
        body = b'{"accountId": "0.0.1001", "tokenId": "0.0.7001", "serialNo": 7}'
        head = f"POST /v1/add HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.token}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        head += "Expect: 100-continue\r\n\r\n"
        with socket.create_connection(("127.0.0.1", service.port), timeout=2 * SOON) as client:
            client.sendall(head.encode() + body[:10])
            assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"  # it runs
            service.process.terminate()
            time.sleep(0.5)
            client.sendall(body[10:])
            answer = client.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 200 OK")
        assert answer.endswith(b'{"result":"OK"}\n')
        service.stop()
    assert service.process.returncode == 0


def test_ctrl_c_is_the_first_processes(tmp_path):
    """A terminal sends it to the workers, too; one that gets SIGQUIT besides may wait for itself."""
    with serve(tmp_path, "--workers", "1") as service:
        [worker] = service.workers()
        os.kill(worker, signal.SIGINT)
        time.sleep(0.5)
        assert service.workers() == [worker]
        service.process.send_signal(signal.SIGINT)
        service.process.wait(PATIENCE_SECONDS)
    assert "SIGKILL" not in service.output
    assert "/status" not in service.output  # the log is off


def test_a_long_head_is_refused(impatient):
    for request in ({"path": f"/status?{'x' * 5000}"}, {"path": "/status", "X": "x" * 9000}):
        with pytest.raises(HTTPError) as refused:
            impatient.get(**request)
        assert 400 <= refused.value.code < 500
        refused.value.close()


def test_a_hundred_nfts_of_mainnets_length_can_be_asked_for(impatient):
    assert impatient.call(f"/v1/nfts?{HUNDRED_NFTS}") == [None] * 100


LOG = "--access-logfile", "-"


def test_the_access_log_names_token_and_request_and_keeps_secrets(tmp_path):
    # One thread writes its lines in the order of its answers.
    alone = "--workers", "1", "--threads", "1"
    with serve(tmp_path, *alone, *LOG, TRUSTED_PROXIES=1) as service:
        token = service.flask("token", "create", "shop").stdout.strip()
        headers = {"Authorization": f"Bearer {token}", "Cookie": "sh=h", "X-Request-ID": "proxy-7"}
        for _ in range(3):  # the last of them are kept
            service.get("/v1/orderbook?limit=1", **headers).close()
        with pytest.raises(HTTPError) as refused:
            service.get("/v1/nft/0.0.1/1", Authorization=f"Bearer {token}")
        refused.value.close()
    lines = [line for line in service.output.splitlines() if "/v1/" in line and line[:1] == "["]
    pattern = r'\[.+\] 127.0.0.1 "GET /v1/orderbook HTTP/1.1" 200 \d+ B \d+ ms proxy-7 shop'
    assert all(re.fullmatch(pattern, line) for line in lines[:3]), lines
    assert lines[3].endswith(f" {refused.value.headers['X-Request-ID']} shop")
    assert token not in service.output


def test_a_log_without_room_breaks_no_answer(tmp_path):
    with (
        open("/dev/full", "w") as full,
        serve(tmp_path, "--workers", "1", *LOG, output=full) as service,
    ):
        for _ in range(5):
            with service.get("/reference") as response:
                assert response.status == 200
    assert service.process.returncode == 0


def test_no_header_of_a_stranger_is_believed(tmp_path):
    """gunicorn by itself would believe whoever connects from 127.0.0.1, or over a Unix socket."""
    path = tmp_path / "http.sock"
    lines = ["GET /openapi.json HTTP/1.1", "Host: x", "Connection: close", "SCRIPT_NAME: /evil"]
    lines += ["X-Forwarded-Proto: https", "X-Forwarded-Ssl: off", "X-Forwarded-Prefix: /evil"]
    said = "\r\n".join([*lines, "X-Forwarded-For: 203.0.113.7", "", ""]).encode()
    listening = "--workers", "1", "--bind", f"unix:{path}"
    with serve(tmp_path, *listening, *LOG) as service:
        for family, address in (
            (socket.AF_UNIX, str(path)),
            (socket.AF_INET, ("127.0.0.1", service.port)),
        ):
            with socket.socket(family) as client:
                client.settimeout(SOON)
                client.connect(address)
                client.sendall(said)
                answer = read_all(client)
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and b"evil" not in answer
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["servers"] == [{"url": service.url}]
    assert "203.0.113.7" not in service.output
    assert f"on 127.0.0.1:{service.port}, unix:{path}, data" in service.output
    line = r'^\[.+\] 127.0.0.1 "GET /openapi.json HTTP/1.1" 200 \d+ B \d+ ms - -$'
    assert re.search(line, service.output, re.M), service.output


@both_engines
def test_it_says_what_it_serves(tmp_path, engine):
    settings = {"NETWORK": "mainnet", "ACCOUNT_ID": "0.0.4321", "CORS_ORIGINS": "*"}
    with serve(tmp_path, "--workers", "2", **settings) as service:
        pass
    assert service.output.count("mainnet, account 0.0.4321") == 1
    assert f"Serving {service.url}/v1 on 127.0.0.1:{service.port}" in service.output
    assert "Warning: MARKETPLACE_CORS_ORIGINS is *" in service.output
    share = " (this machine's MARKETPLACE_MIRROR_NODE_RATE)" if engine == "postgresql" else ""
    rate = (
        f"Mirror node https://mainnet.mirrornode.hedera.com, at most 40 requests a second{share}\n"
    )
    assert rate in service.output
    is_warned = "Warning: MARKETPLACE_MEDIA_URL is file:" in service.output
    assert is_warned == (engine == "postgresql")


REAL = {"NETWORK": "mainnet", "ACCOUNT_ID": "0.0.4321", "PUBLIC_URL": "https://nft.example"}


@pytest.mark.parametrize(
    ("settings", "address", "warned"),
    [
        ({}, ("127.0.0.1", 8000), []),
        ({}, "/run/market.sock", []),
        ({}, ("127.0.0.1", 8001), ["Set MARKETPLACE_PUBLIC_URL to http://127.0.0.1:8001"]),
        ({"PUBLIC_URL": "http://localhost:8080"}, ("127.0.0.1", 8001), []),
        ({}, ("0.0.0.0", 8000), ["the sandbox listens on 0.0.0.0:8000"]),
        ({}, ("::", 8000, 0, 0), ["the sandbox listens on [::]:8000"]),
        (
            REAL | {"CORS_ORIGINS": "*"},
            "/run/market.sock",
            ["TRUSTED_PROXIES", "CORS_ORIGINS is *"],
        ),
        (REAL, ("0.0.0.0", 8000), ["MARKETPLACE_TRUSTED_PROXIES is 0"]),
        (REAL | {"TRUSTED_PROXIES": "1"}, ("127.0.0.1", 8000), []),
        (REAL | {"TRUSTED_PROXIES": "1"}, ("0.0.0.0", 8000), ["MARKETPLACE_TRUSTED_PROXIES is 1"]),
        (REAL | {"PUBLIC_URL": "http://nft.example"}, ("127.0.0.1", 8000), ["unencrypted"]),
        (REAL | {"PUBLIC_URL": "http://localhost:8000"}, ("127.0.0.1", 8000), ["only this"]),
    ],
)
def test_it_warns_about_what_is_unsafe(settings, address, warned):
    warnings = list(startup.warnings(load(settings, {}), [address]))
    assert len(warnings) == len(warned), warnings
    for words, warning in zip(warned, warnings, strict=True):
        assert words in warning


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "Signing purchases: 0.0.4321 pays at most 20 HBAR an hour in fees"),
        ({"SALE_FEE_BUDGET": "0"}, "Signing no purchases: MARKETPLACE_SALE_FEE_BUDGET is 0"),
        ({"sign": None}, None),
        ({"NETWORK": "sandbox", "sign": None}, None),
    ],
)
def test_it_says_what_signing_may_cost(tmp_path, settings, said):
    real = {"NETWORK": "testnet", "ACCOUNT_ID": "0.0.4321", "sign": lambda body: (b"", b"")}
    app = create_app(**real | settings, DATA_DIR=str(tmp_path))
    lines = startup.describe(app, [("127.0.0.1", 8000)]).splitlines()
    assert [line for line in lines if line.startswith("Signing")] == [said] * bool(said)


@pytest.mark.parametrize(
    ("media", "warned"), [("file:media", ["MARKETPLACE_MEDIA_URL is file:media"]), ("s3://nft", [])]
)
def test_it_warns_of_images_that_other_machines_do_not_have(media, warned):
    loaded = load({"MEDIA_URL": media}, {})
    assert list(startup.warnings(loaded, [("127.0.0.1", 8000)])) == []
    warnings = startup.warnings(loaded, [("127.0.0.1", 8000)], is_shared=True)
    assert [warning.partition(",")[0] for warning in warnings] == warned
