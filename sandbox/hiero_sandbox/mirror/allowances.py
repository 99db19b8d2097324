"""The mirror node's allowances: what others may spend of an account's HBAR, units and NFTs."""

from flask import Blueprint

from hiero_sandbox import times
from hiero_sandbox.database import read
from hiero_sandbox.ledger import queries
from hiero_sandbox.mirror import pages, parameters
from hiero_sandbox.mirror.parameters import Document, Row

NE = "Not equal (ne) comparison operator is not supported for {}"

blp = Blueprint("allowances", __name__)


@blp.get("/accounts/<account_id>/allowances/nfts")
def list_approvals_for_all(account_id: str) -> Document:
    """List the approvals for all NFTs of a token that an account gave, or with owner=false, received."""
    role, other = ("owner", "spender") if parameters.is_true("owner") else ("spender", "owner")
    rows = queries.select(read(), "approval_for_all", **{role: account_id})
    columns = {"account.id": other, "token.id": "token"}
    return pages.page("allowances", rows, _approval_for_all, columns, "asc", ("owner",))


@blp.get("/accounts/<account_id>/allowances/crypto")
def list_hbar_allowances(account_id: str) -> Document:
    """List what others may spend of an account's HBAR."""
    parameters.refuse_ne("spender.id", NE)
    rows = [row for row in _allowances(account_id) if not row["token"]]
    return pages.page("allowances", rows, _hbar_allowance, {"spender.id": "spender"})


@blp.get("/accounts/<account_id>/allowances/tokens")
def list_token_allowances(account_id: str) -> Document:
    """List what others may spend of an account's units of tokens."""
    parameters.refuse_ne("spender.id", "Not equal (ne) operator is not supported for {}")
    rows = [row for row in _allowances(account_id) if row["token"]]
    columns = {"spender.id": "spender", "token.id": "token"}
    return pages.page("allowances", rows, _token_allowance, columns, "asc")


def _allowances(account_id: str) -> list[Row]:
    rows = queries.select(read(), "allowance", owner=account_id)
    return [row for row in rows if row["amount"]]


def _allowance(row: Row) -> Document:
    since = {"from": times.to_consensus(row["approved_at"]), "to": None}
    return {"owner": row["owner"], "spender": row["spender"], "timestamp": since}


def _approval_for_all(row: Row) -> Document:
    return _allowance(row) | {"approved_for_all": True, "token_id": row["token"]}


def _hbar_allowance(row: Row) -> Document:
    return _allowance(row) | {"amount": row["amount"], "amount_granted": row["granted"]}


def _token_allowance(row: Row) -> Document:
    return _hbar_allowance(row) | {"token_id": row["token"]}
