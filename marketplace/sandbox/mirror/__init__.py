"""Stands in for the mirror node: its REST paths, shapes and errors, about the sandbox's own ledger."""

from flask import Blueprint, Response, request
from werkzeug.exceptions import BadRequest, HTTPException, NotFound, ServiceUnavailable

from marketplace.sandbox.mirror import accounts, network, nfts, tokens, transactions
from marketplace.sandbox.mirror.parameters import Document

# Seconds, by the path below /api/v1 with its ids left out.
CACHED_SECONDS = {"transactions/<transaction_id>": 600, "tokens/<token>": 5, "transactions": 2}

blp = Blueprint("mirror", __name__, url_prefix="/api/v1")
for part in (accounts, network, nfts, tokens, transactions):
    blp.register_blueprint(part.blp)


@blp.after_request
def add_headers(response: Response) -> Response:
    """Add the headers that the mirror node sends: Link besides links.next, Cache-Control, and a charset."""
    if not response.is_json or response.status_code >= 500:
        return response
    response.content_type = "application/json; charset=utf-8"
    if response.status_code >= 400 or request.url_rule is None:
        return response
    path = request.url_rule.rule.removeprefix(f"{blp.url_prefix}/")
    response.cache_control.public = True
    response.cache_control.max_age = CACHED_SECONDS.get(path, 1)
    following = (response.json or {}).get("links", {}).get("next")
    if following:
        response.headers["Link"] = f'<{following}>; rel="next"'
    return response


@blp.errorhandler(BadRequest)
@blp.errorhandler(NotFound)
@blp.errorhandler(ServiceUnavailable)
def answer_error(error: HTTPException) -> tuple[Document, int]:
    return {"_status": {"messages": [{"message": error.description}]}}, error.code or 500


@blp.get("/<path:unknown>")
def show_nothing(unknown: str) -> Document:
    raise NotFound("Not found")
