"""deploy/ works: nginx in front of the real service, and units that systemd understands."""

import gzip
import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from urllib.error import HTTPError

import pytest
import yaml

from marketplace import settings as config
from tests.conftest import ALICE, TOKEN
from tests.serving import PATIENCE_SECONDS, ROOT, reserved_port, serve

pytestmark = pytest.mark.once("nginx and systemd see no engine")

DEPLOY = ROOT / "deploy"
README = (DEPLOY / "README.md").read_text()
UNITS = [*sorted(path.name for path in DEPLOY.glob("*.service")), "nft-marketplace-backup.timer"]
NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


class Site:
    """nginx with our site, on a port of its own."""

    def __init__(self, folder, service, port, site=None):
        self.folder, self.service, self.port = folder, service, port
        site = site or (DEPLOY / "nginx.conf").read_text()
        for ours, here in {
            "listen 80;": f"listen 127.0.0.1:{self.port};",
            "    listen [::]:80;\n": "",
            "127.0.0.1:8000": f"127.0.0.1:{service.port}",
            "root /var/lib/nft-marketplace": f"root {service.folder}/instance",
        }.items():
            assert site.count(ours) == 1, ours
            site = site.replace(ours, here)
        user = "user root;" if os.getuid() == 0 else ""
        temporary = "".join(
            f"{kind}_temp_path {folder}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (folder / "main.conf").write_text(
            f"{user} pid {folder}/pid; error_log stderr; events {{}} http {{"
            f" include /etc/nginx/mime.types; access_log off; {temporary}\n{site}\n}}"
        )
        self.process = None

    def __enter__(self):
        command = [NGINX, "-p", self.folder, "-c", self.folder / "main.conf", "-g", "daemon off;"]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                time.sleep(0.05)
        raise AssertionError("nginx did not start")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def call(self, path, data=None, **headers):
        headers = {"Content-Type": "application/json"} | headers
        url = f"http://127.0.0.1:{self.port}{path}"
        return urllib.request.urlopen(
            urllib.request.Request(url, data, headers), timeout=PATIENCE_SECONDS
        )

    def error(self, *arguments, **headers):
        with pytest.raises(HTTPError) as refused:
            self.call(*arguments, **headers)
        with refused.value as answer:
            return answer.headers, json.load(answer)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if NGINX is None:
        pytest.skip("needs nginx (apt-get install nginx)")
    folder = tmp_path_factory.mktemp("deploy")
    (folder / "nginx").mkdir()
    settings = {"TRUSTED_PROXIES": 1, "ACCESS_LOG": "json"}
    with (
        serve(folder, "--workers", "1", "--threads", "2", **settings) as service,
        reserved_port() as port,
        Site(folder / "nginx", service, port) as site,
    ):
        yield site


def test_it_passes_requests_on(site):
    with site.call("/status") as response:
        assert json.load(response)["database"] == "reachable"


def test_it_says_who_calls_and_lets_nobody_lie(site):
    forged = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Prefix": "/evil"}
    with site.call("/openapi.json?lie", **forged) as response:
        assert json.load(response)["servers"] == [{"url": "/"}]
    with site.call("/media/placeholder.webp", **forged):
        pass


def test_it_compresses_json(site):
    with site.call("/openapi.json", **{"Accept-Encoding": "gzip"}) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in response.headers["Vary"]
        assert json.loads(gzip.decompress(response.read()))["openapi"] == "3.0.3"


def test_it_serves_images_itself(site):
    token = (site.service.folder / "instance/sandbox-token").read_text()
    keys = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7}
    authorization = {"Authorization": f"Bearer {token}"}
    site.call("/v1/add", json.dumps(keys).encode(), **authorization).close()
    with site.call(f"/v1/nft/{TOKEN}/7", **authorization) as response:
        image = json.load(response)["imageUrl"].removeprefix(site.service.url)
    for path, server_set in ((image, False), ("/media/placeholder.webp", True)):
        with site.call(path) as response:
            assert response.headers["Content-Type"] == "image/webp"
            assert "immutable" in response.headers["Cache-Control"]
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert response.headers["Content-Security-Policy"] == "default-src 'none'"
            assert ("Content-Disposition" in response.headers) is server_set
    assert site.error("/media/missing.webp")[1]["code"] == 404


