"""The one way out: every byte from outside comes through here, within a size and a deadline.

Addresses the operator chose (the mirror node, the gateways) may be private. Every other address comes
from a stranger: public addresses only, resolved once and pinned, ports 80 and 443, no proxies.
"""

import time
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

import requests
from requests.adapters import BaseAdapter
from requests_hardened import Config, HTTPSession

from marketplace import __version__

USER_AGENT = f"nft-marketplace/{__version__}"
CONNECT_SECONDS = 3.0
SILENCE_SECONDS = 5.0
MAX_REDIRECTS = 3
CHUNK_BYTES = 64 * 1024


class FetchError(Exception):
    """Why something could not be had."""


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()


class Deadline:
    """A moment by which work must be done."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    def remaining(self) -> float:
        """Seconds left. Raises FetchError where there are none."""
        seconds = self._at - time.monotonic()
        if seconds <= 0:
            raise FetchError("it took too long")
        return seconds


class Fetcher:
    """Fetches from the operator's addresses (URL prefixes) as they are, from all others guardedly."""

    def __init__(self, operator_prefixes: tuple[str, ...], adapters: Mapping[str, BaseAdapter]):
        self._operator_prefixes = operator_prefixes
        self._operator_session = requests.Session()
        for prefix, adapter in adapters.items():
            self._operator_session.mount(prefix, adapter)
        self._guarded_session = HTTPSession(
            Config(
                ip_filter_enable=True,
                ip_filter_allow_loopback_ips=False,
                never_redirect=True,
                default_timeout=(CONNECT_SECONDS, SILENCE_SECONDS),
            )
        )
        self._guarded_session.trust_env = False
        for session in (self._operator_session, self._guarded_session):
            session.headers["User-Agent"] = USER_AGENT

    def get(self, url: str, *, max_bytes: int, deadline: Deadline) -> Answer:
        """Fetch what is at an address, following a few redirects. Raises FetchError with the reason."""
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._get_once(url, max_bytes, deadline)
            if answer.status not in (301, 302, 303, 307, 308) or "Location" not in answer.headers:
                return answer
            url = urljoin(url, answer.headers["Location"])
        raise FetchError("it redirects too often")

    def _get_once(self, url: str, max_bytes: int, deadline: Deadline) -> Answer:
        remaining = deadline.remaining()
        try:
            with self._session(url).get(
                url,
                stream=True,
                allow_redirects=False,
                timeout=(min(CONNECT_SECONDS, remaining), min(SILENCE_SECONDS, remaining)),
            ) as response:
                return Answer(
                    response.status_code, response.headers, _read(response, max_bytes, deadline)
                )
        except (requests.RequestException, OSError, ValueError) as error:
            raise FetchError(f"{type(error).__name__} from {urlsplit(url).netloc}") from error

    def _session(self, url: str) -> requests.Session:
        if url.startswith(self._operator_prefixes):
            return self._operator_session
        try:
            parts = urlsplit(url)
            allowed = parts.scheme in ("http", "https") and parts.port in (None, 80, 443)
        except ValueError:
            allowed = False
        if not allowed:
            raise FetchError("it is not an http or https address on port 80 or 443")
        return self._guarded_session


def _read(response: requests.Response, max_bytes: int, deadline: Deadline) -> bytes:
    content = bytearray()
    for chunk in response.iter_content(CHUNK_BYTES):
        content += chunk
        if len(content) > max_bytes:
            raise FetchError(f"it is larger than {max_bytes} bytes")
        deadline.remaining()
    return bytes(content)
