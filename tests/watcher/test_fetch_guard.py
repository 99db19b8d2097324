"""A stranger's address never reaches a private one, however it is spelt, resolved or redirected.

What has to reach a public address runs in a network namespace of its own, where one lies on loopback.
"""

import json
import subprocess
import sys
import threading
import time
from urllib.parse import urljoin

import pytest
import requests

from harness.network import PATIENCE_SECONDS, answering, drip_body, drip_headers, serve_raw
from harness.serving import ROOT
from marketplace.ledger.http import FetchError
from marketplace.ledger.rate import Deadline, TimeIsUp
from marketplace.watcher.strangers.guarded_fetch import Address, Fetcher, follow, is_public
from marketplace.watcher.strangers.resolver import Resolver, interrupt_at
from marketplace.watcher.strangers.uri import Gateways
from tests.namespaces import UNSHARE, needs_namespaces

CID = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG"
WHOLE = b"\x89PNG\r\n\x1a\n"  # as an image begins

SPELLINGS = [
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0/",
    "http://localhost/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[fd00::1]/",
    "http://user:pass@127.0.0.1/",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://224.0.0.1/",
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


@pytest.mark.parametrize("host", ["8.8.8.8", "[2606:4700::1111]", "2a00:1450::1"])
def test_public_addresses_are_fetched(host):
    assert is_public(host)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "http://nft.example:8080/",
        "http://nft.example:99999/",
        "//nft.example/",
        "http://",
        "http://[::1/",
        "http://\0/",
        "http://" + "a" * 300 + "/",
    ],
)
def test_other_ports_schemes_and_invalid_addresses_are_refused(fetcher, url):
    with pytest.raises(FetchError):
        fetch(fetcher, url)


def test_our_own_addresses_may_be_private(fetcher):
    with serve_raw(answering(b"ours")) as url:
        answer = fetcher.get(Address(url, is_ours=True), max_bytes=10, deadline=Deadline(3))
    assert answer.content == b"ours"


class SlowToCollect:
    def __del__(self):
        time.sleep(0.2)


IGNORED = "ignore::pytest.PytestUnraisableExceptionWarning"  # raised while garbage was collected


@pytest.mark.filterwarnings(IGNORED)
def test_a_deadline_that_passes_in_a_destructor_is_not_lost():
    started = time.monotonic()
    with pytest.raises(TimeIsUp), interrupt_at(Deadline(0.1)):
        SlowToCollect()
        time.sleep(10)
    assert time.monotonic() - started < 5


@pytest.mark.filterwarnings(IGNORED)
@pytest.mark.parametrize("answer", [drip_body, drip_headers])
def test_no_host_outlasts_the_deadline(fetcher, answer):
    with serve_raw(answer) as url:
        resolver = Resolver(fetcher, None, Gateways((f"{url}/",), ()))
        started = time.monotonic()
        with pytest.raises(FetchError, match="it took too long"):
            resolver.read_image(f"ipfs://{CID}/7.png", Deadline(0.2))
        assert time.monotonic() - started < 5


def test_a_silent_gateway_has_its_share_of_the_time_and_then_is_asked_last(fetcher, monkeypatch):
    monkeypatch.setattr(sys.modules[Resolver.__module__], "FIRST_GATEWAY_SECONDS", 0.05)
    asked = []

    def drip(connection):
        asked.append("silent")
        drip_headers(connection)

    with serve_raw(drip) as silent, serve_raw(answering(WHOLE), host="127.0.0.2") as other:
        resolver = Resolver(fetcher, None, Gateways((f"{silent}/", f"{other}/"), ()))
        assert resolver.read_image(f"ipfs://{CID}/7.png", Deadline(0.4)) == WHOLE
        assert resolver.read_image(f"ipfs://{CID}/8.png", Deadline(PATIENCE_SECONDS)) == WHOLE
    assert asked == ["silent"]


@pytest.mark.parametrize(
    ("location", "sent"),
    [
        ("/Größe 7.png".encode(), "/Gr%C3%B6%C3%9Fe%207.png"),
        ("/Größe.png".encode("latin-1"), "/Gr%F6%DFe.png"),
        (b"/Gr%C3%B6%C3%9Fe.png?a=%20", "/Gr%C3%B6%C3%9Fe.png?a=%20"),
        ("//größe.example/7".encode(), "//xn--gre-6ka8i.example/7"),
    ],
)
def test_a_redirect_is_followed_as_its_bytes_say(location, sent):
    """Bytes of UTF-8 were encoded twice."""
    target = follow(Address("http://host.example/", is_ours=False), location.decode("latin-1"))
    url = requests.Request("GET", target.url).prepare().url
    assert url == urljoin("http://host.example/", sent)


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


@needs_namespaces
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
        "a redirect with letters": "letters",
        "a redirect loop": "redirects too often",
        "a gzip bomb": "larger than 100000 bytes",
        "a brotli bomb": "larger than 100000 bytes",
        "a redirect with a bomb": "larger than 100000 bytes",
        "a body that drips": "took too long",
        "silence": "ReadTimeout",
        "a cookie": "not sent back",
        "private addresses reached": 0,
        "memory": "little",
    }
