"""Stands in for the mirror node: its REST paths, shapes and errors, about the sandbox's own ledger."""

from flask import Blueprint

from marketplace.sandbox.mirror import accounts, network, nfts, tokens, transactions
from marketplace.sandbox.mirror.parameters import BadRequest, Missing

blp = Blueprint("mirror", __name__, url_prefix="/api/v1")
for part in (accounts, network, nfts, tokens, transactions):
    blp.register_blueprint(part.blp)


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
