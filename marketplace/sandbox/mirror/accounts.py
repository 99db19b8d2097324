"""The mirror node's REST about accounts: key, HBAR, tokens, and whom an account lets spend them."""

from collections.abc import Iterable
from urllib.parse import urlencode

from flask import Blueprint, request

from marketplace import times
from marketplace.sandbox import catalogue
from marketplace.sandbox.ledger import accounts, queries
from marketplace.sandbox.ledger.history import by_number
from marketplace.sandbox.mirror import parameters
from marketplace.store.database import read

blp = Blueprint("accounts", __name__)


@blp.get("/accounts/<account_id>")
def show_account(account_id):
    parameters.require_known("transactions")
    parameters.require_id(account_id, "idOrAliasOrEvmAddress")
    account = queries.get_account(read(), account_id)
    created_at = account["created_at"] if account else catalogue.GENESIS
    balance = {"timestamp": times.to_consensus(times.now())} | _balance(account_id)
    return {
        "account": account_id,
        "alias": None,
        "auto_renew_period": 7_776_000,
        "balance": balance,
        "created_timestamp": times.to_consensus(created_at),
        "decline_reward": False,
        "deleted": bool(account and account["deleted_at"]),
        "ethereum_nonce": 0,
        "evm_address": _evm_address(account_id),
        "expiry_timestamp": None,
        "key": shown_key(account_id),
        "max_automatic_token_associations": accounts.automatic_associations(read(), account_id),
        "memo": "",
        "pending_reward": 0,
        "receiver_sig_required": False,
        "staked_account_id": None,
        "staked_node_id": None,
        "stake_period_start": None,
        "transactions": [],
        "links": {"next": None},
    }


def _evm_address(account_id: str) -> str:
    """The address that follows from an account's id, as of all that have no alias."""
    shard, realm, number = by_number(account_id)
    return f"0x{shard:08x}{realm:016x}{number:016x}"


def shown_key(account_id: str) -> dict | None:
    """The key that an account has signed with, or None where it has not yet."""
    key = accounts.key(read(), account_id)
    return key and {"_type": key[0], "key": key[1]}


def _balance(account_id: str) -> dict:
    tokens = [
        {"balance": row["balance"], "token_id": row["token"]}
        for row in queries.list_associations(read(), account_id)
    ]
    return {"balance": accounts.balance(read(), account_id), "tokens": tokens}


@blp.get("/balances")
def list_balances():
    """The balances of one account, or of all that something has happened to."""
    parameters.require_known("account.id", "limit", "order")
    known = {row["account_id"] for row in queries.list_accounts(read())}
    filters = parameters.entity_filters("account.id")
    asked = {account_id for operator, account_id in filters if operator == "eq"}
    page, following = _page(known | asked, "account.id", "desc")
    return {
        "timestamp": times.to_consensus(times.now()),
        "balances": [{"account": account_id} | _balance(account_id) for account_id in page],
        "links": {"next": following},
    }


@blp.get("/accounts/<account_id>/tokens")
def list_account_tokens(account_id):
    """The tokens that an account is associated with."""
    parameters.require_known("limit", "order", "token.id")
    parameters.require_id(account_id, "idOrAliasOrEvmAddress")
    rows = {row["token"]: row for row in queries.list_associations(read(), account_id)}
    page, following = _page(rows, "token.id", "asc")
    return {"tokens": [_relationship(rows[token]) for token in page], "links": {"next": following}}


def _relationship(row) -> dict:
    return {
        "automatic_association": bool(row["is_automatic"]),
        "balance": row["balance"],
        "created_timestamp": times.to_consensus(row["created_at"]),
        "decimals": 0,
        "freeze_status": "NOT_APPLICABLE",
        "kyc_status": "NOT_APPLICABLE",
        "token_id": row["token"],
    }


def _page(ids: Iterable[str], name: str, order: str) -> tuple[list[str], str | None]:
    """The ids that are asked for by this name, and the link to the next of them."""
    filters, limit = parameters.entity_filters(name), parameters.limit()
    ascending = parameters.is_ascending(order)
    chosen = [
        entity_id
        for entity_id in ids
        if all(_is_within(entity_id, operator, bound) for operator, bound in filters)
    ]
    page = sorted(chosen, key=by_number, reverse=not ascending)[:limit]
    if len(page) < limit or any(operator == "eq" for operator, _ in filters):
        return page, None
    onward, back = ("gt", "l") if ascending else ("lt", "g")
    kept = [(name, f"{operator}:{bound}") for operator, bound in filters if operator[0] == back]
    arguments = [
        ("limit", limit),
        ("order", "asc" if ascending else "desc"),
        *kept,
        (name, f"{onward}:{page[-1]}"),
    ]
    return page, f"{request.path}?{urlencode(arguments, safe=':')}"


def _is_within(entity_id: str, operator: str, bound: str) -> bool:
    number, limit = by_number(entity_id), by_number(bound)
    return {
        "eq": number == limit,
        "gt": number > limit,
        "gte": number >= limit,
        "lt": number < limit,
        "lte": number <= limit,
    }[operator]


@blp.get("/accounts/<account_id>/allowances/nfts")
def list_account_approvals(account_id):
    parameters.require_known()
    parameters.require_id(account_id, "idOrAliasOrEvmAddress")
    allowances = [
        {
            "approved_for_all": True,
            "owner": row["owner"],
            "spender": row["spender"],
            "timestamp": {"from": times.to_consensus(row["approved_at"]), "to": None},
            "token_id": row["token"],
        }
        for row in queries.list_approvals_for_all(read(), account_id)
    ]
    return {"allowances": allowances, "links": {"next": None}}
