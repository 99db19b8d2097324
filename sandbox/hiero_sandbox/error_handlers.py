"""Answers the errors of the sandbox's own addresses."""

import sqlite3
from http import HTTPStatus
from typing import Any

from flask import Flask, request
from werkzeug.exceptions import HTTPException, InternalServerError, MethodNotAllowed, NotFound
from werkzeug.exceptions import RequestEntityTooLarge as TooLarge

from hiero_sandbox.errors import (
    REASONS,
    FieldsInvalid,
    LedgerBusy,
    LedgerUnusable,
    body,
    explain,
    shown,
)

Answer = tuple[dict[str, Any], int, dict[str, str]]


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
