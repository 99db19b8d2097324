"""The one way out: every byte from outside comes through here, within a size and a deadline.

Addresses the operator chose (the mirror node, the gateways) may be private. Every other address comes
from a stranger: public addresses only, resolved once and pinned, ports 80 and 443, no proxies.
"""

import io
from collections.abc import Mapping
from http.cookiejar import DefaultCookiePolicy
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

import requests
from requests.adapters import BaseAdapter

from marketplace import __version__
from marketplace.ledger.deadline import (
    Deadline,
    GuardedAdapter,
    TimeIsUp,
    WatchedAdapter,
    watched,
)

USER_AGENT = f"nft-marketplace/{__version__}"
CONNECT_SECONDS = 3.0
SILENCE_SECONDS = 5.0
MAX_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)
CHUNK_BYTES = 64 * 1024
CONNECTIONS = 32  # kept open to each host


class FetchError(Exception):
    """Why something could not be had."""


class Unfetchable(FetchError):
    """Trying again would not help: too large, too many redirects, an address that is not allowed."""


class Fetched(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes


class Address(NamedTuple):
    """Where to fetch from, and whether the operator chose the host (our gateways) or a stranger."""

    url: str
    is_ours: bool


class Fetcher:
    """Fetches from the operator's addresses as they are, and from strangers' addresses guardedly."""

    def __init__(self, adapters: Mapping[str, BaseAdapter]) -> None:
        """Adapters carry our own requests to some address prefixes; the network carries the others."""
        network = WatchedAdapter(pool_maxsize=CONNECTIONS)
        self._ours = _session({"http://": network, "https://": network, **adapters})
        self._strangers = _session(
            {
                "http://": GuardedAdapter(is_https_proto=False),
                "https://": GuardedAdapter(is_https_proto=True),
            }
        )
        self._strangers.trust_env = False  # no proxies, no .netrc

    def get(self, address: Address, *, max_bytes: int, deadline: Deadline) -> Fetched:
        """Fetch what is at an address, following a few redirects. Raises FetchError with the reason.

        Wherever a redirect leads to, is a stranger's choice.
        """
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._get_once(address, max_bytes, deadline)
            if answer.status not in REDIRECTS or "Location" not in answer.headers:
                return answer
            address = _follow(address, answer.headers["Location"])
        raise Unfetchable("it redirects too often")

    def close(self) -> None:
        """End the connections that are kept open; new ones are made when they are needed."""
        self._ours.close()
        self._strangers.close()

    def _get_once(self, address: Address, max_bytes: int, deadline: Deadline) -> Fetched:
        try:
            if not address.is_ours:
                _require_web_port(address.url)
            session = self._ours if address.is_ours else self._strangers
            with watched(deadline):
                # At the deadline the connection is shut down, as soon as there is one.
                timeouts = (min(CONNECT_SECONDS, deadline.remaining()), SILENCE_SECONDS)
                with session.get(
                    address.url, stream=True, allow_redirects=False, timeout=timeouts
                ) as response:
                    content = _read(response, max_bytes)
            return Fetched(response.status_code, response.headers, content)
        except TimeIsUp:
            raise FetchError("it took too long") from None
        except (requests.RequestException, OSError, ValueError) as error:
            raise FetchError(f"{type(error).__name__} from {_host(address.url)}") from error


def _follow(address: Address, location: str) -> Address:
    try:
        return Address(urljoin(address.url, location), is_ours=False)
    except ValueError:
        raise Unfetchable("it redirects to what is no address") from None


def _require_web_port(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or parts.port not in (None, 80, 443):
        raise Unfetchable("it is not an http or https address on port 80 or 443")


class _Session(requests.Session):
    def get_redirect_target(self, response):
        """None: requests would read a redirect's body whole, though it is told not to follow."""


def _session(adapters: Mapping[str, BaseAdapter]) -> requests.Session:
    session = _Session()
    session.headers["User-Agent"] = USER_AGENT
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    for prefix, adapter in adapters.items():
        session.mount(prefix, adapter)
    return session


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or "nowhere"
    except ValueError:
        return "nowhere"


def _read(response: requests.Response, max_bytes: int) -> bytes:
    content = io.BytesIO()  # which hands its bytes over without a copy
    for chunk in response.iter_content(CHUNK_BYTES):
        content.write(chunk)
        if content.tell() > max_bytes:
            raise Unfetchable(f"it is larger than {max_bytes} bytes")
    return content.getvalue()
