"""Which names the sandbox answers to: a page of another site must not reach it by a name that leads here.

A browser lets a page read what is served under the page's own name, wherever that name leads by now (DNS
rebinding). An IP address, and a name without a dot, are of no such site.
"""

import json
from collections.abc import Iterable
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

from marketplace.errors import shown


class HostGuard:
    """WSGI middleware that refuses, with 421, a Host that is not its own."""

    def __init__(self, application, own_name: str | None) -> None:
        self._application, self._own_name = application, own_name

    def __call__(self, environ: dict, start_response) -> Iterable[bytes]:
        host = environ.get("HTTP_HOST", "")
        if is_answered(host, self._own_name):
            return self._application(environ, start_response)
        status = HTTPStatus.MISDIRECTED_REQUEST
        message = (
            f"The sandbox does not answer to {shown(host)}: open it by the address that the start prints, or"
            " set MARKETPLACE_PUBLIC_URL to this one"
        )
        body = {"code": status.value, "status": status.phrase, "message": message}
        content = json.dumps(body).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(content)))]
        start_response(f"{status.value} {status.phrase}", headers)
        return [content]


def is_answered(host: str, own_name: str | None) -> bool:
    """Whether a Host is an IP address, a name of this machine or network, or the service's own."""
    try:
        name = (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return False
    try:
        return bool(ip_address(name))
    except ValueError:
        is_near = "." not in name or name.endswith(".localhost")
        return is_near or name == own_name
