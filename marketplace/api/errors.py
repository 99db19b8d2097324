"""How errors are answered, and documented: each has the same body."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from apispec import APISpec
from flask import Flask, current_app, request
from marshmallow import fields
from werkzeug import exceptions
from werkzeug.exceptions import HTTPException
from werkzeug.http import HTTP_STATUS_CODES

from marketplace import errors
from marketplace.api.fields import CamelCaseSchema
from marketplace.api.paging import documented
from marketplace.api.schemas import show, text
from marketplace.errors import (
    DatabaseUnreachable,
    DatabaseUnusable,
    MarketplaceError,
    StartRefused,
    find_kinds,
)
from marketplace.store.connection import DatabaseError, explain
from marketplace.text import camel_case, quote, upper_words

Answer = tuple[dict[str, Any], int, dict[str, str]]


def wrong_fields(place: str) -> fields.Dict:
    """What is wrong with each field of a place, by the field's name."""
    sentences = fields.List(fields.String())
    metadata = {"description": f"What is wrong with each field of the {place}"}
    return fields.Dict(keys=fields.String(), values=sentences, metadata=metadata)


class LedgerErrorSchema(CamelCaseSchema):
    """The ledger's refusal, or the one that is to be expected."""

    result = fields.List(
        fields.String(),
        required=True,
        metadata={
            "description": "The ledger's result code",
            "example": ["INSUFFICIENT_ACCOUNT_BALANCE"],
        },
    )


class ErrorDetailsSchema(CamelCaseSchema):
    """What is wrong, by place. A place where nothing is wrong is missing."""

    path = wrong_fields("path")
    query = wrong_fields("query")
    headers = wrong_fields("headers")
    json = wrong_fields("body")
    nfts = fields.Dict(
        keys=fields.String(),
        values=fields.List(fields.String()),
        metadata={"description": "What is wrong with each of several NFTs, by 0.0.5001:7"},
    )
    ledger = fields.Nested(
        LedgerErrorSchema,
        metadata={"description": "The ledger refused the transaction, or would refuse it"},
    )


class ApiErrorSchema(CamelCaseSchema):
    """The one shape of every error."""

    code = show(fields.Integer, "HTTP status code", 404)
    status = text("HTTP status name", "Not Found")
    message = text(
        "What is wrong, and what to do", "0.0.5001 #999 is not stored: POST /v1/add it first"
    )
    reason = text(
        "The kind of error, a word that never changes. The list of errors may grow",
        "NFT_NOT_STORED",
    )
    errors = fields.Nested(
        ErrorDetailsSchema,
        metadata={"description": "The wrong fields, or the ledger's result code"},
    )


def body(error: MarketplaceError) -> dict[str, Any]:
    """Build the body of every error: {"code", "status", "message", "reason", "errors"?}."""
    return _build(error.status, error.message, error.word(), error.errors)


def _build(status: int, message: str, reason: str, errors: Any = None) -> dict[str, Any]:
    name = HTTP_STATUS_CODES.get(status, "Unknown Error")  # as werkzeug says for a host's own code
    payload = {"code": int(status), "status": name, "message": message, "reason": reason}
    return payload if errors is None else payload | {"errors": errors}


def answer_marketplace_error(error: MarketplaceError) -> Answer:
    if isinstance(error, DatabaseUnusable | DatabaseUnreachable):  # the operator must fix it
        current_app.logger.error("%s", error)
    return body(error), error.status, error.headers


def answer_http_error(error: HTTPException) -> Answer:
    """Answer an error of werkzeug or flask-smorest as ours of the same name, with its headers."""
    headers = {name: value for name, value in error.get_headers() if name != "Content-Type"}
    ours, status = _translate(error), error.code or HTTPStatus.INTERNAL_SERVER_ERROR
    if ours and ours.status == status:  # a host's class may have a status of its own
        return body(ours), ours.status, headers
    reason = upper_words(type(error).__name__)
    return _build(status, _describe(error), reason), status, headers


