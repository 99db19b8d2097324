"""Run by test_fetch_guard.py in a network namespace whose loopback has the public address PUBLIC."""

import json
import os
import resource
import socket
import time
import zlib

import brotli

from harness import network
from harness.network import answering, serve_raw
from marketplace.ledger import http
from marketplace.ledger.http import FetchError
from marketplace.ledger.rate import Deadline
from marketplace.watcher.strangers.guarded_fetch import Address, Fetcher

PUBLIC, PRIVATE = "93.184.215.14", "127.0.0.1"
NAMES = {
    "public.example": [PUBLIC],
    "private.example": [PRIVATE],
    "rebinding.example": [PUBLIC, PRIVATE],
}
real_getaddrinfo = socket.getaddrinfo
asked: dict[str, int] = {}


def getaddrinfo(host, *args, **kwargs):
    """A DNS of our own. One of its names resolves to another address after the first question."""
    if host in NAMES:
        answers = NAMES[host]
        asked[host] = asked.get(host, -1) + 1
        host = answers[min(asked[host], len(answers) - 1)]
    return real_getaddrinfo(host, *args, **kwargs)


def redirect(location):
    return answering(b"", "302 Found", Location=location)


def gzip_bomb():
    """200 MB of zeros, compressed without holding them in memory."""
    compressor, megabyte = zlib.compressobj(1, wbits=31), bytes(1_000_000)
    chunks = [compressor.compress(megabyte) for _ in range(200)]
    return b"".join(chunks) + compressor.flush()


BOMB = gzip_bomb()
PATHS = {
    "/": answering(b"public"),
    "/to-name": redirect("http://public.example/"),
    "/to-private": redirect(f"http://{PRIVATE}/"),
    "/to-private-name": redirect("http://private.example/"),
    "/to-mapped": redirect(f"http://[::ffff:{PRIVATE}]/"),
    "/to-port": redirect("http://public.example:8080/"),
    "/to-file": redirect("file:///etc/passwd"),
    "/to-letters": redirect("/Größe 7?a=%C3%B6"),
    "/Gr%C3%B6%C3%9Fe%207?a=%C3%B6": answering(b"letters"),
    "/loop": redirect("/loop"),
    "/gzip": answering(BOMB, Content_Encoding="gzip"),
    "/brotli": answering(brotli.compress(bytes(200_000_000), quality=1), Content_Encoding="br"),
    "/redirect-bomb": answering(BOMB, "302 Found", Content_Encoding="gzip", Location="/"),
    "/drip": network.drip_body,
    "/silence": network.silence,
    "/cookie": answering(b"public", Set_Cookie="spy=1; Path=/"),
}
STEPS = {
    "a public address": f"http://{PUBLIC}/",
    "a name": "http://public.example/",
    "a second name that is first public, then private": "http://rebinding.example/",
    "a redirect to a public name": "http://public.example/to-name",
    "a redirect to a private address": "http://public.example/to-private",
    "a redirect to a name that is private": "http://public.example/to-private-name",
    "a redirect to a mapped private address": "http://public.example/to-mapped",
    "a redirect to another port": "http://public.example/to-port",
    "a redirect to a file": "http://public.example/to-file",
    "a redirect with letters": "http://public.example/to-letters",
    "a redirect loop": "http://public.example/loop",
    "a gzip bomb": "http://public.example/gzip",
    "a brotli bomb": "http://public.example/brotli",
    "a redirect with a bomb": "http://public.example/redirect-bomb",
}

REASONS = (
    "InvalidIPAddress",
    "port 80 or 443",
    "redirects too often",
    "larger than 100000 bytes",
    "took too long",
    "ReadTimeout",
)
received: list[bytes] = []


def answer(connection, request):
    """Answer as the public web server."""
    received.append(request)
    PATHS[request.split()[1].decode()](connection)


def outcome(fetcher, url, seconds=10):
    started = time.monotonic()
    address = Address(url, is_ours=False)
    try:
        text = fetcher.get(address, max_bytes=100_000, deadline=Deadline(seconds)).content.decode()
    except FetchError as error:
        text = next((reason for reason in REASONS if reason in str(error)), str(error))
    assert time.monotonic() - started < seconds + 10, f"{url} took too long"
    return text


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main():
    socket.getaddrinfo = getaddrinfo
    private_hits = []
    fetcher = Fetcher({})
    os.environ["http_proxy"] = f"http://{PRIVATE}:80"  # must not be used for strangers' addresses
    peak_before = peak_megabytes()
    with (
        serve_raw(answer, PUBLIC, 80, by_head=True),
        serve_raw(private_hits.append, PRIVATE, 80),
    ):
        outcomes = {step: outcome(fetcher, url) for step, url in STEPS.items()}
        outcomes["a body that drips"] = outcome(fetcher, "http://public.example/drip", 1.5)
        # Silence must end long before the deadline, or either of the two could end the request.
        http.SILENCE_SECONDS = 0.5
        outcomes["silence"] = outcome(fetcher, "http://public.example/silence")
        http.SILENCE_SECONDS = 5.0
        outcome(fetcher, "http://public.example/cookie")
        outcome(fetcher, "http://public.example/")
        outcomes["a cookie"] = "sent back" if b"spy" in received[-1] else "not sent back"
    outcomes["private addresses reached"] = len(private_hits)
    outcomes["memory"] = "little" if peak_megabytes() - peak_before < 100 else "much"
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
