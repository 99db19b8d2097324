"""Errors of a request itself: the app that sent it must be corrected, or log in, or wait."""

from collections.abc import Mapping
from http import HTTPStatus

from marketplace.errors.base import (
    AFTER_A_WHILE,
    ANYWHERE,
    BODIES,
    MEDIA,
    PARAMETERS,
    PROGRAM,
    QUERIES,
    SCOPED,
    MarketplaceError,
)
from marketplace.text import quote


class BadRequest(MarketplaceError):
    status = HTTPStatus.BAD_REQUEST
    tell = PROGRAM
    calls = (ANYWHERE, QUERIES, BODIES)
    example = ("The body is not JSON: Expecting value: line 1 column 1 (char 0)",)


class Forbidden(MarketplaceError):
    """An access token lacks a scope, or the host's own authenticate() refuses the caller."""

    status = HTTPStatus.FORBIDDEN
    again = "with another token"
    tell = "You may not do this"
    calls = (SCOPED,)
    example = ("You are not allowed to call this",)


class NotFound(MarketplaceError):
    status = HTTPStatus.NOT_FOUND
    tell = PROGRAM
    calls = ("any other address",)
    example = ('"fastwallet" is not a wallet of this service. Its wallets are: extwallet',)


class MethodNotAllowed(MarketplaceError):
    status = HTTPStatus.METHOD_NOT_ALLOWED
    sentence = "{} is not allowed here, only {}"
    tell = PROGRAM
    calls = (ANYWHERE,)
    example = ("PUT", "GET, HEAD, OPTIONS")


class PreconditionFailed(MarketplaceError):
    status = HTTPStatus.PRECONDITION_FAILED
    sentence = "The image is not the one that If-Match names"
    tell = PROGRAM
    calls = (MEDIA,)


class RequestedRangeNotSatisfiable(MarketplaceError):
    status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
    sentence = "The image has no bytes in the requested Range"
    tell = PROGRAM
    calls = (MEDIA,)


class RequestEntityTooLarge(MarketplaceError):
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    sentence = "The body is larger than {} bytes"
    tell = PROGRAM
    calls = (BODIES,)
    example = (65536,)


class RequestUriTooLong(MarketplaceError):
    """A list answers this, and the proxy (deploy/nginx.conf)."""

    status = HTTPStatus.REQUEST_URI_TOO_LONG
    sentence = "The URL is longer than {} bytes"
    tell = PROGRAM
    calls = (QUERIES,)
    example = (4000,)


class RequestHeadersTooLarge(MarketplaceError):
    """The proxy answers this."""

    status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    sentence = "The headers are longer than {} bytes"
    tell = PROGRAM
    calls = (ANYWHERE,)
    example = (8000,)


class FieldInvalid(MarketplaceError):
    """The fact: marshmallow's messages, by location and field."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    tell = "`errors` says which of the user's entries is wrong"
    calls = (PARAMETERS,)
    example = (
        {
            "json": {
                "serialNo": ["must be a whole number from 1 to 9223372036854775807, not 0"],
            }
        },
    )

    def __init__(self, invalid: Mapping[str, Mapping[str, list[str]]]) -> None:
        """Join the messages into one sentence: serialNo is required."""
        sentences = (
            f"{'body' if field == '_schema' else field} {messages[0]}"
            for fields in invalid.values()
            for field, messages in fields.items()
        )
        super().__init__("; ".join(sentences), errors=invalid)


class ContentTypeNotJson(MarketplaceError):
    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    sentence = "Content-Type must be application/json; it is {}"
    tell = PROGRAM
    calls = (BODIES,)
    example = ("text/plain",)

    def __init__(self, content_type: str | None) -> None:
        super().__init__(quote(content_type) if content_type else "missing")


class NotAuthenticated(MarketplaceError):
    """The challenge for a bearer token: RFC 6750, section 3."""

    status = HTTPStatus.UNAUTHORIZED
    again = "with another token"
    tell = "Log in again"
    calls = (SCOPED,)
    example = ("The header Authorization: Bearer <token> is missing",)

    def __init__(self, message: str, error: str | None = None) -> None:
        challenge = "Bearer" if error is None else f'Bearer error="{error}"'
        super().__init__(message, headers={"WWW-Authenticate": challenge})


class LimitExceeded(MarketplaceError):
    """The last fact: after how many seconds to try again."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    sentence = "{}: try again in {} s"
    again = AFTER_A_WHILE
    tell = "Too many requests: wait a moment"
    calls: tuple[str, ...] = (SCOPED,)
    example: tuple[object, ...] = ("This access token may write 600 times a minute", 12)

    def __init__(self, *facts: object) -> None:
        super().__init__(*facts, headers={"Retry-After": str(facts[-1])})