def _translate(error: HTTPException) -> MarketplaceError | None:
    """Our error for one that was raised outside of our code. None: a host's own, of another kind."""
    if invalid := getattr(error, "data", {}).get("messages"):
        return errors.FieldInvalid(invalid)
    match error:
        case exceptions.BadHost():
            host = quote(request.environ.get("HTTP_HOST"))
            return errors.BadRequest(f"The header Host is not a host: {host}")
        case exceptions.BadRequest():
            return errors.BadRequest(_describe(error))
        case exceptions.Unauthorized():
            return errors.NotAuthenticated(_describe(error))
        case exceptions.Forbidden():
            return errors.Forbidden(_describe(error))
        case exceptions.NotFound():
            return errors.NotFound(
                f"There is nothing at {quote(request.path)}: the API reference lists every address"
            )
        case exceptions.MethodNotAllowed():
            allowed = ", ".join(sorted(error.valid_methods or ()))
            return errors.MethodNotAllowed(request.method, allowed)
        case exceptions.RequestEntityTooLarge():
            return errors.RequestEntityTooLarge(request.max_content_length)
        case exceptions.RequestedRangeNotSatisfiable():
            return errors.RequestedRangeNotSatisfiable()
        case exceptions.InternalServerError():
            return errors.InternalServerError()
    return None


def _describe(error: HTTPException) -> str:
    return error.description or error.name


def answer_database_error(error: DatabaseError) -> Answer:
    """Answer 503 if the database cannot be used at the moment. Any other error is a bug: raise it."""
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


REFUSALS = "x-refusals"  # the key of a view's documentation that has the classes of its errors
Kinds = dict[str, type[MarketplaceError]]  # by their words
API_ERROR = {"$ref": "#/components/schemas/ApiError"}
CHALLENGE = documented("WWW-Authenticate", "RFC 6750")
RETRY_AFTER = documented("Retry-After", "Seconds", "integer")
HEADERS = {401: CHALLENGE, 403: CHALLENGE, 429: RETRY_AFTER, 503: RETRY_AFTER}


def document_refusals(spec: APISpec, operation: dict[str, Any]) -> None:
    """Replace the refusals of an operation by a response for each status."""
    by_status: dict[int, Kinds] = {}
    for reason, kind in operation.pop(REFUSALS, {}).items():
        by_status.setdefault(int(kind.status), {})[reason] = kind
    for status, kinds in sorted(by_status.items()):
        own = f"{camel_case(operation['operationId'])}{status}"
        operation["responses"][status] = _define(spec, own, status, kinds)


def _define(spec: APISpec, own: str, status: int, kinds: Kinds) -> str:
    """Define a response, unless another operation has it already. Returns its name.

    An error that comes alone is named after its reason, and several after the operation.
    """
    name = camel_case(next(iter(kinds))) if len(kinds) == 1 else own
    if name in spec.components.responses:
        return name
    examples = {reason: kind.make_example() for reason, kind in kinds.items()}
    bodies = {reason: {"value": body(error)} for reason, error in examples.items()}
    described = [f"`{reason}`: {error.message}" for reason, error in examples.items()]
    response = {
        "description": "\n\n".join(described),
        "headers": HEADERS.get(status, {}),
        "content": {"application/json": {"schema": API_ERROR, "examples": bodies}},
    }
    spec.components.response(name, response)
    return name


class Reason(NamedTuple):
    """What clients can know of an error, in Markdown."""

    reason: str
    status: int
    calls: str  # which may answer it
    again: str  # whether, and when, the same request makes sense
    tell: str  # a user


def list_reasons(operations: Mapping[str, set[str]]) -> list[Reason]:
    """List all reasons by name. ``operations``: the reasons of each, such as GET /v1/orderbook."""
    listed = []
    for kind in sorted(find_kinds(), key=lambda kind: kind.word()):
        reason = kind.word()
        refusing = {_shorten(each) for each, reasons in operations.items() if reason in reasons}
        calls = ", ".join(kind.calls or [f"`{each}`" for each in sorted(refusing)])
        listed.append(Reason(f"`{reason}`", int(kind.status), calls, kind.again, kind.tell))
    return listed


def _shorten(operation: str) -> str:
    """Name an operation without /v1 and its parameters: nft/traits."""
    _, path = operation.split(" ")
    path = path.partition("/v1/")[2] or path
    return "/".join(part for part in path.split("/") if not part.startswith("{"))
