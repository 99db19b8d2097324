"""The errors of an operation in the OpenAPI document, a response for each status; and a list of all."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from apispec import APISpec

from marketplace.api import error_handlers
from marketplace.api.paging import documented
from marketplace.errors import MarketplaceError, find_kinds
from marketplace.text import camel_case

REFUSALS = "x-refusals"  # the key of a view's documentation that has the classes of its errors
Kinds = dict[str, type[MarketplaceError]]  # by their words
# What several operations share is named by hand, so that generated clients keep their names. An error that
# comes alone is named after its reason, and what only one operation answers after that operation.
NAMES = {
    frozenset({"FIELD_INVALID", "END_USER_INVALID"}): "RequestInvalid",
    frozenset({"TRY_AGAIN", "DATABASE_UNUSABLE"}): "Unavailable",
}
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
    """Define a response, unless another operation has it already. Returns its name."""
    name = NAMES.get(frozenset(kinds), own)
    if len(kinds) == 1:
        name = camel_case(next(iter(kinds)))
    if name in spec.components.responses:
        return name
    examples = {reason: kind.make_example() for reason, kind in kinds.items()}
    bodies = {reason: {"value": error_handlers.body(error)} for reason, error in examples.items()}
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
