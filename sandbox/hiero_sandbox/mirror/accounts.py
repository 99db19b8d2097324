"""The mirror node's accounts: key, HBAR, tokens and allowances."""

import base64
import re
from collections.abc import Callable, Iterator

from flask import Blueprint, request
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.exceptions import NotFound

from hiero_sandbox import times
from hiero_sandbox.database import read
from hiero_sandbox.ids import MAX_INT64
from hiero_sandbox.ledger import accounts, keys, queries, records, tokens
from hiero_sandbox.ledger.envelopes import write_id
from hiero_sandbox.mirror import pages, parameters, past, transactions
from hiero_sandbox.mirror.parameters import Document, Row

# The columns that parameters filter.
ADDRESS = re.compile("(0x)?[0-9a-fA-F]{40}|[A-Z2-7]{26,}")
NOBODY = "0.0.0"
ID, BALANCE = {"account.id": "account_id"}, {"account.balance": "balance"}

blp = Blueprint("accounts", __name__)


def parse(text: str) -> str:
    """Read an account's id, its EVM address, or its alias in base32. Raises ValueError or NotFound."""
    try:
        return parameters.parse_entity(text)
    except ValueError:
        *parts, name = text.split(".")
        if {*parts} - {"0"}:
            raise
    if re.fullmatch("(0x)?[0-9a-fA-F]{40}", name):
        alias, missing = bytes.fromhex(name[-40:]), "Not found"
    else:
        alias, missing = _read_base32(name), "No account with a matching alias found"
    account_id = accounts.find_by_alias(read(), alias)
    if account_id is None or accounts.get(read(), account_id).is_deleted:
        raise NotFound(missing)
    return account_id


IDS = {"account_id": (parse, "idOrAliasOrEvmAddress")}


def _read_base32(text: str) -> bytes:
    content = base64.b32decode(text + "=" * (-len(text) % 8))
    if _write_base32(content) != text:
        raise ValueError(f"{text!r} is not base32")
    return content


def _write_base32(content: bytes) -> str:
    return base64.b32encode(content).decode().rstrip("=")


@blp.get("/accounts/<account_id>")
@parameters.cached(2)
def show_account(account_id: str) -> Document:
    """Show an account, by id, EVM address or alias: its key, HBAR and tokens, and its last transactions."""
    parameters.require_known("limit", "order", "timestamp", "transactions", "transactiontype")
    history: Document = {"transactions": [], "links": {"next": None}}
    if parameters.is_true("transactions"):
        history = transactions.show_page(account_id)
    if not past.look_back():
        raise NotFound("Timestamp range is empty")
    return _account(account_id) | history


def _account(account_id: str) -> Document:
    account, aliases = accounts.get(read(), account_id), queries.list_aliases(read(), account_id)
    moment = {"timestamp": times.to_consensus(past.moment() or 0)}
    return {
        "account": account_id,
        "alias": _write_base32(max(aliases, key=len)) if aliases else None,
        "auto_renew_period": account.renewal_seconds,
        "balance": _balance(account_id) | moment if parameters.is_true("balance") else None,
        "created_timestamp": times.to_consensus(account.created_at),
        "decline_reward": bool(account.declines_reward),
        "deleted": bool(account.is_deleted),
        "ethereum_nonce": 0,
        "evm_address": f"0x{accounts.evm_address(read(), account_id).hex()}",
        "expiry_timestamp": times.to_consensus(account.expiry),
        "key": keys.shown(accounts.key(read(), account_id)),
        "max_automatic_token_associations": account.automatic_associations,
        "memo": account.memo,
        "pending_reward": account.pending_reward,
        "receiver_sig_required": bool(account.is_receiver_signature_required),
        "staked_account_id": account.staked_account,
        "staked_node_id": account.staked_node,
        "stake_period_start": None,
    }


def _balance(account_id: str, order: str = "asc") -> Document:
    """An account's balances. Its tokens are sorted as the list that it is in."""
    held = sorted(
        queries.list_associations(read(), account_id),
        key=lambda row: parameters.to_number(row["token"]),
        reverse=not pages.is_ascending(order),
    )
    return {
        "balance": accounts.balance(read(), account_id),
        "tokens": [{"balance": row["balance"], "token_id": row["token"]} for row in held],
    }


