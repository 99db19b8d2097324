"""The mirror node's transactions: all rows under one id, or a list by type, result and timestamp."""

import json
from collections.abc import Iterator
from itertools import islice

from flask import Blueprint, Response, request
from werkzeug.exceptions import BadRequest, NotFound, ServiceUnavailable

from marketplace.ids import TransactionId
from marketplace.sandbox.ledger import queries
from marketplace.sandbox.ledger.envelopes import TYPES
from marketplace.sandbox.mirror import parameters
from marketplace.sandbox.mirror.parameters import Document
from marketplace.store.database import read

blp = Blueprint("transactions", __name__)


@blp.get("/transactions")
def list_transactions() -> Document:
    parameters.require_known(
        "account.id", "limit", "order", "result", "timestamp", "transactiontype"
    )
    limit, is_ascending = parameters.limit(), parameters.is_ascending()
    low, high = parameters.recent_bounds()
    documents = [*islice(_filtered(low, high, is_ascending), limit)]
    following = None
    if len(documents) == limit and low != high:
        last = documents[-1]["consensus_timestamp"]
        following = parameters.next_page(is_ascending, {"timestamp": last})
    return {"transactions": documents, "links": {"next": following}}


def _filtered(low: int, high: int, is_ascending: bool) -> Iterator[Document]:
    """The transactions between two timestamps that the request asks for."""
    types = {value.upper() for value in request.args.getlist("transactiontype")}
    if types - set(TYPES.values()):
        raise parameters.invalid("transactiontype")
    result = request.args.get("result", "").lower()
    if result not in ("", "success", "fail"):
        raise parameters.invalid("result")
    lowest, highest = parameters.bounds("account.id", parameters.parse_id)
    for row in queries.iterate_transactions(read(), low, high, is_ascending):
        document = json.loads(row["document"])
        if types and document["name"] not in types:
            continue
        if result and (document["result"] == "SUCCESS") != (result == "success"):
            continue
        if any(lowest <= parameters.to_number(party) <= highest for party in _parties(document)):
            yield document


def _parties(document: Document) -> set[str]:
    """The payer of a transaction, and the accounts whose balances it changed."""
    payer: str = document["transaction_id"].partition("-")[0]
    return {payer} | {transfer["account"] for transfer in document["transfers"]}


@blp.get("/transactions/<transaction_id>")
def show_transaction(transaction_id: str) -> Response:
    parsed = TransactionId.parse(transaction_id)
    if parsed is None or "@" in transaction_id:
        raise BadRequest(
            'Invalid Transaction id. Please use "shard.realm.num-sss-nnn" format where sss are'
            " seconds and nnn are nanoseconds"
        )
    if not parsed.is_possible:
        raise ServiceUnavailable("Service Unavailable")
    rows = queries.list_transactions(read(), parsed.dashed)
    if not rows:
        raise NotFound("Not found")
    documents = ",".join(row["document"] for row in rows)
    return Response(f'{{"transactions":[{documents}]}}', mimetype="application/json")
