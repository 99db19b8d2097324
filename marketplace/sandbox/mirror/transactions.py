"""The mirror node's REST about transactions: all rows under one id."""

from flask import Blueprint, Response

from marketplace.ids import TransactionId
from marketplace.sandbox.ledger import queries
from marketplace.sandbox.mirror.parameters import BadRequest, Missing
from marketplace.store.database import read

blp = Blueprint("transactions", __name__)


@blp.get("/transactions/<transaction_id>")
def show_transaction(transaction_id):
    parsed = TransactionId.parse(transaction_id)
    if parsed is None or "@" in transaction_id:
        raise BadRequest(
            'Invalid Transaction id. Please use "shard.realm.num-sss-nnn" format where sss are'
            " seconds and nnn are nanoseconds"
        )
    rows = queries.list_transactions(read(), parsed.dashed)
    if not rows:
        raise Missing
    documents = ",".join(row["document"] for row in rows)
    return Response(f'{{"transactions":[{documents}]}}', mimetype="application/json")
