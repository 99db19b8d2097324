"""Stands in for the mirror node: its REST paths, shapes and errors, about the sandbox's own ledger."""

from flask import Blueprint, request

from marketplace.sandbox.mirror import accounts, network, nfts, tokens, transactions
from marketplace.sandbox.mirror.parameters import BadRequest, Missing, Unavailable

# Seconds, by the path below /api/v1 with its ids left out.
CACHED_SECONDS = {"transactions/<transaction_id>": 600, "tokens/<token>": 5, "transactions": 2}

blp = Blueprint("mirror", __name__, url_prefix="/api/v1")
for part in (accounts, network, nfts, tokens, transactions):
    blp.register_blueprint(part.blp)


@blp.after_request
def add_headers(response):
    """Add the headers that the mirror node sends: Link besides links.next, Cache-Control, and a charset."""
    if not response.is_json or response.status_code >= 500:
        return response
    response.content_type = "application/json; charset=utf-8"
    if response.status_code >= 400:
        return response
    path = request.url_rule.rule.removeprefix(f"{blp.url_prefix}/")
    response.cache_control.public = True
    response.cache_control.max_age = CACHED_SECONDS.get(path, 1)
    following = response.json.get("links", {}).get("next")
    if following:
        response.headers["Link"] = f'<{following}>; rel="next"'
    return response


@blp.errorhandler(Unavailable)
def answer_unavailable(error):
    return _messages("Service Unavailable"), 503


@blp.errorhandler(BadRequest)
def answer_bad_request(error):
    return _messages(str(error)), 400


@blp.errorhandler(Missing)
def answer_missing(error):
    return _messages("Not found"), 404


@blp.get("/<path:unknown>")
def show_nothing(unknown):
    raise Missing


def _messages(message: str) -> dict:
    return {"_status": {"messages": [{"message": message}]}}
