"""The mirror node's NFTs: lists of them, each one, and its history."""

import json
from typing import Any

from flask import Blueprint
from werkzeug.exceptions import NotFound

from marketplace import times
from marketplace.sandbox.ledger import nfts, queries
from marketplace.sandbox.ledger.consensus import mint
from marketplace.sandbox.ledger.nfts import Nft
from marketplace.sandbox.mirror import parameters
from marketplace.sandbox.mirror.parameters import Document
from marketplace.store.database import read

blp = Blueprint("nfts", __name__)


@blp.get("/tokens/<token>/nfts")
def list_token_nfts(token: str) -> Document:
    parameters.require_known("account.id", "limit", "order", "serialnumber")
    low, high, _ = parameters.number_filter("serialnumber")
    rows = queries.list_nfts(read(), low, high, token=token)
    return _page(rows, {"serialnumber": "serial_no"}, {"account.id": "owner"})


@blp.get("/tokens/<token>/nfts/<serial_no>")
def show_nft(token: str, serial_no: int) -> Document:
    parameters.require_known()
    nft = nfts.get(read(), token, serial_no)
    if nft is None:
        raise NotFound("Not found")
    return _document(nft)


@blp.get("/tokens/<token>/nfts/<serial_no>/transactions")
def list_nft_transactions(token: str, serial_no: int) -> Document:
    parameters.require_known("limit", "order", "timestamp")
    rows = queries.select(read(), "nft_transaction", token=token, serial_no=serial_no)
    documents = [json.loads(row["document"]) for row in rows]
    columns = {"timestamp": "consensus_timestamp"}
    return parameters.page("transactions", documents, dict, columns)


@blp.get("/accounts/<account_id>/nfts")
def list_account_nfts(account_id: str) -> Document:
    """List an account's NFTs. The first account that asks for an NFT by its serial number gets it."""
    parameters.require_known("limit", "order", "serialnumber", "spender.id", "token.id")
    columns = {"token.id": "token", "serialnumber": "serial_no"}
    parameters.require_bounds(*columns)
    tokens, serial_nos = map(parameters.number_filter, columns)
    asked: dict[str, Any] = {}
    if tokens.named:
        token, low, high = parameters.to_id(tokens.low), serial_nos.low, serial_nos.high
        asked = {"token": token, "low": low, "high": high}
        if serial_nos.named:
            mint(token, low, account_id, times.now())
    rows = queries.list_nfts(read(), owner=account_id, **asked)
    return _page(rows, columns, {"spender.id": "spender"})


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


def _page(rows: list[queries.Row], columns: dict[str, str], party: dict[str, str]) -> Document:
    admitted = parameters.admitted(rows, party)
    return parameters.page("nfts", admitted, lambda row: _document(Nft(**row)), columns)
