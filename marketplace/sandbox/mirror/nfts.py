"""The mirror node's NFTs: lists of them, each one, and its history."""

import json

from flask import Blueprint, request
from werkzeug.exceptions import NotFound

from marketplace import times
from marketplace.ids import MAX_INT64
from marketplace.sandbox.ledger import nfts, queries
from marketplace.sandbox.ledger.consensus import mint
from marketplace.sandbox.ledger.nfts import Nft
from marketplace.sandbox.mirror import parameters
from marketplace.sandbox.mirror.parameters import CURSORS, Document
from marketplace.store.database import read

blp = Blueprint("nfts", __name__)


@blp.get("/tokens/<token>/nfts")
def list_token_nfts(token: str) -> Document:
    parameters.require_known("limit", "order", "serialnumber")
    parameters.require_id(token, "tokenid")
    low, high = parameters.bounds("serialnumber", parameters.parse_serial_no)
    return _page(queries.list_nfts_in(read(), token, low, high), is_of_one_token=True)


@blp.get("/tokens/<token>/nfts/<serial_no>")
def show_nft(token: str, serial_no: str) -> Document:
    parameters.require_known()
    parameters.require_id(token, "tokenid")
    nft = nfts.get(read(), token, parameters.parse_serial_no(serial_no))
    if nft is None:
        raise NotFound("Not found")
    return _document(nft)


@blp.get("/tokens/<token>/nfts/<serial_no>/transactions")
def list_nft_transactions(token: str, serial_no: str) -> Document:
    parameters.require_known("limit", "order", "timestamp")
    parameters.require_id(token, "tokenid")
    ascending, limit = parameters.is_ascending(), parameters.limit()
    low, high = parameters.bounds("timestamp", parameters.parse_timestamp)
    number = parameters.parse_serial_no(serial_no)
    rows = queries.list_nft_transactions(read(), token, number, low, high)
    page, following = (rows if ascending else rows[::-1])[:limit], None
    if len(page) == limit:
        last = times.to_consensus(page[-1]["consensus_at"])
        following = parameters.next_page(ascending, {"timestamp": last})
    history = [json.loads(row["document"]) for row in page]
    return {"transactions": history, "links": {"next": following}}


@blp.get("/accounts/<account_id>/nfts")
def list_account_nfts(account_id: str) -> Document:
    """List an account's NFTs. The first account that asks for an NFT by its serial number gets it."""
    parameters.require_known("limit", "order", "serialnumber", "spender.id", "token.id")
    parameters.require_id(account_id, "idOrAliasOrEvmAddress")
    spender = request.args.get("spender.id")
    if spender is not None:
        parameters.require_id(spender, "spender.id")
    operator, token = parameters.token_filter()
    if "serialnumber" in request.args and token is None:
        raise parameters.invalid("serialnumber")
    low, high = parameters.bounds("serialnumber", parameters.parse_serial_no)
    if token and operator in CURSORS:
        rows = queries.list_nfts_of(read(), account_id, None, spender, 0, MAX_INT64)
        rows = [row for row in rows if _follows(row, operator, token, low, high)]
        return _page(rows, is_of_one_token=False)
    if token and low == high and request.args["serialnumber"].rpartition(":")[0] in ("", "eq"):
        mint(token, low, account_id, times.now())
    rows = queries.list_nfts_of(read(), account_id, token, spender, low, high)
    return _page(rows, is_of_one_token=token is not None)


def _follows(row: queries.Row, operator: str, token: str, low: int, high: int) -> bool:
    """Whether an NFT comes after the last page, which ended within a token."""
    if row["token"] == token:
        return bool(low <= row["serial_no"] <= high)
    return bool((row["token"] > token) == (operator == "gte"))


def _document(nft: Nft) -> Document:
    return {
        "account_id": nft.owner or None,
        "created_timestamp": times.to_consensus(nft.created_at),
        "delegating_spender": None,
        "deleted": nft.owner == nfts.NOBODY or queries.is_deleted(read(), nft.token),
        "metadata": nft.metadata_base64,
        "modified_timestamp": times.to_consensus(nft.modified_at),
        "serial_number": nft.serial_no,
        "spender": nft.spender,
        "token_id": nft.token,
    }


def _page(rows: list[queries.Row], *, is_of_one_token: bool) -> Document:
    """A page of NFTs. A full page links to the next one, even if that is empty."""
    ascending, limit = parameters.is_ascending(), parameters.limit()
    page = [Nft(**row) for row in (rows if ascending else rows[::-1])[:limit]]
    following = None
    if len(page) == limit:
        last = page[-1]
        token = None if is_of_one_token else last.token
        following = parameters.next_page(ascending, {"serialnumber": last.serial_no}, token)
    return {"nfts": [_document(nft) for nft in page], "links": {"next": following}}
