"""Error handlers: every error has the same body."""

from http import HTTPStatus
from typing import Any

from flask import Flask, current_app, request
from werkzeug.exceptions import BadHost, HTTPException, MethodNotAllowed
from werkzeug.http import HTTP_STATUS_CODES

from marketplace.errors import (
    DatabaseUnreachable,
    DatabaseUnusable,
    MarketplaceError,
    StartRefused,
    shown,
    upper_words,
)
from marketplace.store.database_errors import DatabaseError, explain

FIELD_INVALID = "FIELD_INVALID"
Answer = tuple[dict[str, Any], int, dict[str, str]]


def body(status: int, message: str, reason: str, errors: Any = None) -> dict[str, Any]:
    """Build the body of every error: {"code", "status", "message", "reason", "errors"?}."""
    name = HTTP_STATUS_CODES[status]
    payload = {"code": int(status), "status": name, "message": message, "reason": reason}
    return payload if errors is None else payload | {"errors": errors}


def answer_marketplace_error(error: MarketplaceError) -> Answer:
    if isinstance(error, DatabaseUnusable | DatabaseUnreachable):  # the operator must fix it
        current_app.logger.error("%s", error)
    answer = body(error.status, error.message, error.word(), error.errors)
    return answer, error.status, error.headers


def answer_http_error(error: HTTPException) -> Answer:
    """Answer an error of werkzeug or flask-smorest with our message and its headers."""
    invalid = getattr(error, "data", {}).get("messages")
    headers = {name: value for name, value in error.get_headers() if name != "Content-Type"}
    message = _describe_invalid(invalid) if invalid else _describe(error)
    status = error.code or HTTPStatus.INTERNAL_SERVER_ERROR
    reason = FIELD_INVALID if invalid else upper_words(type(error).__name__)
    return body(status, message, reason, invalid), status, headers


def _describe_invalid(invalid: dict[str, dict[str, list[str]]]) -> str:
    """Join marshmallow's messages by location and field into one sentence: "serialNo is required"."""
    return "; ".join(
        f"{'body' if field == '_schema' else field} {reasons[0]}"
        for messages in invalid.values()
        for field, reasons in messages.items()
    )


def _describe(error: HTTPException) -> str:
    if isinstance(error, BadHost):
        return f"The header Host is not a host: {shown(request.environ.get('HTTP_HOST'))}"
    if error.code == HTTPStatus.NOT_FOUND:
        return f"There is nothing at {shown(request.path)}: the API reference lists every address"
    if isinstance(error, MethodNotAllowed):
        allowed = ", ".join(sorted(error.valid_methods or ()))
        return f"{request.method} is not allowed here, only {allowed}"
    if error.code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return f"The body is larger than {request.max_content_length} bytes"
    if error.code == HTTPStatus.INTERNAL_SERVER_ERROR:
        return "An unexpected error happened, and was logged. No request should cause this"
    return error.description or error.name


def answer_database_error(error: DatabaseError) -> Answer:
    """Answer 503 if the database can not be used at the moment. Any other error is a bug: raise it."""
    reason = explain(error)
    if reason is None:
        raise error
    return answer_marketplace_error(reason)


def answer_refused_start(error: StartRefused) -> Answer:
    """Answer 503 if the database changed so that the service could not start now. The log says why."""
    unusable = DatabaseUnusable("it has changed since the start")
    unusable.reason = str(error)
    return answer_marketplace_error(unusable)


def init_app(app: Flask) -> None:
    app.register_error_handler(MarketplaceError, answer_marketplace_error)
    app.register_error_handler(HTTPException, answer_http_error)
    app.register_error_handler(DatabaseError, answer_database_error)
    app.register_error_handler(StartRefused, answer_refused_start)
