"""The mirror node of the sandbox's ledger: its REST paths, shapes and errors."""

from typing import Any

from flask import Blueprint, Response, current_app, request
from werkzeug.exceptions import BadRequest, HTTPException, NotFound, ServiceUnavailable

from hiero_sandbox import database, node
from hiero_sandbox.conditions import MIRROR_429, MIRROR_503, conditions, mirror_now, now
from hiero_sandbox.ledger.envelopes import Refused
from hiero_sandbox.mirror import (
    accounts,
    airdrops,
    allowances,
    contracts,
    network,
    nfts,
    parameters,
    schedules,
    tokens,
    topics,
    transactions,
)
from hiero_sandbox.mirror.parameters import Document

# Each has a blueprint, and perhaps IDS: the parsers of ids in its paths, each with the id's name in messages.
PARTS = (
    accounts,
    airdrops,
    allowances,
    contracts,
    network,
    nfts,
    schedules,
    tokens,
    topics,
    transactions,
)
IDS = {name: found for part in PARTS for name, found in getattr(part, "IDS", {}).items()}

blp = Blueprint("mirror", __name__, url_prefix="/api/v1")
for part in PARTS:
    blp.register_blueprint(part.blp)


@blp.url_value_preprocessor
def parse_ids(endpoint: str | None, values: dict[str, Any] | None) -> None:
    if values is None or request.method == "OPTIONS":
        return
    messages: list[str] = []
    for name in [name for name in values if name in IDS]:  # in the path's order
        parse, shown_name = IDS[name]
        try:
            values[name] = parse(values[name])
        except ValueError:
            messages += parameters.invalid(shown_name).messages
    if messages:
        raise parameters.Invalid(*messages)


blp.before_request(parameters.lower_names)


@blp.before_request
def meet_conditions() -> Response | None:
    """Fail, if a test has asked for it, or show the past, if the mirror node lags."""
    for fault, status in ((MIRROR_429, 429), (MIRROR_503, 503)):
        if conditions().take(fault):
            return Response(f"{fault}\n", status, {"Retry-After": "1"}, mimetype="text/plain")
    node.end_expired_schedules(now())
    if conditions().lag:
        database.look_back(mirror_now())
    return None


@blp.teardown_request
def leave(error: BaseException | None) -> None:
    database.look_at_present()


@blp.after_request
def add_headers(response: Response) -> Response:
    """Add the headers that the mirror node sends: Link besides links.next, Cache-Control, and a charset."""
    if not response.is_json or response.status_code >= 500:
        return response
    response.content_type = "application/json; charset=utf-8"
    if response.status_code >= 400 or request.url_rule is None:
        return response
    view = current_app.view_functions[request.url_rule.endpoint]
    response.cache_control.public = True
    response.cache_control.max_age = parameters.cached_seconds(view)
    following = (response.json or {}).get("links", {}).get("next")
    if following:
        response.headers["Link"] = f'<{following}>; rel="next"'
    return response


@blp.errorhandler(BadRequest)
@blp.errorhandler(NotFound)
@blp.errorhandler(ServiceUnavailable)
def answer_error(error: HTTPException) -> tuple[Document, int]:
    messages = getattr(error, "messages", (error.description,))
    detail = getattr(error, "detail", None)
    more = {"detail": detail} if detail else {}
    shown = [{"message": each} | more for each in messages]
    return {"_status": {"messages": shown}}, error.code or 500


@blp.errorhandler(Refused)
def answer_refused(refusal: Refused) -> tuple[Document, int]:
    """Answer that the ledger has no such account or token."""
    return answer_error(NotFound("Not found"))


@blp.get("/<path:unknown>")
def show_nothing(unknown: str) -> Document:
    raise NotFound("Not found")
