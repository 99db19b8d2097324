"""deploy/ works: nginx in front of the service, units that systemd understands, containers."""

import gzip
import json
import os
import pwd
import re
import shutil
import socket
import sqlite3
import ssl
import subprocess
import sys
import time
import urllib.request
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from urllib.error import HTTPError

import pytest
import yaml
from werkzeug.http import HTTP_STATUS_CODES

from harness.network import PATIENCE_SECONDS, is_free, read_all, reserved_port
from harness.postgresql import until
from harness.serving import BIN, HUNDRED_NFTS, ROOT, environment, run_flask, run_program, serve
from marketplace import settings as config
from marketplace.errors import find_kinds
from tests.system import system_calls

DEPLOY = ROOT / "deploy"
README = (DEPLOY / "README.md").read_text()
UNITS = [*sorted(path.name for path in DEPLOY.glob("*.service")), "nft-marketplace-backup.timer"]
SOCKET = "unix:/run/nft-marketplace/http.sock"
NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


class Site:
    """nginx with our site, on ports of its own, and a certificate made as the page says."""

    def __init__(self, folder, service, port, plain_port, site=None):
        self.folder, self.service, self.port, self.plain_port = folder, service, port, plain_port
        self.url = f"https://localhost:{port}"
        site = site or (DEPLOY / "nginx.conf").read_text()
        for ours, here in {
            "listen 80 ": f"listen 127.0.0.1:{plain_port} ",
            "    listen [::]:80 default_server;\n": "",
            "listen 443 ": f"listen 127.0.0.1:{port} ",
            "    listen [::]:443 ssl http2 default_server;\n": "",
            SOCKET: f"unix:{service.folder}/http.sock",
            "root /var/lib/nft-marketplace": f"root {service.folder}/instance",
            "root /var/www/html": f"root {folder}/html",
        }.items():
            assert site.count(ours) == 1, ours
            site = site.replace(ours, here)
        site = site.replace("/etc/nginx/nft-marketplace", str(folder))
        site = site.replace("nft.example.com", "localhost")
        command = re.search(r"^openssl req.*?[^\\]$", README, re.MULTILINE | re.DOTALL)[0]
        command = command.replace("/etc/nginx/nft-marketplace", str(folder))
        command = command.replace("YOUR.NAME", "localhost")
        run_program("sh", "-c", command, check=True)
        self.trust = ssl.create_default_context(cafile=folder / "fullchain.pem")
        user = "user root;" if os.getuid() == 0 else ""
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
        (folder / "main.conf").write_text(
            f"{user} pid {folder}/pid; error_log stderr; events {{}} http {{"
            f" include /etc/nginx/mime.types; access_log off; {temporary}\n{site}\n}}"
        )
        self.process = None

    def __enter__(self):
        command = [NGINX, "-p", self.folder, "-c", self.folder / "main.conf", "-g", "daemon off;"]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        until(lambda: not is_free(self.port), "nginx did not start")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), PATIENCE_SECONDS)
        return self.trust.wrap_socket(connection, server_hostname="localhost")

    def call(self, path, data=None, method=None, **headers):
        headers = {"Content-Type": "application/json"} | headers
        request = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)
        return urllib.request.urlopen(request, timeout=PATIENCE_SECONDS, context=self.trust)

    def curl(self, *arguments):
        """What curl writes: it speaks HTTP/2, which Python's library does not."""
        command = ["curl", "--silent", "--cacert", self.folder / "fullchain.pem", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def error(self, *arguments, **headers):
        with pytest.raises(HTTPError) as refused:
            self.call(*arguments, **headers)
        with refused.value as answer:
            return answer.headers, json.load(answer)


@contextmanager
def deployed(folder, site=None, **settings):
    """The service behind nginx, with our site or another."""
    if not (NGINX and shutil.which("curl") and shutil.which("openssl")):
        pytest.skip("needs nginx, curl and openssl (make tools)")
    (folder / "nginx").mkdir()
    options = "--workers", "1", "--threads", "2", "--access-logfile", "-"
    listening = "--bind", f"unix:{folder}/http.sock"
    with (
        serve(folder, *options, *listening, TRUSTED_PROXIES=1, **settings) as service,
        reserved_port() as port,
        reserved_port() as plain_port,
        Site(folder / "nginx", service, port, plain_port, site) as site,
    ):
        yield site


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with deployed(tmp_path_factory.mktemp("deploy")) as site:
        yield site


def test_it_says_who_calls_and_lets_nobody_lie(site):
    forged = {
        "X-Forwarded-For": "203.0.113.7",
        "X-Forwarded-Prefix": "/evil",
        "X-Request-ID": "another-ones",
    }
    with site.call("/openapi.json?lie", **forged) as response:
        assert json.load(response)["servers"] == [{"url": site.service.url}]
    with site.call("/media/placeholder.webp", **forged):
        pass
    headers, _ = site.error("/nowhere", **forged)
    assert re.fullmatch("[0-9a-f]{32}", headers["X-Request-ID"])  # nginx's own


def test_it_serves_images_itself(site):
    images = site.service.folder / "instance/media"
    images.mkdir(exist_ok=True)
    (images / "5f2c.webp").write_bytes(b"an image")
    for path, server_set in (("/media/5f2c.webp", False), ("/media/placeholder.webp", True)):
        with site.call(path) as response:
            assert response.headers["Content-Type"] == "image/webp"
            assert response.headers["Cache-Control"] == "public, max-age=86400"
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert response.headers["Content-Security-Policy"] == "default-src 'none'"
            assert ("Content-Disposition" in response.headers) is server_set
    assert site.error("/media/missing.webp")[1]["code"] == 404


def test_it_speaks_http_2(site):
    shown = site.curl(
        "-o", site.folder / "body", "-w", "%{http_version} %{http_code}", f"{site.url}/status"
    )
    assert shown == "2 200"


def test_old_tls_is_refused(site):
    for newest, spoken in ((ssl.TLSVersion.TLSv1_1, None), (ssl.TLSVersion.TLSv1_2, "TLSv1.2")):
        client = ssl.create_default_context(cafile=site.folder / "fullchain.pem")
        client.set_ciphers("DEFAULT@SECLEVEL=0")  # or the client itself would refuse
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            client.minimum_version = client.maximum_version = newest
        connection = socket.create_connection(("127.0.0.1", site.port), PATIENCE_SECONDS)
        try:
            with client.wrap_socket(connection, server_hostname="localhost") as channel:
                assert channel.version() == spoken
        except (ssl.SSLError, ConnectionError):
            assert spoken is None


def test_without_tls_there_is_only_the_way_to_it(site):
    plain = f"http://localhost:{site.plain_port}"
    code = "%{http_code} %{redirect_url}"
    shown = site.curl("-o", site.folder / "body", "-w", code, "-d", "{}", f"{plain}/v1/add?a=b")
    assert shown == "308 https://localhost/v1/add?a=b"
    challenges = site.folder / "html/.well-known/acme-challenge"
    challenges.mkdir(parents=True)
    (challenges / "proof").write_text("of the name")
    assert site.curl(f"{plain}/.well-known/acme-challenge/proof") == "of the name"


def test_another_name_is_refused(site):
    shown = ("-o", site.folder / "body", "-w", "%{http_code} %{content_type}")
    for name in ("x", "127.0.0.1", "localhost.evil.example"):
        for version in ("--http1.1", "--http2"):
            headers = (version, "-H", f"Host: {name}")
            assert site.curl(*shown, *headers, f"{site.url}/status") == "421 application/json"
            assert json.loads((site.folder / "body").read_text())["code"] == 421
            with pytest.raises(subprocess.CalledProcessError):  # as the name's own
                site.curl(*headers, "-H", "X: " + 9000 * "x", "--fail", f"{site.url}/status")
        with pytest.raises(subprocess.CalledProcessError) as refused:
            site.curl("-H", f"Host: {name}", f"http://localhost:{site.plain_port}/")
        assert refused.value.returncode == 52  # an empty answer
    assert (
        site.curl(*shown, "-H", "Host: LOCALHOST.", f"{site.url}/status") == "200 application/json"
    )


def list_many(site, token, count):
    with closing(sqlite3.connect(site.service.folder / "instance/marketplace.db")) as db, db:
        db.execute(
            """
            INSERT INTO nft (token, serial_no, name, file_type, owner, ledger_at,
                             is_for_sale, is_listed, listing_price, last_listed_at)
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
            SELECT :token, i, 'Many #' || i, 'image/png', '0.0.1001', 'x', 1, 1, 5,
                   '2026-11-20T12:00:00.000000000Z'
            FROM n
            """,
            {"token": token, "count": count},
        )


def test_a_long_list_is_compressed_once(site):
    list_many(site, "0.0.8000", 4000)
    asked = {"Authorization": f"Bearer {site.service.token}", "Accept-Encoding": "gzip"}
    for path, least in (("/v1/nftslisted/0.0.8000", 1_000_000), ("/openapi.json", 10_000)):
        with site.call(path, **asked) as response:
            assert response.headers.get_all("Content-Encoding") == ["gzip"]
            assert "Accept-Encoding" in response.headers["Vary"]
            sent = response.read()
        text = gzip.decompress(sent)
        assert len(sent) < len(text) / 3 and len(text) > least
        json.loads(text)


def test_slow_readers_of_whole_lists_do_not_fill_the_disk(site):
    list_many(site, "0.0.8001", 40_000)
    path, token = "/v1/nftslisted/0.0.8001", site.service.token
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(2):
            reader = stack.enter_context(site.connect())
            reader.sendall(head.encode())
            assert b" 200 " in reader.recv(1000)
        for _ in range(10):
            _, body = site.error(path, Authorization=f"Bearer {token}")
            assert body["code"] == 429
        site.call("/status").close()
    until(lambda: is_let_in(site, path), "those who left are still counted")


def is_let_in(site, path):
    try:
        with site.call(path, Authorization=f"Bearer {site.service.token}") as answer:
            return len(answer.read()) > 10_000_000
    except HTTPError as error:
        error.close()
        return False


def test_silent_clients_take_no_thread(site):
    half = b"POST /v1/add HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(site.connect()).sendall(half)
        started = time.monotonic()
        site.call("/status").close()
        # On the two threads they would take 50 seconds: each is dropped after five.
        assert time.monotonic() - started < 20


def test_the_error_for_too_many_requests_has_our_shape(site):
    def ask(number):
        try:
            with site.call("/status") as answer:
                return answer.status, None, None
        except HTTPError as error:
            with error:
                return error.status, error.headers["Retry-After"], json.load(error)

    sentence = "This address asks too often: try again in 1 s"
    body = {"code": 429, "status": "Too Many Requests", "message": sentence}
    body["reason"] = "LIMIT_EXCEEDED"
    let_in, refused = (200, None, None), (429, "1", body)
    with ThreadPoolExecutor(8) as threads:
        for _ in range(20):  # until they came quickly enough
            answers = [*threads.map(ask, range(600))]
            assert let_in in answers
            assert all(answer in (let_in, refused) for answer in answers)
            if refused in answers:
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


def test_each_of_its_own_errors_has_a_documented_reason():
    """A client that reads the reason alone found none in these."""
    site = (DEPLOY / "nginx.conf").read_text()
    bodies = [json.loads(body) for body in re.findall(r"return \d+ '({.*)';", site)]
    assert len(bodies) == 8
    ours = {kind.word(): kind for kind in find_kinds()}
    for body in bodies:
        assert [*body] == ["code", "status", "message", "reason"]
        # The sandbox answers a bad Host with 421, too.
        assert body["code"] in (ours[body["reason"]].status, 421)


def test_the_error_for_a_malformed_request_has_our_shape(site):
    head = b" HTTP/1.1\r\nHost: localhost\r\n"
    last_head = head + b"Connection: close\r\n"
    for sent, code in (
        (b"GET /" + head + b"Content-Length: x\r\n", 400),
        (b"G\0T / HTTP/1.1\r\n", 400),
        (b"GET /" + head + b"X: " + 9000 * b"x" + b"\r\n", 431),
        (b"GET /" + 9000 * b"x" + head, 414),
        (b"GET /" + 4000 * b"x" + last_head, 414),
        (b"POST /v1/add" + last_head + b"Content-Length: 70000\r\n", 413),
        (b"TRACE /" + last_head, 405),
    ):
        with site.connect() as client:
            client.sendall(sent + b"\r\n")
            received, _, body = read_all(client).partition(b"\r\n\r\n")
        answer = json.loads(body)
        assert received.startswith(b"HTTP/1.1 %d " % code), received
        assert b"Content-Type: application/json" in received
        assert b"Access-Control-Allow-Origin: *" in received
        assert (answer["code"], answer["status"]) == (code, HTTP_STATUS_CODES[code])


def test_a_hundred_nfts_of_mainnets_length_can_be_asked_for(site):
    path = f"/v1/nfts?{HUNDRED_NFTS}"
    assert site.error(path)[1]["code"] == 401
    with site.call(path, Authorization=f"Bearer {site.service.token}") as response:
        assert json.load(response) == [None] * 100
    seen = site.curl(
        "--http2", "-H", f"Authorization: Bearer {site.service.token}", site.url + path
    )
    assert json.loads(seen) == [None] * 100


def test_a_list_with_a_long_link_passes(site):
    """The longest: nginx took the answer's headers for too large, and clients got a 503."""
    list_many(site, "0.0.8002", 2)
    with closing(sqlite3.connect(site.service.folder / "instance/marketplace.db")) as db, db:
        db.execute("INSERT INTO nft_trait VALUES ('0.0.8002', 'Sky', 'Dusk', 1)")
        db.execute("INSERT INTO nft_trait VALUES ('0.0.8002', 'Sky', 'Dusk', 2)")
    path = "/v1/orderbook?limit=1&tokenId=0.0.8002&trait=Sky:Dusk"
    path += "".join(f"&trait=Sky:{number}{190 * 'x'}" for number in range(10, 24))
    path += f"&trait=Sky:{70 * 'x'}"
    bearer = {"Authorization": f"Bearer {site.service.token}"}
    assert site.error(f"{path}{20 * 'x'}", **bearer)[1]["code"] == 414
    for _ in range(2):
        with site.call(path, **bearer) as response:
            assert len(json.load(response)) == 1
            path = response.headers.get("Link", "").partition(">")[0].removeprefix("<")
    assert not path


def test_the_error_while_the_service_is_down_has_our_shape(site):
    # The last test of this site.
    assert site.error("/v1/add", b"{}")[1]["code"] == 401
    site.service.stop()
    headers, body = site.error("/status")
    assert (body["reason"], body["code"], headers["Retry-After"]) == ("TRY_AGAIN", 503, "5")
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert headers["Access-Control-Expose-Headers"] == "Retry-After"
    with pytest.raises(HTTPError, match="503") as refused:
        site.call("/", Accept="text/html,*/*;q=0.8")
    with refused.value as page:
        assert (page.headers["Content-Type"], page.headers["Retry-After"]) == ("text/html", "5")
        assert b"Back in a moment" in page.read()
    logged = re.findall(r'^\[.+\] (\S+) "\S+ (\S+) HTTP', site.service.output, re.MULTILINE)
    assert {client for client, _ in logged} == {"127.0.0.1"}
    assert "/v1/add" in {path for _, path in logged}


def test_it_may_be_below_a_path(tmp_path):
    """The change that the page describes."""
    site = (DEPLOY / "nginx.conf").read_text()
    [below] = re.findall(r"^  ```nginx\n(.*?)^  ```$", README, re.MULTILINE | re.DOTALL)
    site, replaced = re.subn(r"(?s)    location / {\n        if.*?\n    }\n", below, site)
    site = site.replace('X-Forwarded-Prefix "";', "X-Forwarded-Prefix /market;")
    assert (replaced, site.count("/market")) == (1, 2)
    public_url = "https://shop.example/market"
    with deployed(tmp_path, site, PUBLIC_URL=public_url) as site:
        for part in ("", "/sandbox"):
            with site.call(f"/market{part}/openapi.json") as response:
                assert json.load(response)["servers"] == [{"url": f"{public_url}{part}"}]
        with site.call("/market/") as response:
            assert 'href="/market/reference"' in response.read().decode()
        with site.call("/market/reference") as response:
            assert 'data-document="/market/openapi.json"' in response.read().decode()
        with site.call("/market/media/placeholder.webp") as response:
            assert response.headers["Content-Type"] == "image/webp"


@pytest.fixture
def call(tmp_path):
    """Calls the script for commands in a folder of its caller's."""
    script, replaced = re.subn(r"setpriv .*\\\n", "", (DEPLOY / "nft-marketplace").read_text())
    assert replaced == 1
    script = script.replace("/etc/nft-marketplace.env", str(tmp_path / "market.env"))
    script = script.replace("/opt/nft-marketplace/.venv/bin/", f"{BIN}/")
    script = script.replace("/opt/nft-marketplace", str(ROOT))
    (tmp_path / "called").mkdir()

    def call(*words, **options):
        command = ["sh", "-c", script, "nft-marketplace", *words]
        return run_program(*command, cwd=tmp_path / "called", env=environment(), **options)

    return call


def test_the_script_for_commands_reads_settings_as_systemd_does(call, tmp_path):
    """A shell ran what followed a space, and went on with the default."""
    missing = call("status")
    assert missing.returncode and "market.env" in missing.stderr
    lines = ["# A comment", "", "; another", "MARKETPLACE_NAME=My Shop & Sons $5  "]
    lines += [f"  MARKETPLACE_DATA_DIR='{tmp_path}/data'"]
    (tmp_path / "market.env").write_text("\n".join(lines))
    run_flask(tmp_path / "data", "token", "list")
    assert "  MARKETPLACE_NAME=My Shop & Sons $5\n" in call("status").stdout
    assert call("hide", "0.0.5001", "--reason", "x").stdout.endswith(
        "To undo: nft-marketplace unhide 0.0.5001\n"
    )
    (tmp_path / "market.env").write_text("MARKETPLACE NAME=x\n")
    wrong = call("status")
    assert wrong.returncode and "MARKETPLACE NAME" in wrong.stderr


def test_the_script_for_commands_gives_them_what_systemd_would(tmp_path):
    """It left the quotes in a password."""
    lines = {
        "PGPASSWORD='a \"$b'": 'a "$b',
        r'AWS_SECRET_ACCESS_KEY="a\"b\$c\\d e"': r'a"b$c\d e',
        "AWS_REGION=a='b'": "a='b'",
        "PGUSER='": "'",
        "PGHOST=": "",
    }
    (tmp_path / "market.env").write_text("\n".join(lines))
    script = (DEPLOY / "nft-marketplace").read_text().replace("nft-marketplace.env", "market.env")
    script = script.replace("/etc/market.env", str(tmp_path / "market.env"))
    script, replaced = re.subn(
        r"(?s)exec setpriv.*", "exec env -0", script.replace("~nft-marketplace", "~nobody")
    )
    assert replaced == 1
    given = run_program("sh", "-c", script, env=environment()).stdout.split("\0")
    read = dict(line.split("=", 1) for line in given if line)
    for line, value in lines.items():
        assert read[line.partition("=")[0]] == value
    assert read["HOME"] == pwd.getpwnam("nobody").pw_dir


def test_a_settings_file_from_windows_is_read(call, tmp_path):
    """systemd takes it; the script said that 'sandbox\\r' is not a network."""
    lines = ["# A comment", "", "MARKETPLACE_NETWORK=sandbox", 'MARKETPLACE_NAME="My Shop"']
    lines += [f"MARKETPLACE_DATA_DIR={tmp_path}/data", ""]
    (tmp_path / "market.env").write_text("\r\n".join(lines), newline="")
    run_flask(tmp_path / "data", "token", "list")
    assert '  MARKETPLACE_NAME="My Shop"\n' in call("status").stdout.replace(
        "=My Shop", '="My Shop"'
    )


def test_the_wrapper_stays_in_the_folder_where_it_is_called(call, tmp_path):
    """In the project's folder, a file named beside its caller was not found."""
    (tmp_path / "market.env").write_text(f"MARKETPLACE_DATA_DIR={tmp_path}/data\n")
    assert "There is no database here" in call("backup", "copies").stderr
    run_flask(tmp_path / "data", "token", "list")
    ended = call("backup", "copies")
    assert ended.returncode == 0, ended.stderr
    assert [path.name for path in (tmp_path / "called").iterdir()] == ["copies"]


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_understands_it(unit, tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd-analyze (apt-get install systemd)")
    for name in UNITS:
        text = (DEPLOY / name).read_text()
        # Installed here is not there: any program will do.
        (tmp_path / name).write_text(re.sub(r"/opt/nft-marketplace/\S+", "/bin/true", text))
    ended = run_program("systemd-analyze", "verify", "--man=no", tmp_path / unit)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_units_start_what_there_is():
    ours = rf"\.venv/bin/(gunicorn --bind {SOCKET}$|flask (watch|backup))"
    for name in UNITS[:-1]:
        for line in re.findall(r"^ExecStart=(.*)$", (DEPLOY / name).read_text(), re.MULTILINE):
            assert re.search(ours, line)
    unit = (DEPLOY / "nft-marketplace.service").read_text()
    # gunicorn calls chown() on its socket, which systemd's filter would kill it for.
    assert unit.index("=~@privileged") < unit.index("SystemCallFilter=@chown")
    assert "RuntimeDirectory=nft-marketplace\nRuntimeDirectoryMode=0750\n" in unit


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_the_watcher_reads_images_with_the_system_calls_that_its_unit_allows():
    """systemd's filter kills a process for any other one, such as that of os.nice()."""
    unit = DEPLOY / "nft-marketplace-watch.service"
    ended = run_program(sys.executable, "-m", "tests.system.system_calls", unit)
    assert (ended.stdout, ended.returncode) == ("made\n", 0), ended.stderr
    calls = system_calls.allowed(unit.read_text())
    assert not calls & {"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "shmget"}


def environ_of(path):
    lines = path.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


def test_the_containers_are_confined_and_begin_in_turn():
    compose = yaml.safe_load((ROOT / "compose.yml").read_text())
    services = compose["services"]
    assert services.keys() == {"service", "watch", "postgresql", "nginx"}
    for container in services.values():
        assert container["read_only"] and container["cap_drop"] == ["ALL"]
        assert container["security_opt"] == ["no-new-privileges:true"]
        assert "/tmp" in container["tmpfs"] and container["restart"] == "unless-stopped"
        assert "privileged" not in container
        assert container["mem_limit"] and container["pids_limit"]
        for name, condition in container.get("depends_on", {}).items():
            assert condition == {"condition": "service_healthy"} and name in services
        for volume in container["volumes"]:
            source = volume.partition(":")[0]
            assert source in compose["volumes"] or source.startswith("./site/")
    # Only the service reaches both: nginx does not reach the database.
    networks = {name: {*container["networks"]} for name, container in services.items()}
    assert not networks["nginx"] & networks["postgresql"]
    assert networks["service"] & networks["nginx"] and networks["service"] & networks["postgresql"]
    assert "HEALTHCHECK" in (ROOT / "Containerfile").read_text()
    assert services["postgresql"]["healthcheck"]["test"][:2] == ["CMD", "pg_isready"]
    initialised = services["postgresql"]["environment"]["POSTGRES_INITDB_ARGS"]
    assert "--locale=C --encoding=UTF8" in initialised
    mounted = {volume.split(":")[1] for volume in services["nginx"]["volumes"]}
    site = (DEPLOY / "nginx.conf").read_text()
    for path in ("/etc/nginx/nft-marketplace", "/var/www/html", "/var/lib/nft-marketplace"):
        assert path in site and any(place.startswith(path) for place in mounted)


def test_the_settings_make_sense():
    own = {"ACCOUNT_ID": "0.0.4321", "PUBLIC_URL": "https://nft.example.com"}
    shipped = environ_of(DEPLOY / "nft-marketplace.env")
    for name in own:
        with pytest.raises(config.SettingError, match=f"MARKETPLACE_{name}='' is not "):
            config.load(own | {name: ""}, shipped)
    loaded = config.load(own, shipped)
    assert (loaded["NETWORK"], loaded["NAME"]) == ("testnet", "NFT Marketplace")
    compose = yaml.safe_load((ROOT / "compose.yml").read_text())
    image = dict(re.findall(r"(MARKETPLACE_\w+)=([^\s\\]+)", (ROOT / "Containerfile").read_text()))
    assert config.load({}, {**image, "MARKETPLACE_NETWORK": "sandbox"})
    given = environ_of(DEPLOY / "compose.env")
    for name in ("service", "watch"):
        environ = image | given | compose["services"][name]["environment"]
        settings = config.load(own, environ)
        assert settings["DATABASE_URL"] == "postgresql://market@postgresql/market"
        assert settings["NETWORK"] == "testnet" and settings["TRUSTED_PROXIES"] == 1
        assert settings["DATA_DIR"] == "/var/lib/nft-marketplace"


def test_patroni_takes_these_numbers():
    patroni = yaml.safe_load((DEPLOY / "patroni.yml").read_text())
    shared = patroni["bootstrap"]["dcs"]
    assert shared["loop_wait"] + 2 * shared["retry_timeout"] <= shared["ttl"]
    assert shared["ttl"] >= 20 and shared["retry_timeout"] >= 3  # or Patroni takes others
    assert shared["synchronous_mode"] == "quorum"
    assert {"encoding": "UTF8"} in patroni["bootstrap"]["initdb"]
    assert {"locale": "C"} in patroni["bootstrap"]["initdb"]
