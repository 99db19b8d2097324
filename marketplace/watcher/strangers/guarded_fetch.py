"""The only way to strangers' hosts: public addresses, resolved once and pinned, on ports 80 and 443.

Addresses that the operator chose (the gateways) may be private, and may be behind a proxy.
"""

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from typing import Any, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from requests.adapters import BaseAdapter, HTTPAdapter
from requests_hardened.ip_filter import InvalidIPAddress
from requests_hardened.ip_filter_adapter import IPFilterAdapter

from marketplace.ledger.http import Fetched, FetchError, HttpSession, Unfetchable, fetch
from marketplace.ledger.rate import Deadline

MAX_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)
URL_CHARACTERS = (
    "%/:=&?~#+!$,;'@()*[]"  # besides letters, digits and -._, those that stay as they are
)


class Address(NamedTuple):
    """A URL, and whether the operator chose its host (our gateways) or a stranger did."""

    url: str
    is_ours: bool


# IPv6 networks that embed IPv4 addresses, to which a router may translate them: RFC 4291 and RFC 2765.
HOLD_IPV4 = (ip_network("::/96"), ip_network("::ffff:0:0:0/96"))


def is_public(host: str) -> bool:
    """Tell whether an IP address is public, and belongs to a single host."""
    ip = ip_address(host.strip("[]"))
    is_site_local = ip.version == 6 and ip.is_site_local  # fec0::/10: is_global is True for it
    return ip.is_global and not (
        ip.is_multicast or is_site_local or any(ip in net for net in HOLD_IPV4)
    )


class GuardedAdapter(IPFilterAdapter):
    """Carries requests to public addresses only: resolved once, checked, and pinned."""

    def build_connection_pool_key_attributes(self, *args: Any, **kwargs: Any) -> Any:
        pinned, pool = super().build_connection_pool_key_attributes(*args, **kwargs)
        if not is_public(pinned["host"]):
            raise InvalidIPAddress(pinned["host"])
        return pinned, pool


class Fetcher:
    """Fetches from the operator's addresses directly, and from strangers' addresses with the guard."""

    def __init__(self, adapters: Mapping[str, BaseAdapter]) -> None:
        """``adapters``: of http.HttpSession, for the operator's addresses."""
        network = HTTPAdapter()
        self._ours = HttpSession({"http://": network, "https://": network, **adapters})
        self._strangers = HttpSession(
            {
                "http://": GuardedAdapter(is_https_proto=False),
                "https://": GuardedAdapter(is_https_proto=True),
            }
        )
        self._strangers.trust_env = False  # no proxies, no .netrc

    def get(self, address: Address, *, max_bytes: int, deadline: Deadline) -> Fetched:
        """Fetch an address, and follow a few redirects. Raises FetchError with the reason.

        The target of a redirect counts as a stranger's address.
        """
        for _ in range(MAX_REDIRECTS + 1):
            answer = fetch(self._find_session(address), address.url, max_bytes, deadline)
            if answer.status not in REDIRECTS or "Location" not in answer.headers:
                return answer
            address = follow(address, answer.headers["Location"])
        raise Unfetchable("it redirects too often")

    def post(
        self, address: Address, body: bytes, headers: Mapping[str, str], seconds: float
    ) -> tuple[int, Mapping[str, str]]:
        """Post a body, and return the answer's status and headers. Follows no redirect, and reads no body.

        Raises FetchError, OSError or ValueError, such as HeadersTooLarge. A server that sends its headers
        byte by byte can exceed the seconds.
        """
        session, url = self._find_session(address), address.url
        with session.post(
            url, body, headers=headers, timeout=seconds, stream=True, allow_redirects=False
        ) as response:
            return response.status_code, response.headers

    def _find_session(self, address: Address) -> HttpSession:
        """The session for an address. Raises FetchError."""
        if not address.is_ours:
            _require_web_port(address.url)
        return self._ours if address.is_ours else self._strangers


def follow(address: Address, location: str) -> Address:
    """A redirect's target. Bytes beyond ASCII, which arrive decoded as Latin-1, are sent unchanged."""
    try:
        sent = location.encode("latin-1")
        try:
            target = sent.decode()
        except UnicodeDecodeError:  # requests would make UTF-8 of them
            target = quote(sent, safe=URL_CHARACTERS)
        return Address(urljoin(address.url, target), is_ours=False)
    except ValueError:
        raise Unfetchable("it redirects to an invalid address") from None


def _require_web_port(url: str) -> None:
    """Raise FetchError unless the URL is http or https, on port 80 or 443."""
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in ("http", "https") and parts.port in (None, 80, 443)
    except ValueError as error:
        raise FetchError(f"it is not an address: {error}") from error
    if not is_web:
        raise Unfetchable("it is not an http or https address on port 80 or 443")
