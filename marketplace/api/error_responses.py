"""The errors of an operation in the OpenAPI document: a response for each status, with its reasons."""

from typing import Any

from apispec import APISpec

from marketplace.api import error_handlers
from marketplace.api.error_reasons import ErrorExample
from marketplace.api.paging import documented
from marketplace.errors import camel_case

REFUSALS = "refusals"  # the key of a view's documentation that has its ErrorExamples
# What several operations share is named by hand, so that generated clients keep their names. An error that
# comes alone is named after its reason, and what only one operation answers after that operation.
NAMES = {
    frozenset({"NOT_AUTHENTICATED", "UNAUTHORIZED"}): "NotAuthenticated",
    frozenset({"SCOPE_MISSING", "FORBIDDEN"}): "NotAllowed",
    frozenset({"FIELD_INVALID", "END_USER_INVALID"}): "RequestInvalid",
    frozenset({"REQUEST_NOT_JSON", "BODY_MALFORMED"}): "BodyInvalid",
    frozenset({"DATABASE_BUSY", "DATABASE_UNREACHABLE", "DATABASE_UNUSABLE"}): "Unavailable",
}
API_ERROR = {"$ref": "#/components/schemas/ApiError"}
CHALLENGE = documented("WWW-Authenticate", "RFC 6750")
RETRY_AFTER = documented("Retry-After", "Seconds", "integer")
LIMITS = documented("RateLimit", "What is left of each limit") | documented(
    "RateLimit-Policy", "Each limit"
)
HEADERS = {401: CHALLENGE, 403: CHALLENGE, 429: RETRY_AFTER | LIMITS, 503: RETRY_AFTER}


def document_refusals(
    doc: dict[str, Any], doc_info: dict[str, Any], *, spec: APISpec, **_: Any
) -> dict[str, Any]:
    """Add the errors of an operation to its documentation. flask-smorest calls this for each."""
    by_status: dict[int, dict[str, ErrorExample]] = {}
    for example in doc_info.get(REFUSALS, ()):
        by_status.setdefault(int(example.status), {}).setdefault(example.reason, example)
    responses = doc.setdefault("responses", {})
    for status, examples in sorted(by_status.items()):
        own = f"{camel_case(doc_info['manual_doc']['operationId'])}{status}"
        responses[status] = _define(spec, own, status, examples)
    return doc


def _define(spec: APISpec, own: str, status: int, examples: dict[str, ErrorExample]) -> str:
    """Define a response and its schema, unless another operation has it already. Returns its name."""
    name = NAMES.get(frozenset(examples), own)
    if len(examples) == 1:
        name = camel_case(next(iter(examples)))
    if name in spec.components.responses:
        return name
    schema = f"{name}Error"
    reason = {"type": "string", "enum": [*examples]}
    narrowed = {"type": "object", "properties": {"reason": reason}, "required": ["reason"]}
    spec.components.schema(schema, {"allOf": [API_ERROR, narrowed]})
    bodies = {
        reason: {"value": error_handlers.body(status, each.message, reason, each.errors)}
        for reason, each in examples.items()
    }
    described = [f"`{reason}`: {each.message}" for reason, each in examples.items()]
    response = {
        "description": "\n\n".join(described),
        "headers": HEADERS.get(status, {}),
        "content": {"application/json": {"schema": schema, "examples": bodies}},
    }
    spec.components.response(name, response)
    return name
