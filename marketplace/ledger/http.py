"""Fetches over HTTP, within a size and a deadline."""

import io
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http.cookiejar import DefaultCookiePolicy
from math import ceil
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import requests
from requests.adapters import BaseAdapter
from urllib3.exceptions import HTTPError

from marketplace.ledger.rate import Deadline, TimeIsUp
from marketplace.version import __version__

USER_AGENT = f"nft-marketplace/{__version__}"
CONNECT_SECONDS = 3.0
SILENCE_SECONDS = 5.0
CHUNK_BYTES = 64 * 1024


class FetchError(Exception):
    """The reason why a fetch failed."""


class Unfetchable(FetchError):
    """Retrying would not help: too large, too many redirects, or a forbidden address."""


class Fetched(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes


class HttpSession(requests.Session):
    """A session that keeps no cookies, and follows no redirects."""

    def __init__(self, adapters: Mapping[str, BaseAdapter]) -> None:
        """``adapters``, by URL prefix, carry the requests to those URLs; the network carries all others."""
        super().__init__()
        self.headers["User-Agent"] = USER_AGENT
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for prefix, adapter in adapters.items():
            self.mount(prefix, adapter)

    def get_redirect_target(self, response: Any) -> None:
        """Return None. Otherwise, requests reads a redirect's whole body, even without following it."""


def fetch(session: HttpSession, url: str, max_bytes: int, deadline: Deadline) -> Fetched:
    """Fetch a URL. Raises FetchError with the reason.

    The deadline limits each wait for the server, and is checked after each part of the body. A server that
    sends its headers byte by byte can exceed the deadline.
    """
    try:
        seconds = deadline.remaining()
        timeouts = min(CONNECT_SECONDS, seconds), min(SILENCE_SECONDS, seconds)
        with session.get(url, stream=True, allow_redirects=False, timeout=timeouts) as response:
            content = _read(response, max_bytes, deadline)
        return Fetched(response.status_code, response.headers, content)
    except TimeIsUp:
        raise FetchError("it took too long") from None
    except (requests.RequestException, HTTPError, OSError, ValueError) as error:
        raise FetchError(f"{type(error).__name__} from {find_host(url)}") from error


def read_retry_after(headers: Mapping[str, str]) -> int:
    """The seconds that Retry-After asks for, as a number or as a date; 0 without this header."""
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return int(value[:9])
    try:
        return max(0, ceil(parsedate_to_datetime(value).timestamp() - time.time()))
    except (ValueError, OverflowError):
        return 0


def find_host(url: str) -> str:
    try:
        return urlsplit(url).hostname or "nowhere"
    except ValueError:
        return "nowhere"


def _read(response: requests.Response, max_bytes: int, deadline: Deadline) -> bytes:
    content = io.BytesIO()  # getvalue() makes no copy
    # read1() returns the bytes that have arrived; iter_content() waits for a whole chunk.
    while chunk := response.raw.read1(CHUNK_BYTES, decode_content=True):
        content.write(chunk)
        if content.tell() > max_bytes:
            raise Unfetchable(f"it is larger than {max_bytes} bytes")
        deadline.remaining()
    return content.getvalue()
