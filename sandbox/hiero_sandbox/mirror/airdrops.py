"""The mirror node's pending airdrops: those that an account has sent, and those that it may claim."""

from flask import Blueprint

from hiero_sandbox import times
from hiero_sandbox.database import read
from hiero_sandbox.ledger import queries
from hiero_sandbox.mirror import pages
from hiero_sandbox.mirror.parameters import Document, Row

blp = Blueprint("airdrops", __name__)


@blp.get("/accounts/<account_id>/airdrops/outstanding")
def list_outstanding_airdrops(account_id: str) -> Document:
    """List what an account has sent and nobody has claimed."""
    return _page(queries.select(read(), "airdrop", sender=account_id), "receiver")


@blp.get("/accounts/<account_id>/airdrops/pending")
def list_pending_airdrops(account_id: str) -> Document:
    """List what an account may claim."""
    return _page(queries.select(read(), "airdrop", receiver=account_id), "sender")


def _page(rows: list[Row], other: str) -> Document:
    columns = {f"{other}.id": other, "token.id": "token"}
    filters = {"serialnumber": "serial_no"}
    return pages.page("airdrops", rows, _document, columns, "asc", filters=filters)


def _document(row: Row) -> Document:
    return {
        "amount": row["amount"],
        "receiver_id": row["receiver"],
        "sender_id": row["sender"],
        "serial_number": row["serial_no"] or None,
        "timestamp": {"from": times.to_consensus(row["created_at"]), "to": None},
        "token_id": row["token"],
    }
