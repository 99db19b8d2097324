"""The mirror node's accounts: key, HBAR, tokens and approvals."""

import base64
import re
from collections.abc import Iterable

from flask import Blueprint, request
from werkzeug.exceptions import NotFound

from marketplace import times
from marketplace.ids import is_entity_id
from marketplace.sandbox.ledger import accounts, keys, queries, tokens
from marketplace.sandbox.ledger.history import by_number
from marketplace.sandbox.mirror import parameters
from marketplace.sandbox.mirror.parameters import Document
from marketplace.store.database import read

blp = Blueprint("accounts", __name__)


@blp.get("/accounts/<account_id>")
def show_account(account_id: str) -> Document:
    parameters.require_known("transactions")
    return _account(_find(account_id)) | {"transactions": [], "links": {"next": None}}


def _account(account_id: str) -> Document:
    account, aliases = accounts.get(read(), account_id), queries.list_aliases(read(), account_id)
    balance = {"timestamp": times.to_consensus(times.now())} | _balance(account_id)
    return {
        "account": account_id,
        "alias": base64.b32encode(max(aliases, key=len)).decode().rstrip("=") if aliases else None,
        "auto_renew_period": 7_776_000,
        "balance": balance,
        "created_timestamp": times.to_consensus(account.created_at),
        "decline_reward": False,
        "deleted": bool(account.deleted_at),
        "ethereum_nonce": 0,
        "evm_address": f"0x{accounts.evm_address(read(), account_id).hex()}",
        "expiry_timestamp": None,
        "key": keys.shown(accounts.key(read(), account_id)),
        "max_automatic_token_associations": account.automatic_associations,
        "memo": account.memo,
        "pending_reward": 0,
        "receiver_sig_required": bool(account.is_receiver_signature_required),
        "staked_account_id": None,
        "staked_node_id": None,
        "stake_period_start": None,
    }


@blp.get("/accounts")
def list_accounts() -> Document:
    """List the accounts that have changed, and those of a public key, as a wallet asks at login."""
    parameters.require_known("account.id", "account.publickey", "balance", "limit", "order")
    public_key = request.args.get("account.publickey", "").lower().removeprefix("0x")
    if not re.fullmatch("([0-9a-f]{64,})?", public_key):
        raise parameters.invalid("account.publickey")
    rows = queries.list_accounts(read())
    found = [row["account_id"] for row in rows if (row["key"] or "").endswith(public_key)]
    page, following = _page(found, "account.id", "asc")
    return {"accounts": [_account(each) for each in page], "links": {"next": following}}


def _find(text: str) -> str:
    """The account of an id, of an EVM address, or of an alias in base32."""
    if is_entity_id(text):
        return text
    if re.fullmatch("(0x)?[0-9a-fA-F]{40}", text):
        alias = bytes.fromhex(text[-40:])
    else:
        try:
            alias = base64.b32decode(text + "=" * (-len(text) % 8))
        except ValueError:
            raise parameters.invalid("idOrAliasOrEvmAddress") from None
    account_id = accounts.find_by_alias(read(), alias)
    if account_id is None:
        raise NotFound("No account with a matching alias found")
    return account_id


def _balance(account_id: str) -> Document:
    tokens = [
        {"balance": row["balance"], "token_id": row["token"]}
        for row in queries.list_associations(read(), account_id)
    ]
    return {"balance": accounts.balance(read(), account_id), "tokens": tokens}


@blp.get("/balances")
def list_balances() -> Document:
    """List the balances of all accounts that have changed, and of an account that is asked for."""
    parameters.require_known("account.id", "limit", "order")
    known = {row["account_id"] for row in queries.list_accounts(read())}
    asked = {value.removeprefix("eq:") for value in request.args.getlist("account.id")}
    page, following = _page(known | set(filter(is_entity_id, asked)), "account.id", "desc")
    return {
        "timestamp": times.to_consensus(times.now()),
        "balances": [{"account": account_id} | _balance(account_id) for account_id in page],
        "links": {"next": following},
    }


@blp.get("/accounts/<account_id>/tokens")
def list_account_tokens(account_id: str) -> Document:
    parameters.require_known("limit", "order", "token.id")
    parameters.require_id(account_id, "idOrAliasOrEvmAddress")
    rows = {row["token"]: row for row in queries.list_associations(read(), account_id)}
    page, following = _page(rows, "token.id", "asc")
    return {"tokens": [_relationship(rows[token]) for token in page], "links": {"next": following}}


def _relationship(row: queries.Row) -> Document:
    token = tokens.find(read(), row["token"])
    frozen = "FROZEN" if row["is_frozen"] else "UNFROZEN"
    granted = "GRANTED" if row["is_kyc_granted"] else "REVOKED"
    return {
        "automatic_association": bool(row["is_automatic"]),
        "balance": row["balance"],
        "created_timestamp": times.to_consensus(row["created_at"]),
        "decimals": token.definition.decimals,
        "freeze_status": frozen if token.key("freeze") else "NOT_APPLICABLE",
        "kyc_status": granted if token.key("kyc") else "NOT_APPLICABLE",
        "token_id": row["token"],
    }


def _page(ids: Iterable[str], name: str, order: str) -> tuple[list[str], str | None]:
    """The ids that a parameter of this name chooses, and the link to the next of them."""
    low, high = parameters.bounds(name, parameters.parse_id)
    limit, ascending = parameters.limit(), parameters.is_ascending(order)
    chosen = [entity_id for entity_id in ids if low <= parameters.to_number(entity_id) <= high]
    page = sorted(chosen, key=by_number, reverse=not ascending)[:limit]
    if len(page) < limit or low == high:
        return page, None
    return page, parameters.next_page(ascending, {name: page[-1]})


@blp.get("/accounts/<account_id>/allowances/nfts")
def list_account_approvals(account_id: str) -> Document:
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


@blp.get("/accounts/<account_id>/allowances/crypto", defaults={"kind": "crypto"})
@blp.get("/accounts/<account_id>/allowances/tokens", defaults={"kind": "tokens"})
def list_allowances(account_id: str, kind: str) -> Document:
    """List what others may spend of an account's HBAR, or of its units of tokens."""
    parameters.require_known("limit", "order", "spender.id", "token.id")
    parameters.require_id(account_id, "idOrAliasOrEvmAddress")
    allowances = []
    for row in queries.list_allowances(read(), account_id):
        if bool(row["token"]) == (kind == "tokens"):
            since = {"from": times.to_consensus(row["approved_at"]), "to": None}
            names = {"amount": row["amount"], "amount_granted": row["granted"], "timestamp": since}
            parties = {"owner": row["owner"], "spender": row["spender"]}
            allowances.append(
                parties | names | ({"token_id": row["token"]} if row["token"] else {})
            )
    return {"allowances": allowances, "links": {"next": None}}
