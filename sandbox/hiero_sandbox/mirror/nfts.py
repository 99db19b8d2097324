"""The mirror node's NFTs: lists, single NFTs, and their histories."""

from collections.abc import Iterator

from flask import Blueprint
from werkzeug.exceptions import NotFound

from hiero_sandbox import times
from hiero_sandbox.conditions import mirror_now
from hiero_sandbox.database import read
from hiero_sandbox.ledger import nfts, queries, records
from hiero_sandbox.ledger import tokens as ledger_tokens
from hiero_sandbox.ledger.nfts import Nft
from hiero_sandbox.mirror import pages, parameters, rows
from hiero_sandbox.mirror.parameters import Document, Row

IDS = {"serial_no": (parameters.parse_serial_no, "serialnumber")}
blp = Blueprint("nfts", __name__)


@blp.get("/tokens/<token>/nfts")
def list_token_nfts(token: str) -> Document:
    """List a token's NFTs; account.id, serialnumber."""
    found = queries.select(read(), "nft", token=token)
    columns, filters = {"serialnumber": "serial_no"}, {"account.id": "owner"}
    return pages.page("nfts", found, _document_of, columns, filters=filters)


@blp.get("/tokens/<token>/nfts/<serial_no>")
def show_nft(token: str, serial_no: int) -> Document:
    """Show an NFT."""
    parameters.require_known()
    nft = nfts.get(read(), token, serial_no)
    if nft is None:
        raise NotFound("Not found")
    return _document(nft)


@blp.get("/tokens/<token>/nfts/<serial_no>/transactions")
def list_nft_transactions(token: str, serial_no: int) -> Document:
    """List the transactions that changed an NFT, and the deletion of its token."""
    found = map(records.read, queries.list_nft_transactions(read(), token, serial_no))
    documents = [rows.nft_transaction(each, token, serial_no) for each in found]
    for gift in queries.select(read(), "gift", token=token, serial_no=serial_no):
        documents.append(rows.gift(gift, ledger_tokens.find(read(), token).treasury))
    columns = {"timestamp": "consensus_timestamp"}
    return pages.page("transactions", documents, dict, columns)


@blp.get("/accounts/<account_id>/nfts")
def list_account_nfts(account_id: str) -> Document:
    """List an account's NFTs; token.id, serialnumber, spender.id."""
    pages.require_one_range("spender.id", "Multiple range params not allowed for {1}")
    columns = {"token.id": "token", "serialnumber": "serial_no"}
    found, filters = _nfts_of(account_id), {"spender.id": "spender"}
    return pages.page("nfts", found, _document_of, columns, filters=filters)


def _nfts_of(account_id: str) -> Iterator[Row]:
    filters = map(parameters.number_filter, ("token.id", "serialnumber"))
    tokens, serial_nos = (each.named for each in filters)  # at most one each
    asked = {"token": parameters.to_id(min(tokens))} if tokens else {}
    if tokens and serial_nos:
        read().world.ask_for_nft(asked["token"], min(serial_nos), account_id, mirror_now())
    yield from queries.select(read(), "nft", owner=account_id, **asked)


def _document_of(row: Row) -> Document:
    return _document(Nft(**row))


def _document(nft: Nft) -> Document:
    return {
        "account_id": nft.owner or None,
        "created_timestamp": times.to_consensus(nft.created_at),
        "delegating_spender": nft.delegating_spender,
        "deleted": nft.owner == queries.NOBODY or queries.is_deleted(read(), nft.token),
        "metadata": nft.metadata,
        "modified_timestamp": times.to_consensus(nft.modified_at),
        "serial_number": nft.serial_no,
        "spender": nft.spender,
        "token_id": nft.token,
    }
