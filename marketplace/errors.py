"""What can go wrong, the status it answers with, and the one body every error is told in.

MarketplaceError
├── RequestNotJson 400, ContentTypeNotJson 415
├── NotAuthenticated 401, ScopeMissing 403
├── NotFound 404: NftNotStored, NftNotOnLedger, NftGone, WalletUnknown, ListingNotPrepared
├── Conflict 409: NotTheOwner, OwnerIsMarketplace, ListingRefused, ListingAltered, ListingEnded
├── PageTokenInvalid 422
├── LedgerAnswerInvalid 502
└── LedgerUnreachable 503, MediaUnreachable 503, DatabaseBusy 503, DatabaseUnusable 503

Each is raised with facts and writes its own sentence: the thing, and the way out.
"""

import json
from http import HTTPStatus

from flask import Flask, request
from werkzeug.exceptions import HTTPException
from werkzeug.http import HTTP_STATUS_CODES

LOCATIONS = {"json": "body"}


def shown(value: object) -> str:
    """A stranger's value, fit for a sentence: as JSON, in ASCII, and not long."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = "a value of another kind"
    return text if len(text) <= 60 else f"{text[:57]}..."


class MarketplaceError(Exception):
    """Something a caller is told about."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR

    def __init__(
        self,
        message: str,
        *,
        errors: dict | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.errors = errors
        self.headers = headers or {}


class RequestNotJson(MarketplaceError):
    status = HTTPStatus.BAD_REQUEST

    def __init__(self, reason: str) -> None:
        super().__init__(f"The body is not JSON: {reason}")


class ContentTypeNotJson(MarketplaceError):
    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE

    def __init__(self, content_type: str | None) -> None:
        sent = shown(content_type) if content_type else "missing"
        super().__init__(f"Content-Type must be application/json; it is {sent}")


class NotAuthenticated(MarketplaceError):
    """RFC 6750, section 3: how a bearer token is asked for, and refused."""

    status = HTTPStatus.UNAUTHORIZED

    def __init__(self, message: str, error: str | None = None) -> None:
        challenge = "Bearer" if error is None else f'Bearer error="{error}"'
        super().__init__(message, headers={"WWW-Authenticate": challenge})


class ScopeMissing(MarketplaceError):
    status = HTTPStatus.FORBIDDEN

    def __init__(self, scope: str) -> None:
        super().__init__(
            f"This access token lacks the scope {shown(scope)}",
            headers={"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'},
        )


class NotFound(MarketplaceError):
    status = HTTPStatus.NOT_FOUND


class NftNotStored(NotFound):
    def __init__(self, token: str, serial_no: int) -> None:
        super().__init__(f"{token} #{serial_no} is not stored: POST /v1/add it first")


class NftNotOnLedger(NotFound):
    def __init__(self, token: str, serial_no: int) -> None:
        super().__init__(f"{token} #{serial_no} is not an NFT on the ledger")


class NftGone(NotFound):
    def __init__(self, token: str, serial_no: int) -> None:
        super().__init__(f"{token} #{serial_no} was burned on the ledger, or its token was deleted")


class WalletUnknown(NotFound):
    def __init__(self, wallet: str, wallets: tuple[str, ...]) -> None:
        super().__init__(f"{shown(wallet)} is not a wallet known here: {', '.join(wallets)}")


class ListingNotPrepared(NotFound):
    def __init__(self, account_id: str, token: str, serial_no: int, transaction_id: str | None):
        what = transaction_id or "No listing"
        negation = "was not prepared" if transaction_id else "was prepared"
        super().__init__(
            f"{what} {negation} here for {account_id} and {token} #{serial_no}:"
            " POST /v1/list/<wallet> prepares one"
        )


class Conflict(MarketplaceError):
    status = HTTPStatus.CONFLICT


class NotTheOwner(Conflict):
    def __init__(self, account_id: str, token: str, serial_no: int, owner: str) -> None:
        super().__init__(f"{token} #{serial_no} belongs to {owner}, not to {account_id}")


class OwnerIsMarketplace(Conflict):
    def __init__(self, account_id: str) -> None:
        super().__init__(
            f"{account_id} is the marketplace's own account; the ledger lets no account approve itself"
            " (SPENDER_ACCOUNT_SAME_AS_OWNER)"
        )


class ListingRefused(Conflict):
    """The ledger's own result code says why a listing did not happen."""

    def __init__(self, transaction_id: str, result: str) -> None:
        is_late = (
            result == "TRANSACTION_EXPIRED"
        )  # the ledger has no record of it, and can have none
        reason = (
            f"it was not submitted in time ({result})" if is_late else f"the ledger says {result}"
        )
        super().__init__(
            f"{transaction_id} did not list the NFT: {reason}. Prepare a new listing",
            errors={"ledger": {"result": [result]}},
        )


class ListingAltered(Conflict):
    def __init__(self, transaction_id: str, name: str) -> None:
        super().__init__(
            f"{transaction_id} is a {name} on the ledger, but not the transaction prepared here:"
            " its kind or its memo is another. Prepare a new listing"
        )


class ListingEnded(Conflict):
    def __init__(self, token: str, serial_no: int, reason: str) -> None:
        super().__init__(f"{token} #{serial_no} is no longer listed: {reason}")


class PageTokenInvalid(MarketplaceError):
    status = HTTPStatus.UNPROCESSABLE_ENTITY

    def __init__(self, token: str) -> None:
        reason = f"must be a page token from this list's own Link header, not {shown(token)}"
        super().__init__(f"page {reason}", errors={"query": {"page": [reason]}})


class LedgerAnswerInvalid(MarketplaceError):
    status = HTTPStatus.BAD_GATEWAY

    def __init__(self, reason: str) -> None:
        super().__init__(f"The ledger's mirror node answered what makes no sense: {reason}")


class LedgerUnreachable(MarketplaceError):
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, reason: str, retry_after: int = 5) -> None:
        super().__init__(
            f"The ledger's mirror node did not answer: {reason}. Try again: nothing is done twice",
            headers={"Retry-After": str(retry_after)},
        )


class MediaUnreachable(MarketplaceError):
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self) -> None:
        super().__init__(
            "The store of images did not answer; try again", headers={"Retry-After": "5"}
        )