@blp.get("/accounts")
@parameters.cached(10)
def list_accounts() -> Document:
    """List the accounts that have changed or are asked for; account.publickey, as wallets ask at login."""
    others = ("account.publickey", "balance")
    _resolve_address()
    return pages.page(
        "accounts", _known(), lambda row: _account(row["account_id"]), ID, "asc", others, BALANCE
    )


def _resolve_address() -> None:
    """Let the current request name the account of an EVM address or alias by its id."""
    asked = request.args.getlist("account.id")
    addresses = [value for value in asked if ADDRESS.fullmatch(value.rpartition(":")[2])]
    if not addresses:
        return
    operator, _, address = addresses[0].rpartition(":")
    if operator not in ("", "eq"):
        detail = "EVM address or alias only supports equals operator"
        raise parameters.Invalid(*parameters.invalid("account.id").messages, detail=detail)
    if len(addresses) > 1:
        detail = "Only one EVM address or alias is allowed."
        raise parameters.Invalid(*parameters.invalid("account.id").messages, detail=detail)
    try:
        account_id = parse(address)
    except NotFound:
        account_id = NOBODY
    except ValueError:
        raise parameters.invalid("account.id") from None
    pairs = request.args.items(multi=True)
    request.args = ImmutableMultiDict(
        [(name, account_id if value == addresses[0] else value) for name, value in pairs]
    )


def _known() -> Iterator[Row]:
    """The accounts that have changed or are asked for, with the public key if one is asked for."""
    known: dict[str, Row] = {row["account_id"]: row for row in queries.select(read(), "account")}
    for account_id in map(parameters.to_id, parameters.number_filter("account.id").named):
        if accounts.exists(read(), account_id):
            known.setdefault(account_id, accounts.get(read(), account_id)._asdict())
    yield from filter(_is_of_key, known.values())


def _is_of_key(row: Row) -> bool:
    key = accounts.key(read(), row["account_id"])
    return parameters.is_of_key(key, "account.publickey")


@blp.get("/balances")
def list_balances() -> Document:
    """List the balances of the accounts that have changed or are asked for; account.id, timestamp."""
    _resolve_address()
    return _balances(_known, lambda row: _balance(row["account_id"], "desc"))


@blp.get("/tokens/<token>/balances")
def list_token_balances(token: str) -> Document:
    """List the balance of a token for each account that may hold it."""
    found = tokens.get(read(), token)
    decimals = found.definition.decimals if found else 0
    return _balances(
        lambda: filter(_is_of_key, queries.list_holders(read(), token)),
        lambda row: {"balance": row["balance"], "decimals": decimals},
    )


def _balances(find: Callable[[], Iterator[Row]], show: Callable[[Row], Document]) -> Document:
    """A page of balances, with the time when they were so."""

    def rows() -> Iterator[Row]:
        if past.look_back():
            yield from find()

    def shown(row: Row) -> Document:
        return {"account": row["account_id"]} | show(row)

    others = ("account.publickey", past.NAME)
    page = pages.page("balances", rows(), shown, ID, "desc", others, BALANCE)
    moment = past.moment() if page["balances"] else None
    return {"timestamp": times.to_consensus(moment) if moment else None} | page


@blp.get("/accounts/<account_id>/tokens")
def list_account_tokens(account_id: str) -> Document:
    """List the tokens that an account is associated with; token.id."""
    accounts.get(read(), account_id)
    rows = queries.list_associations(read(), account_id)
    return pages.page("tokens", rows, _relationship, {"token.id": "token"}, "asc")


def _relationship(row: Row) -> Document:
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


@blp.get("/accounts/<account_id>/rewards")
def list_rewards(account_id: str) -> Document:
    """List the staking rewards that an account was paid; timestamp."""
    parameters.refuse_ne("timestamp", "Not equals (ne) operator is not supported for {}")
    accounts.get(read(), account_id)
    every = queries.iterate_transactions(read(), 0, MAX_INT64, is_ascending=True)
    rewards = [
        {
            "account_id": account_id,
            "amount": reward.amount,
            "timestamp": times.to_consensus(row["consensus_at"]),
        }
        for row in every
        for reward in records.read(row).record.paid_staking_rewards
        if write_id(reward.accountID) == account_id
    ]
    return pages.page("rewards", rewards, dict, {"timestamp": "timestamp"})
