"""Errors of the sandbox's own addresses. The mirror node's are in mirror/, a node's in hapi/."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from flask import Flask, request
from werkzeug.exceptions import HTTPException, InternalServerError, MethodNotAllowed, NotFound
from werkzeug.exceptions import RequestEntityTooLarge as TooLarge

Answer = tuple[dict[str, Any], int, dict[str, str]]
# The words for programs, by status. They never change.
REASONS = {
    400: "REQUEST_NOT_JSON",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    413: "REQUEST_ENTITY_TOO_LARGE",
    415: "CONTENT_TYPE_NOT_JSON",
    421: "BAD_HOST",
    422: "FIELD_INVALID",
    500: "INTERNAL_SERVER_ERROR",
}


class LedgerRefused(Exception):
    """The sandbox does not start: the file is not one of its ledgers."""


class LedgerBusy(Exception):
    """Another process keeps the ledger locked."""

    reason, retry_after = "DATABASE_BUSY", 1

    def __str__(self) -> str:
        return "The database stayed locked by another writer. Nothing was changed; try again"


class LedgerUnusable(Exception):
    """The ledger's file is gone, or its disk is full."""

    reason, retry_after = "DATABASE_UNUSABLE", 60

    def __str__(self) -> str:
        return f"The database can not be used: {self.args[0]}. Nothing was changed"


class FieldsInvalid(Exception):
    """Fields of a body are wrong. ``wrong`` has a sentence for each, without its name."""

    def __init__(self, wrong: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name} {what}" for name, what in wrong.items()))
        self.wrong = wrong


def explain(error: sqlite3.OperationalError) -> LedgerBusy | LedgerUnusable:
    return LedgerBusy() if "locked" in str(error) else LedgerUnusable(str(error))


@contextmanager
def explained() -> Iterator[None]:
    """Raise LedgerBusy or LedgerUnusable in place of SQLite's errors about the file and its disk."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise explain(error) from error


def shown(value: object) -> str:
    """A client's value for a message: JSON in ASCII, cut to 60 characters."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def body(status: int, message: str, reason: str, errors: Any = None) -> dict[str, Any]:
    """The body of every error."""
    content = {
        "code": int(status),
        "status": HTTPStatus(status).phrase,
        "message": message,
        "reason": reason,
    }
    return content if errors is None else content | {"errors": errors}


def answer_fields_invalid(error: FieldsInvalid) -> Answer:
    wrong = {name: [what] for name, what in error.wrong.items()}
    return body(422, str(error), REASONS[422], {"json": wrong}), 422, {}


def answer_ledger_error(error: LedgerBusy | LedgerUnusable) -> Answer:
    return body(503, str(error), error.reason), 503, {"Retry-After": str(error.retry_after)}


def answer_http_error(error: HTTPException) -> Answer:
    status = error.code or HTTPStatus.INTERNAL_SERVER_ERROR
    headers = {name: value for name, value in error.get_headers() if name != "Content-Type"}
    reason = REASONS.get(status, error.name.upper().replace(" ", "_"))
    return body(status, _describe(error), reason), status, headers


def _describe(error: HTTPException) -> str:
    if isinstance(error, NotFound):
        return f"There is nothing at {shown(request.path)}"
    if isinstance(error, MethodNotAllowed):
        allowed = ", ".join(sorted(error.valid_methods or ()))
        return f"{request.method} is not allowed here, only {allowed}"
    if isinstance(error, TooLarge):
        return f"The body is larger than {request.max_content_length} bytes"
    if isinstance(error, InternalServerError):
        return "An unexpected error happened, and was logged. No request should cause this"
    return error.description or error.name


def init_app(app: Flask) -> None:
    app.register_error_handler(FieldsInvalid, answer_fields_invalid)
    app.register_error_handler(LedgerBusy, answer_ledger_error)
    app.register_error_handler(LedgerUnusable, answer_ledger_error)
    app.register_error_handler(
        sqlite3.OperationalError, lambda error: answer_ledger_error(explain(error))
    )
    app.register_error_handler(HTTPException, answer_http_error)