def test_silent_clients_take_no_thread(site):
    clients = []
    for _ in range(20):
        client = socket.create_connection(("127.0.0.1", site.port))
        client.sendall(b"POST /v1/add HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        clients.append(client)
    started = time.monotonic()
    site.call("/status").close()
    # On the two threads they would take 50 seconds: each is dropped after five.
    assert time.monotonic() - started < 20
    for client in clients:
        client.close()


def test_too_large_a_body_is_refused_in_our_shape(site):
    _, body = site.error("/v1/add", b" " * 70_000)
    assert body == {
        "code": 413,
        "status": "Request Entity Too Large",
        "message": "The body is larger than 65536 bytes",
    }


def test_who_asks_too_often_is_told_in_our_shape(site):
    def ask(number):
        try:
            with site.call("/status") as answer:
                return answer.status, None, None
        except HTTPError as error:
            with error:
                return error.status, error.headers["Retry-After"], json.load(error)

    refused = {
        "code": 429,
        "status": "Too Many Requests",
        "message": "This address asks too often: try again in 1 s",
    }
    with ThreadPoolExecutor(8) as threads:
        for _ in range(20):  # until they came quickly enough
            answers = [*threads.map(ask, range(600))]
            assert (200, None, None) in answers
            assert all(answer in ((200, None, None), (429, "1", refused)) for answer in answers)
            if (429, "1", refused) in answers:
                break
        else:
            pytest.skip("this machine is too busy to ask a hundred times a second")
    while ask(0)[0] == 429:
        time.sleep(0.1)


def test_an_ipv6_network_is_one_client():
    site = (DEPLOY / "nginx.conf").read_text()
    patterns = re.findall(r'"~(.*)" +\$net;', site)
    assert len(patterns) == 2

    def client(address):
        found = filter(None, (re.search(p.replace("?<", "?P<"), address) for p in patterns))
        return next((match["net"] for match in found), address)

    assert client("2001:db8:1:2::5") == client("2001:db8:1:2:3:4:5:6") == "2001:db8:1:2"
    assert client("2001:db8:1::5") == client("2001:db8:1::7:8") == "2001:db8:1"
    assert client("2001:db8::5") == client("2001:db8::a:b:c:d") == "2001:db8"
    assert client("192.0.2.1") == "192.0.2.1"
    assert client("::1") == "::1"


def test_a_service_that_is_down_is_told_in_our_shape(site):
    # The last test of this site.
    site.service.stop()
    headers, body = site.error("/status")
    assert (body["code"], headers["Retry-After"]) == (503, "5")
    logged = [json.loads(line) for line in site.service.output.splitlines() if line[:1] == "{"]
    assert {line["client"] for line in logged} == {"127.0.0.1"}
    assert "/v1/add" in {line["path"] for line in logged}


def test_it_may_be_below_a_path(tmp_path):
    """The change that the page describes."""
    if NGINX is None:
        pytest.skip("needs nginx (apt-get install nginx)")
    site = (DEPLOY / "nginx.conf").read_text()
    [below] = re.findall(r"^  ```nginx\n(.*?)^  ```$", README, re.MULTILINE | re.DOTALL)
    site, replaced = re.subn(r"    location / {.*?\n    }\n", below, site, flags=re.DOTALL)
    site = site.replace('X-Forwarded-Prefix "";', "X-Forwarded-Prefix /market;")
    assert (replaced, site.count("/market")) == (1, 2)
    settings = {"TRUSTED_PROXIES": 1, "PUBLIC_URL": "https://shop.example/market"}
    (tmp_path / "nginx").mkdir()
    with (
        serve(tmp_path, "--workers", "1", **settings) as service,
        reserved_port() as port,
        Site(tmp_path / "nginx", service, port, site) as site,
    ):
        with site.call("/market/openapi.json") as response:
            assert json.load(response)["servers"] == [{"url": "/market"}]
        with site.call("/market/sandbox/openapi.json") as response:
            assert json.load(response)["servers"] == [{"url": "/market/sandbox"}]
        with site.call("/market/") as response:
            assert 'href="/market/reference"' in response.read().decode()
        with site.call("/market/reference") as response:
            assert 'data-document="/market/openapi.json"' in response.read().decode()
        with site.call("/market/media/placeholder.webp") as response:
            assert response.headers["Content-Type"] == "image/webp"


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_understands_it(unit, tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd-analyze (apt-get install systemd)")
    for name in UNITS:
        text = (DEPLOY / name).read_text()
        # Installed here is not there: any program will do.
        (tmp_path / name).write_text(re.sub(r"/opt/nft-marketplace/\S+", "/bin/true", text))
    process = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", tmp_path / unit], capture_output=True, text=True
    )
    assert (process.returncode, process.stderr) == (0, "")


def test_the_units_start_what_there_is():
    for name in UNITS[:-1]:
        for line in re.findall(r"^ExecStart=(.*)$", (DEPLOY / name).read_text(), re.MULTILINE):
            assert re.search(
                r"\.venv/bin/(gunicorn$|flask --app wsgi (watch|backup))|^/usr/bin/find", line
            )


def test_the_settings_make_sense():
    lines = (DEPLOY / "nft-marketplace.env").read_text().splitlines()
    environ = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert config.load({}, environ)["NETWORK"] == "testnet"


def test_the_page_names_every_file():
    for path in DEPLOY.iterdir():
        stem = path.name.replace("-backup.service", "*.service").replace(
            "-watch.service", "*.service"
        )
        assert path.name == "README.md" or path.name in README or stem in README, path.name


@pytest.mark.once("reads a file")
def test_patroni_takes_these_numbers():
    patroni = yaml.safe_load((DEPLOY / "patroni.yml").read_text())
    shared = patroni["bootstrap"]["dcs"]
    assert shared["loop_wait"] + 2 * shared["retry_timeout"] <= shared["ttl"]
    assert shared["ttl"] >= 20 and shared["retry_timeout"] >= 3  # or Patroni takes others
    assert shared["synchronous_mode"] == "quorum"
    assert {"encoding": "UTF8"} in patroni["bootstrap"]["initdb"]
    assert {"locale": "C"} in patroni["bootstrap"]["initdb"]