class DatabaseBusy(MarketplaceError):
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, seconds: int) -> None:
        super().__init__(
            f"The database stayed locked for {seconds} s. Nothing was changed; try again",
            headers={"Retry-After": "1"},
        )


class DatabaseUnusable(MarketplaceError):
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The database can not be used: {reason}. Nothing was changed; the operator must mend it",
            headers={"Retry-After": "60"},
        )


def body(status: int, message: str, errors: dict | None = None) -> dict:
    """Build the body of every error: {"code", "status", "message", "errors"?}."""
    payload = {"code": int(status), "status": HTTP_STATUS_CODES[status], "message": message}
    return payload if errors is None else payload | {"errors": errors}


def answer_marketplace_error(error: MarketplaceError):
    return body(error.status, error.message, error.errors), error.status, error.headers


def answer_http_error(error: HTTPException):
    """Tell werkzeug's and flask-smorest's own errors in our words, keeping their headers."""
    invalid = getattr(error, "data", {}).get("messages")
    headers = {name: value for name, value in error.get_headers() if name != "Content-Type"}
    message = _describe_invalid(invalid) if invalid else _describe(error)
    return body(error.code, message, invalid), error.code, headers


def _describe_invalid(invalid: dict) -> str:
    """One sentence from marshmallow's messages by location and field: "serialNo is required"."""
    sentences = []
    for location, messages in invalid.items():
        for field, reasons in messages.items():
            name = LOCATIONS.get(location, location) if field == "_schema" else field
            sentences.append(f"{name} {reasons[0]}")
    return "; ".join(sentences)


def _describe(error: HTTPException) -> str:
    if error.code == HTTPStatus.NOT_FOUND:
        return f"There is nothing at {shown(request.path)}: the API reference lists every address"
    if error.code == HTTPStatus.METHOD_NOT_ALLOWED:
        return (
            f"{request.method} is not allowed here, only {', '.join(sorted(error.valid_methods))}"
        )
    if error.code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return f"The body is larger than {request.max_content_length} bytes"
    if error.code == HTTPStatus.INTERNAL_SERVER_ERROR:
        return "Something went wrong here, and has been logged. Nothing you sent should cause this"
    return error.description


def init_app(app: Flask) -> None:
    app.register_error_handler(MarketplaceError, answer_marketplace_error)
    app.register_error_handler(HTTPException, answer_http_error)
