"""Guards the sandbox against DNS rebinding, by the Host header.

A browser lets a page read everything that its own host name serves, and the owner of the name can point it
at this machine. IP addresses, names without a dot and those of private networks (.internal, as containers
name their host) cannot belong to another site.
"""

import json
from collections.abc import Collection, Iterable
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug import Response

from hiero_sandbox.errors import REASONS, shown
from hiero_sandbox.errors import body as error_body

PRIVATE = (".localhost", ".internal")


class HostGuard:
    """WSGI middleware in front of everything that answers, including the cache."""

    def __init__(
        self,
        application: WSGIApplication,
        public_url: str,
        hint: str = "",
        allowed: Collection[str] = (),
    ) -> None:
        """``hint``: how else to reach it, for the message of a refusal.

        ``allowed``: further names; one that begins with a dot stands for all names that end so.
        """
        own_name = urlsplit(public_url).hostname
        self._application, self._hint = application, hint
        self._names = [each.lower() for each in (own_name, *allowed) if each]

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        host = environ.get("HTTP_HOST", "")
        if not is_answered(host, self._names):
            return refuse(host, self._hint)(environ, start_response)
        return self._application(environ, start_response)


def refuse(host: str, hint: str = "") -> Response:
    """The response to a foreign Host."""
    status = HTTPStatus.MISDIRECTED_REQUEST
    way_out = f"open the address that was printed at the start{hint}"
    message = f"The sandbox does not answer to {shown(host)}: {way_out}"
    content = json.dumps(error_body(status, message, REASONS[status]))
    return Response(content, status, mimetype="application/json")


def is_answered(host: str, names: Collection[str]) -> bool:
    """Whether a Host is an IP address, a name of this machine or network, or one of the names."""
    try:
        name = (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return False
    try:
        return bool(ip_address(name))
    except ValueError:
        endings = (*PRIVATE, *(each for each in names if each.startswith(".")))
        return "." not in name or name in names or name.endswith(endings)
