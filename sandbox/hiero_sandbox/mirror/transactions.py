"""The mirror node's transactions: all rows under one id or hash, or a list by type, result and timestamp."""

import base64
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from flask import Blueprint, current_app, request
from werkzeug.exceptions import BadRequest, NotFound, ServiceUnavailable

from hiero_sandbox.conditions import mirror_now
from hiero_sandbox.database import read
from hiero_sandbox.ledger import queries
from hiero_sandbox.mirror import pages, parameters
from hiero_sandbox.mirror.parameters import Document, NumberFilter, Row
from marketplace.hedera import times
from marketplace.hedera.ids import MAX_INT64, TransactionId

MAX_RANGE = 60 * times.DAY

blp = Blueprint("transactions", __name__)


class Window(NamedTuple):
    """The time of which a page shows transactions, in nanoseconds."""

    low: int
    high: int
    # Where a mirror node that narrows requests has cut it: the next page begins there.
    cut_at: int | None = None


@blp.get("/transactions")
def list_transactions() -> Document:
    names = ("account.id", "limit", "order", "result", "timestamp", "transactiontype")
    parameters.require_known(*names, type="credit|debit")
    return show_page()


def show_page(account_id: str | None = None) -> Document:
    """A page of the transactions that the request asks for; if an account is given, only its transactions."""
    asked, ascending = parameters.number_filter("account.id"), pages.is_ascending()
    if account_id:
        asked = asked._replace(named=frozenset({parameters.to_number(account_id)}))
    window = _find_window(ascending)
    documents = [*islice(_filtered(asked, window, ascending), pages.limit())]
    if _contradicts_itself():
        documents = []
    links = pages.links(documents, {"timestamp": "consensus_timestamp"}, ascending, window.cut_at)
    return {"transactions": documents, "links": links}


def _find_window(ascending: bool) -> Window:
    """The time that a request names. With BIND_TIMESTAMP_RANGE, at most 60 days of it.

    These are the first 60 days in ascending order, and the last ones in descending order.
    Source: timestampRange.js of hiero-mirror-node.
    """
    low, high, named = parameters.number_filter("timestamp")
    low = min(low, MAX_INT64)
    if named or not current_app.config["BIND_TIMESTAMP_RANGE"]:
        return Window(low, high)
    low, high = low or queries.get_first_consensus(read()), min(high, mirror_now())
    if high - low < MAX_RANGE:
        return Window(low, high)
    if ascending:
        high = low + MAX_RANGE - 1
        return Window(low, high, cut_at=high)
    low = high - MAX_RANGE + 1
    return Window(low, high, cut_at=low)


def _contradicts_itself() -> bool:
    """Whether a request names two times, or both credit and debit. Nothing has both."""
    moments = parameters.number_filter("timestamp").named
    return len(moments) > 1 or len({each.lower() for each in request.args.getlist("type")}) > 1


def _filtered(accounts: NumberFilter, window: Window, ascending: bool) -> Iterator[Document]:
    types = {value.upper() for value in request.args.getlist("transactiontype")}
    result = parameters.last("result")
    for row in queries.iterate_transactions(read(), window.low, window.high, ascending):
        document = json.loads(row["document"])
        document.pop("assessed_custom_fees", None)  # lists have none
        is_of_type = not types or document["name"] in types
        has_result = not result or (document["result"] == "SUCCESS") == (result == "success")
        numbers = map(parameters.to_number, _parties(document))
        if is_of_type and has_result and any(map(accounts.admits, numbers)):
            yield document


def _parties(document: Document) -> set[str]:
    """The payer of a transaction, and all accounts whose balances or NFTs it changed.

    With type=credit or debit: only the accounts whose balances it raised or lowered.
    """
    direction = parameters.last("type")
    others: set[str] = set()
    if not direction:
        roles = ("sender_account_id", "receiver_account_id")
        moved = {nft[role] for nft in document["nft_transfers"] for role in roles}
        others = moved - {None}
        if not document["nonce"] or document["parent_consensus_timestamp"]:
            others.add(document["transaction_id"].partition("-")[0])
    return others | {
        transfer["account"]
        for transfer in document["transfers"] + document["token_transfers"]
        if not direction or (transfer["amount"] > 0) == (direction == "credit")
    }


@blp.get("/transactions/<rest:transaction_id>")
def show_transaction(transaction_id: str) -> Document:
    """Show the rows under an id, with those that a batch holds, or with a hash.

    A hash in base64 may contain slashes.
    """
    parameters.require_known(nonce="[0-9]{1,10}", scheduled=parameters.BOOLEAN)
    transaction_hash = _parse_hash(transaction_id)
    if transaction_hash:
        rows = queries.list_transactions_of_hash(read(), transaction_hash)
    elif "/" in transaction_id:
        raise NotFound("Not found")
    else:
        rows = queries.list_transactions(read(), _parse_id(transaction_id).dashed)
    documents = _read_asked(rows)
    if not documents:
        raise NotFound("Not found")
    if not transaction_hash:
        for batch in [each for each in documents if each["name"] == "ATOMICBATCH"]:
            moment = times.from_consensus(batch["consensus_timestamp"])
            inner = _read_asked(queries.list_inner_transactions(read(), moment))
            documents += [each for each in inner if each not in documents]
    return {"transactions": documents}


def _read_asked(rows: list[Row]) -> list[Document]:
    """The rows with the nonce and the flag that the request asks for."""
    documents = [json.loads(row["document"]) for row in rows]
    for name in request.args:
        asked = parameters.last(name)
        documents = [each for each in documents if str(each[name]).lower() == asked]
    return documents


def _parse_hash(text: str) -> str | None:
    """Read a hash of 48 bytes in base64, base64url or hexadecimal. Returns it in base64."""
    if re.fullmatch("[0-9A-Za-z+/_-]{64}", text):
        return text.replace("-", "+").replace("_", "/")
    if re.fullmatch("(0x)?[0-9A-Fa-f]{96}", text):
        return base64.b64encode(bytes.fromhex(text[-96:])).decode()
    return None


def _parse_id(text: str) -> TransactionId:
    parsed = TransactionId.parse(text)
    if parsed is None or "@" in text:
        raise BadRequest(
            'Invalid Transaction id. Please use "shard.realm.num-sss-nnn" format where sss are'
            " seconds and nnn are nanoseconds"
        )
    if not parsed.is_possible:
        raise ServiceUnavailable("Service Unavailable")
    return parsed
