"""The mirror node's REST about transactions: all rows under one id, or a list by type, result and time."""

import json
from collections.abc import Iterator
from itertools import islice
from urllib.parse import urlencode

from flask import Blueprint, Response, request

from marketplace import times
from marketplace.ids import TransactionId
from marketplace.sandbox.ledger import queries
from marketplace.sandbox.ledger.envelopes import TYPES
from marketplace.sandbox.mirror import parameters
from marketplace.sandbox.mirror.parameters import BadRequest, Missing, Unavailable
from marketplace.store.database import read

IN_A_PART = 1000  # rows looked through at once

blp = Blueprint("transactions", __name__)


@blp.get("/transactions")
def list_transactions():
    """List transactions: by type, result, account and consensus timestamp."""
    parameters.require_known(
        "account.id", "limit", "order", "result", "timestamp", "transactiontype"
    )
    limit, is_ascending = parameters.limit(), parameters.is_ascending()
    low, high = parameters.moment_range()
    lag = queries.get_lag(read())
    high = min(high, times.now() - lag) if lag else high
    documents = [*islice(_filtered(low, high, is_ascending), limit)]
    following = None
    if len(documents) == limit and low != high:
        following = _following(documents[-1]["consensus_timestamp"], is_ascending)
    return {"transactions": documents, "links": {"next": following}}


def _filtered(low: int, high: int, is_ascending: bool) -> Iterator[dict]:
    """The rows between two moments that the request asks for."""
    types = {value.upper() for value in request.args.getlist("transactiontype")}
    if types - TYPES:
        raise BadRequest("Invalid parameter: transactiontype")
    result = request.args.get("result", "").lower()
    if result not in ("", "success", "fail"):
        raise BadRequest("Invalid parameter: result")
    accounts = {account_id for _, account_id in parameters.entity_filters("account.id")}
    for row in _between(low, high, is_ascending):
        document = json.loads(row["document"])
        if types and document["name"] not in types:
            continue
        if result and (document["result"] == "SUCCESS") != (result == "success"):
            continue
        if not accounts or accounts & _parties(document):
            yield document


def _between(low: int, high: int, is_ascending: bool) -> Iterator:
    list_part = queries.list_first_transactions if is_ascending else queries.list_last_transactions
    while rows := list_part(read(), low, high, IN_A_PART):
        yield from rows
        last = rows[-1]["consensus_at"]
        low, high = (last + 1, high) if is_ascending else (low, last - 1)


def _parties(document: dict) -> set[str]:
    """Who pays for a transaction, and whose balances it changed."""
    payer = document["transaction_id"].partition("-")[0]
    return {payer} | {transfer["account"] for transfer in document["transfers"]}


def _following(last: str, is_ascending: bool) -> str:
    """The link to the next page: the same question, from the last row on."""
    operator, bound = ("gt", ("gt", "gte")) if is_ascending else ("lt", ("lt", "lte"))
    kept = [
        (name, value)
        for name, value in request.args.items(multi=True)
        if name != "timestamp" or value.partition(":")[0] not in bound
    ]
    return f"{request.path}?{urlencode([*kept, ('timestamp', f'{operator}:{last}')], safe=':')}"


@blp.get("/transactions/<transaction_id>")
def show_transaction(transaction_id):
    parsed = TransactionId.parse(transaction_id)
    if parsed is None or "@" in transaction_id:
        raise BadRequest(
            'Invalid Transaction id. Please use "shard.realm.num-sss-nnn" format where sss are'
            " seconds and nnn are nanoseconds"
        )
    if not parsed.is_possible:
        raise Unavailable
    rows = queries.list_transactions(read(), parsed.dashed)
    if not rows:
        raise Missing
    documents = ",".join(row["document"] for row in rows)
    return Response(f'{{"transactions":[{documents}]}}', mimetype="application/json")
