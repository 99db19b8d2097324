"""Stands in for the mirror node: its REST paths, shapes and errors, about the sandbox's own ledger."""

import base64
import json
import re

from flask import Blueprint, Response, request

from marketplace import times
from marketplace.db import read
from marketplace.ids import MAX_INT64, TransactionId, is_entity_id
from marketplace.sandbox import catalogue, queries
from marketplace.sandbox.consensus import mint

GENESIS = 1_735_689_600 * times.SECOND  # 2025-01-01: when what nobody asked for yet was minted
DEFAULT_LIMIT, MAX_LIMIT = 25, 100

blp = Blueprint("mirror", __name__, url_prefix="/api/v1")


class BadRequest(Exception):
    """A 400 in the mirror node's own words."""


class Missing(Exception):
    """A 404 in the mirror node's own words."""


@blp.errorhandler(BadRequest)
def answer_bad_request(error):
    return _messages(str(error)), 400


@blp.errorhandler(Missing)
def answer_missing(error):
    return _messages("Not found"), 404


def _messages(message: str) -> dict:
    return {"_status": {"messages": [{"message": message}]}}


@blp.get("/tokens/<token>")
def show_token(token):
    _require_parameters()
    _require_id(token, "tokenid")
    collection = catalogue.collection_of(token)
    return {
        "created_timestamp": times.to_consensus(GENESIS),
        "custom_fees": {"created_timestamp": times.to_consensus(GENESIS), "royalty_fees": []},
        "decimals": "0",
        "deleted": False,
        "memo": "",
        "metadata": "",
        "name": collection.name,
        "pause_status": "NOT_APPLICABLE",
        "symbol": collection.symbol,
        "token_id": token,
        "treasury_account_id": queries.TREASURY,
        "type": "NON_FUNGIBLE_UNIQUE",
    }


@blp.get("/tokens/<token>/nfts")
def list_token_nfts(token):
    _require_parameters("limit", "serialnumber")
    _require_id(token, "tokenid")
    low, high = _serial_range()
    return _page(queries.list_nfts_in(read(), token, low, high, _limit() + 1))


@blp.get("/tokens/<token>/nfts/<serial_no>")
def show_nft(token, serial_no):
    _require_parameters()
    _require_id(token, "tokenid")
    row = queries.get_nft(read(), token, _serial_no(serial_no))
    return _nft(row) if row else _unclaimed(token, int(serial_no))


@blp.get("/tokens/<token>/nfts/<serial_no>/transactions")
def list_nft_transactions(token, serial_no):
    _require_parameters("limit")
    _require_id(token, "tokenid")
    rows = queries.list_nft_transactions(read(), token, _serial_no(serial_no), _limit())
    return {
        "transactions": [json.loads(row["document"]) for row in rows],
        "links": {"next": None},
    }


@blp.get("/accounts/<account_id>")
def show_account(account_id):
    _require_parameters("transactions")
    _require_id(account_id, "idOrAliasOrEvmAddress")
    account = queries.get_account(read(), account_id)
    key = account and {"_type": account["key_type"], "key": account["public_key"]}
    return {
        "account": account_id,
        "created_timestamp": times.to_consensus(account["created_at"] if account else GENESIS),
        "deleted": False,
        "key": key,
        "max_automatic_token_associations": -1,
        "memo": "",
        "receiver_sig_required": False,
    }


@blp.get("/accounts/<account_id>/nfts")
def list_account_nfts(account_id):
    """List an account's NFTs. Who asks first for an NFT that nobody has yet, owns it."""
    _require_parameters("limit", "serialnumber", "spender.id", "token.id")
    _require_id(account_id, "idOrAliasOrEvmAddress")
    token, spender = request.args.get("token.id"), request.args.get("spender.id")
    for name in ("token.id", "spender.id"):
        if name in request.args:
            _require_id(request.args[name], name)
    if "serialnumber" in request.args and token is None:
        raise BadRequest("Invalid parameter: serialnumber")
    low, high = _serial_range()
    if token and low == high:
        mint(token, low, account_id, times.now())
    rows = queries.list_nfts_of(read(), account_id, token, spender, low, high, _limit() + 1)
    return _page(rows)


