"""The mirror node's REST about accounts: key, HBAR, tokens, and whom an account lets spend them."""

from urllib.parse import urlencode

from flask import Blueprint, request

from marketplace import times
from marketplace.sandbox import accounts, catalogue, queries
from marketplace.sandbox.history import by_number
from marketplace.sandbox.mirror import parameters
from marketplace.store.database import read

RANGES = ("gt", "gte", "lt", "lte")

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
        "deleted": False,
        "ethereum_nonce": 0,
        "evm_address": None,
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
    operator, account_id = parameters.entity_filter("account.id", *RANGES)
    if operator == "eq":
        account_ids = [account_id]
    else:
        account_ids = [row["account_id"] for row in queries.list_accounts(read())]
    page, following = _page(account_ids, operator, account_id, "account.id", "desc")
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
    operator, token = parameters.entity_filter("token.id", *RANGES)
    rows = {row["token"]: row for row in queries.list_associations(read(), account_id)}
    page, following = _page(list(rows), operator, token, "token.id", "asc")
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


def _page(ids: list[str], operator, bound, name: str, order: str) -> tuple[list[str], str | None]:
    """A page of ids, and the link to the next."""
    ascending, limit = parameters.is_ascending(order), parameters.limit()
    chosen = [entity_id for entity_id in ids if _is_within(entity_id, operator, bound)]
    page = sorted(chosen, key=by_number, reverse=not ascending)[:limit]
    if len(page) < limit or operator == "eq":
        return page, None
    arguments = {
        "limit": limit,
        "order": "asc" if ascending else "desc",
        name: f"{'gt' if ascending else 'lt'}:{page[-1]}",
    }
    return page, f"{request.path}?{urlencode(arguments, safe=':')}"


def _is_within(entity_id: str, operator: str | None, bound: str | None) -> bool:
    if operator is None:
        return True
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
