"""The mirror node's REST about NFTs: what each is, who has it, and what happened to it."""

import base64
import json
from urllib.parse import urlencode

from flask import Blueprint, request

from marketplace import times
from marketplace.ids import MAX_INT64
from marketplace.sandbox import catalogue
from marketplace.sandbox.ledger import queries
from marketplace.sandbox.ledger.consensus import mint
from marketplace.sandbox.mirror import parameters
from marketplace.sandbox.mirror.parameters import CURSORS, BadRequest
from marketplace.store.database import read

blp = Blueprint("nfts", __name__)


@blp.get("/tokens/<token>/nfts")
def list_token_nfts(token):
    parameters.require_known("limit", "order", "serialnumber")
    parameters.require_id(token, "tokenid")
    low, high = parameters.serial_range()
    return _page(queries.list_nfts_in(read(), token, low, high))


@blp.get("/tokens/<token>/nfts/<serial_no>")
def show_nft(token, serial_no):
    parameters.require_known()
    parameters.require_id(token, "tokenid")
    row = queries.get_nft(read(), token, parameters.to_serial_no(serial_no))
    return _nft(row) if row else _unclaimed(token, int(serial_no))


@blp.get("/tokens/<token>/nfts/<serial_no>/transactions")
def list_nft_transactions(token, serial_no):
    parameters.require_known("limit", "order", "timestamp")
    parameters.require_id(token, "tokenid")
    is_ascending, limit = parameters.is_ascending(), parameters.limit()
    after, before = parameters.moments()
    number = parameters.to_serial_no(serial_no)
    rows = queries.list_nft_transactions(read(), token, number, after, before)
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
    is_partial = "PARTIAL_HISTORY" in _oddities(token, number)
    return answer, 206 if is_partial else 200


@blp.get("/accounts/<account_id>/nfts")
def list_account_nfts(account_id):
    """List an account's NFTs. Who asks first for an NFT that nobody has yet, owns it."""
    parameters.require_known("limit", "order", "serialnumber", "spender.id", "token.id")
    parameters.require_id(account_id, "idOrAliasOrEvmAddress")
    spender = request.args.get("spender.id")
    if spender is not None:
        parameters.require_id(spender, "spender.id")
    operator, token = parameters.token_filter()
    if "serialnumber" in request.args and token is None:
        raise BadRequest("Invalid parameter: serialnumber")
    low, high = (1, MAX_INT64) if operator in CURSORS else parameters.serial_range()
    exact = token if operator not in CURSORS else None
    if (
        exact
        and request.args.get("serialnumber", "").rpartition(":")[0] in ("", "eq")
        and low == high
    ):
        mint(exact, low, account_id, times.now())
    return _page(queries.list_nfts_of(read(), account_id, exact, spender, low, high))


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
        "created_at": catalogue.GENESIS,
        "modified_at": catalogue.GENESIS,
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
    ascending, limit = parameters.is_ascending(), parameters.limit()
    ordered = rows if ascending else rows[::-1]
    operator, token = parameters.token_filter()
    if operator in CURSORS:
        cursor = request.args.get("serialnumber", "").rpartition(":")[2]
        after = token, parameters.to_serial_no(cursor)
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
