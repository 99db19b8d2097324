"""Stands in for the mirror node: its REST paths, shapes and errors, about the sandbox's own ledger."""

import base64
import json
import re
from urllib.parse import urlencode

from flask import Blueprint, Response, request

from marketplace import times
from marketplace.ids import MAX_INT64, TransactionId, is_entity_id
from marketplace.sandbox import accounts, catalogue, queries
from marketplace.sandbox.consensus import mint
from marketplace.store.database import read

GENESIS = 1_735_689_600 * times.SECOND  # 2025-01-01: when what nobody asked for yet was minted
DEFAULT_LIMIT, MAX_LIMIT = 25, 100
CURSORS = ("gte", "lte")

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
        "deleted": queries.get_deleted_token(read(), token) is not None,
        "memo": "",
        "metadata": "",
        "name": collection.name,
        "pause_status": "NOT_APPLICABLE",
        "symbol": collection.symbol,
        "token_id": token,
        "total_supply": str(queries.count_nfts_in(read(), token)),
        "treasury_account_id": queries.TREASURY,
        "type": "NON_FUNGIBLE_UNIQUE",
    }


@blp.get("/tokens/<token>/nfts")
def list_token_nfts(token):
    _require_parameters("limit", "order", "serialnumber")
    _require_id(token, "tokenid")
    low, high = _serial_range()
    return _page(queries.list_nfts_in(read(), token, low, high))


@blp.get("/tokens/<token>/nfts/<serial_no>")
def show_nft(token, serial_no):
    _require_parameters()
    _require_id(token, "tokenid")
    row = queries.get_nft(read(), token, _serial_no(serial_no))
    return _nft(row) if row else _unclaimed(token, int(serial_no))


@blp.get("/tokens/<token>/nfts/<serial_no>/transactions")
def list_nft_transactions(token, serial_no):
    _require_parameters("limit", "order", "timestamp")
    _require_id(token, "tokenid")
    is_ascending, limit = _is_ascending(), _limit()
    after, before = _moments()
    rows = queries.list_nft_transactions(read(), token, _serial_no(serial_no), after, before)
    page, following = (rows if is_ascending else rows[::-1])[:limit], None
    if len(page) == limit:
        last = times.to_consensus(page[-1]["consensus_at"])
        arguments = {
            "limit": limit,
            "order": "asc" if is_ascending else "desc",
            "timestamp": f"{'gt' if is_ascending else 'lt'}:{last}",
        }
        following = f"{request.path}?{urlencode(arguments, safe=':')}"
    answer = {
        "transactions": [json.loads(row["document"]) for row in page],
        "links": {"next": following},
    }
    is_partial = "PARTIAL_HISTORY" in _oddities(token, int(serial_no))
    return answer, 206 if is_partial else 200


@blp.get("/accounts/<account_id>")
def show_account(account_id):
    _require_parameters("transactions")
    _require_id(account_id, "idOrAliasOrEvmAddress")
    account = queries.get_account(read(), account_id)
    key = accounts.key(read(), account_id)
    return {
        "account": account_id,
        "created_timestamp": times.to_consensus(account["created_at"] if account else GENESIS),
        "deleted": False,
        "key": key and {"_type": key[0], "key": key[1]},
        "max_automatic_token_associations": -1,
        "memo": "",
        "receiver_sig_required": False,
    }


@blp.get("/accounts/<account_id>/nfts")
def list_account_nfts(account_id):
    """List an account's NFTs. Who asks first for an NFT that nobody has yet, owns it."""
    _require_parameters("limit", "order", "serialnumber", "spender.id", "token.id")
    _require_id(account_id, "idOrAliasOrEvmAddress")
    spender = request.args.get("spender.id")
    if spender is not None:
        _require_id(spender, "spender.id")
    operator, token = _token_filter()
    if "serialnumber" in request.args and token is None:
        raise BadRequest("Invalid parameter: serialnumber")
    low, high = (1, MAX_INT64) if operator in CURSORS else _serial_range()
    exact = token if operator not in CURSORS else None
    if (
        exact
        and request.args.get("serialnumber", "").rpartition(":")[0] in ("", "eq")
        and low == high
    ):
        mint(exact, low, account_id, times.now())
    return _page(queries.list_nfts_of(read(), account_id, exact, spender, low, high))


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
    rows = queries.list_transactions(read(), parsed.dashed)
    if not rows:
        raise Missing
    documents = ",".join(row["document"] for row in rows)
    return Response(f'{{"transactions":[{documents}]}}', mimetype="application/json")


@blp.get("/blocks")
def list_blocks():
    """The last block: here, time does not stand still between transactions."""
    _require_parameters("limit", "order")
    now = times.to_consensus(times.now())
    return {"blocks": [{"timestamp": {"from": now, "to": now}}], "links": {"next": None}}