@blp.get("/accounts/<account_id>/allowances/nfts")
def list_account_approvals(account_id):
    _require_parameters()
    _require_id(account_id, "idOrAliasOrEvmAddress")
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


@blp.get("/transactions/<transaction_id>")
def show_transaction(transaction_id):
    parsed = TransactionId.parse(transaction_id)
    if parsed is None or "@" in transaction_id:
        raise BadRequest(
            'Invalid Transaction id. Please use "shard.realm.num-sss-nnn" format where sss are'
            " seconds and nnn are nanoseconds"
        )
    row = queries.get_transaction(read(), parsed.dashed)
    if row is None:
        raise Missing
    return Response(f'{{"transactions":[{row["document"]}]}}', mimetype="application/json")


def _nft(row) -> dict:
    return {
        "account_id": row["owner"],
        "created_timestamp": times.to_consensus(row["created_at"]),
        "delegating_spender": None,
        "deleted": False,
        "metadata": _metadata(row["token"], row["serial_no"]),
        "modified_timestamp": times.to_consensus(row["modified_at"]),
        "serial_number": row["serial_no"],
        "spender": row["spender"],
        "token_id": row["token"],
    }


def _unclaimed(token: str, serial_no: int) -> dict:
    row = {
        "token": token,
        "serial_no": serial_no,
        "owner": queries.TREASURY,
        "spender": None,
        "created_at": GENESIS,
        "modified_at": GENESIS,
    }
    return _nft(row)


def _metadata(token: str, serial_no: int) -> str:
    return base64.b64encode(catalogue.pointer(token, serial_no).encode()).decode()


def _page(rows) -> dict:
    """A page of NFTs, and the mirror node's own kind of link to the next."""
    limit, following = _limit(), None
    if len(rows) > limit:
        rows = rows[:limit]
        token = request.args.get("token.id")
        prefix = f"token.id={token}&" if token else ""
        last = rows[-1]["serial_no"]
        following = f"{request.path}?{prefix}limit={limit}&serialnumber=lt:{last}"
    return {"nfts": [_nft(row) for row in rows], "links": {"next": following}}


def _require_parameters(*known: str) -> None:
    for name in request.args:
        if name not in known:
            raise BadRequest(f"Unknown query parameter: {name}")


def _require_id(value: str, name: str) -> None:
    if not is_entity_id(value):
        raise BadRequest(f"Invalid parameter: {name}")


def _serial_no(value: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,18}", value) or int(value) > MAX_INT64:
        raise BadRequest("Invalid parameter: serialnumber")
    return int(value)


def _serial_range() -> tuple[int, int]:
    """The lowest and the highest serial number asked for: serialnumber=7, lt:7, gte:7 and so on."""
    low, high = 1, MAX_INT64
    for value in request.args.getlist("serialnumber"):
        operator, _, number = value.rpartition(":")
        serial_no = _serial_no(number)
        bounds = {
            "": (serial_no, serial_no),
            "eq": (serial_no, serial_no),
            "lt": (1, serial_no - 1),
            "lte": (1, serial_no),
            "gt": (serial_no + 1, MAX_INT64),
            "gte": (serial_no, MAX_INT64),
        }
        if operator not in bounds:
            raise BadRequest("Invalid parameter: serialnumber")
        low, high = max(low, bounds[operator][0]), min(high, bounds[operator][1])
    return low, high


def _limit() -> int:
    value = request.args.get("limit", str(DEFAULT_LIMIT))
    if not re.fullmatch("[1-9][0-9]{0,5}", value):
        raise BadRequest("Invalid parameter: limit")
    return min(int(value), MAX_LIMIT)
