"""A stranger's address never reaches a private one, however it is spelt, resolved or redirected.

What has to reach a public address runs in a network namespace of its own, where one lies on loopback.
"""

import json
import shutil
import socket
import subprocess
import sys
import threading
import time

import pytest

from marketplace.ledger.deadline import Deadline
from marketplace.ledger.fetch import Address, Fetcher, FetchError
from marketplace.ledger.locations import Gateways
from marketplace.ledger.resolver import Resolver
from tests.network import PATIENCE_SECONDS, answering, drip_body, serve_raw
from tests.serving import ROOT

pytestmark = pytest.mark.once("no statement is asked")

CID = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG"
UNSHARE = ["unshare", "--user", "--map-root-user", "--net"]

SPELLINGS = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://0/",
    "http://0.0.0.0/",
    "http://localhost/",
    "http://localhost./",
    "http://LOCALHOST/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fd00::1]/",
    "http://user:pass@127.0.0.1/",
    "http://nft.example@127.0.0.1/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://192.0.2.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "https://127.0.0.1/",
    "http://①②⑦.⓪.⓪.①/",
]


@pytest.fixture
def fetcher():
    return Fetcher({})


def fetch(fetcher, url, seconds=3, max_bytes=1000):
    return fetcher.get(Address(url, is_ours=False), max_bytes=max_bytes, deadline=Deadline(seconds))


@pytest.mark.parametrize("url", SPELLINGS)
def test_private_addresses_are_refused(fetcher, url):
    with pytest.raises(
        FetchError, match=r"InvalidIPAddress|InvalidURL|ConnectionError|ValueError|LocationParse"
    ):
        fetch(fetcher, url)


def test_nothing_private_is_even_connected_to(fetcher):
    reached = threading.Event()
    with serve_raw(lambda connection: reached.set()) as url:
        port = url.rpartition(":")[2]
        for spelling in SPELLINGS:
            host = spelling.split("/")[2].replace("user:pass@", "")
            with pytest.raises(FetchError):
                fetch(fetcher, f"http://{host}:{port}/")
    assert not reached.is_set()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://nft.example/",
        "file:///etc/passwd",
        "gopher://nft.example/",
        "http://nft.example:8080/",
        "https://nft.example:22/",
        "http://nft.example:99999/",
        "http://nft.example:x/",
        "//nft.example/",
        "http://",
        "http:///x",
        "http://[::1/",
        "http://a b/",
        "http://\0/",
        "http://" + "a" * 300 + "/",
    ],
)
def test_other_ports_schemes_and_nonsense_are_refused(fetcher, url):
    with pytest.raises(FetchError):
        fetch(fetcher, url)


def test_our_own_addresses_may_be_private(fetcher):
    with serve_raw(answering(b"ours")) as url:
        answer = fetcher.get(Address(url, is_ours=True), max_bytes=10, deadline=Deadline(3))
    assert answer.content == b"ours"


def test_a_name_server_that_outlasts_the_deadline_lets_nobody_drip_for_ever(fetcher, monkeypatch):
    resolve = socket.getaddrinfo

    def resolve_slowly(*args, **kwargs):
        time.sleep(0.3)
        return resolve(*args, **kwargs)

    with serve_raw(drip_body) as url:
        monkeypatch.setattr(socket, "getaddrinfo", resolve_slowly)
        for _ in range(2):
            with pytest.raises(FetchError, match="it took too long"):
                fetcher.get(Address(url, is_ours=True), max_bytes=10**6, deadline=Deadline(0.2))


def test_once_a_gateway_has_answered_the_others_are_let_go_of(fetcher, monkeypatch):
    monkeypatch.setattr(sys.modules[Resolver.__module__], "PATIENCE_SECONDS", 0.05)
    let_go = threading.Event()

    def stop_in_the_middle(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nhalf")
        connection.settimeout(PATIENCE_SECONDS)
        if not connection.recv(1):
            let_go.set()

    with serve_raw(stop_in_the_middle) as silent, serve_raw(answering(b"whole")) as other:
        resolver = Resolver(fetcher, None, Gateways((f"{silent}/", f"{other}/"), ()))
        assert resolver.fetch(f"ipfs://{CID}/7.png", 10_000, Deadline(PATIENCE_SECONDS)) == b"whole"
        assert let_go.wait(2)  # by its own patience, it would be let go of after 5 s


def test_but_a_redirect_from_them_is_a_strangers(fetcher):
    reached = threading.Event()
    with (
        serve_raw(lambda connection: reached.set()) as private_url,
        serve_raw(answering(b"", "302 Found", Location=private_url)) as url,
        pytest.raises(FetchError),
    ):
        fetcher.get(Address(url, is_ours=True), max_bytes=10, deadline=Deadline(3))
    assert not reached.is_set()


def test_no_proxy_of_the_environment_sees_a_strangers_address(fetcher, monkeypatch):
    reached = threading.Event()
    with serve_raw(lambda connection: reached.set()) as url:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, url)
        with pytest.raises(FetchError):
            fetch(fetcher, "http://nft.example/")  # a proxy would resolve the name itself
    assert not reached.is_set()


@pytest.mark.skipif(
    not shutil.which("ip")
    or not shutil.which("unshare")
    or subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode != 0,
    reason="needs network namespaces, where the kernel allows them (apt-get install iproute2 util-linux)",
)
def test_public_addresses_in_a_namespace_of_their_own():
    """The steps are in tests/public_internet.py; it prints what became of each."""
    setup = (
        "ip link set lo up && ip addr add 93.184.215.14/32 dev lo && exec "
        f"{sys.executable} -m tests.public_internet"
    )
    run = subprocess.run(
        [*UNSHARE, "sh", "-c", setup],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {
        "a public address": "public",
        "a name": "public",
        "a second name that is first public, then private": "public",
        "a redirect to a public name": "public",
        "a redirect to a private address": "InvalidIPAddress",
        "a redirect to a name that is private": "InvalidIPAddress",
        "a redirect to a mapped private address": "InvalidIPAddress",
        "a redirect to another port": "port 80 or 443",
        "a redirect to a file": "port 80 or 443",
        "a redirect loop": "redirects too often",
        "a gzip bomb": "larger than 100000 bytes",
        "a brotli bomb": "larger than 100000 bytes",
        "a redirect with a bomb": "larger than 100000 bytes",
        "a body that drips": "took too long",
        "headers that drip": "took too long",
        "silence": "ReadTimeout",
        "a cookie": "not sent back",
        "private addresses reached": 0,
        "memory": "little",
    }