@blp.get("/<path:unknown>")
def show_nothing(unknown):
    raise Missing


def _nft(row) -> dict:
    odd = _oddities(row["token"], row["serial_no"])
    created_at = None if "PARTIAL_HISTORY" in odd else times.to_consensus(row["created_at"])
    metadata = None if "METADATA_NULL" in odd else _metadata(row)
    return {
        "account_id": row["owner"],
        "created_timestamp": created_at,
        "delegating_spender": None,
        "deleted": queries.get_deleted_token(read(), row["token"]) is not None,
        "metadata": metadata,
        "modified_timestamp": times.to_consensus(row["modified_at"]),
        "serial_number": row["serial_no"],
        "spender": row["spender"],
        "token_id": row["token"],
    }


def _oddities(token: str, serial_no: int) -> set[str]:
    return {row["kind"] for row in queries.list_oddities(read(), token, serial_no)}


def _unclaimed(token: str, serial_no: int) -> dict:
    row = {
        "token": token,
        "serial_no": serial_no,
        "owner": queries.TREASURY,
        "spender": None,
        "metadata": None,
        "created_at": GENESIS,
        "modified_at": GENESIS,
    }
    return _nft(row)


def _metadata(row) -> str:
    """What it was minted with, in base64."""
    if row["metadata"] is not None:
        return row["metadata"]
    pointer = catalogue.pointer(row["token"], row["serial_no"])
    return base64.b64encode(pointer.encode()).decode()


def _page(rows) -> dict:
    """A page of NFTs, and the mirror node's own kind of link to the next: by token and serial number.

    A full page has one, also where nothing follows.
    """
    ascending, limit = _is_ascending(), _limit()
    ordered = rows if ascending else rows[::-1]
    operator, token = _token_filter()
    if operator in CURSORS:
        after = token, _serial_no(request.args.get("serialnumber", "").rpartition(":")[2])
        ordered = [row for row in ordered if _is_after(row, after, ascending)]
    page, following = ordered[:limit], None
    if len(ordered) >= limit:
        last = page[-1]
        arguments = request.args.to_dict() | {
            "limit": limit,
            "order": "asc" if ascending else "desc",
            "serialnumber": f"{'gt' if ascending else 'lt'}:{last['serial_no']}",
        }
        if "account_id" in request.view_args and operator != "eq":
            arguments["token.id"] = f"{'gte' if ascending else 'lte'}:{last['token']}"
        following = f"{request.path}?{urlencode(arguments, safe=':')}"
    return {"nfts": [_nft(row) for row in page], "links": {"next": following}}


def _is_after(row, after: tuple[str, int], ascending: bool) -> bool:
    key = row["token"], row["serial_no"]
    return key > after if ascending else key < after


def _token_filter() -> tuple[str | None, str | None]:
    """token.id, and how it is meant: eq, or gte and lte, which say where the last page ended."""
    value = request.args.get("token.id")
    if value is None:
        return None, None
    operator, _, token = value.rpartition(":")
    if operator not in ("", "eq", *CURSORS):
        raise BadRequest("Invalid parameter: token.id")
    _require_id(token, "token.id")
    return operator or "eq", token


def _is_ascending() -> bool:
    order = request.args.get("order", "desc")
    if order not in ("asc", "desc"):
        raise BadRequest("Invalid parameter: order")
    return order == "asc"


def _require_parameters(*known: str) -> None:
    for name in request.args:
        if name not in known:
            raise BadRequest(f"Unknown query parameter: {name}")


def _require_id(value: str, name: str) -> None:
    if not is_entity_id(value):
        raise BadRequest(f"Invalid parameter: {name}")
    if queries.get_oddity(read(), value, "IMPOSSIBLE_ID"):
        is_query = name.endswith(".id")
        raise BadRequest(
            f'Invalid entity ID "{value}"' if is_query else f"Invalid parameter: {name}"
        )


def _serial_no(value: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,18}", value) or int(value) > MAX_INT64:
        raise BadRequest("Invalid parameter: serialnumber")
    return int(value)


def _moments() -> tuple[int, int]:
    """What timestamp=gt:... or lt:... asks for: after when, and before when."""
    operator, _, moment = request.args.get("timestamp", "gt:0.000000000").partition(":")
    try:
        bound = times.from_consensus(moment)
    except ValueError:
        raise BadRequest("Invalid parameter: timestamp") from None
    if operator not in ("gt", "lt"):
        raise BadRequest("Invalid parameter: timestamp")
    return (bound, MAX_INT64) if operator == "gt" else (0, bound)


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
            "gt": (min(serial_no + 1, MAX_INT64), MAX_INT64),
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
