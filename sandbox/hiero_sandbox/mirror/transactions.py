"""The mirror node's transactions: all rows under one id or hash, or a list by type, result and timestamp."""

import base64
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from flask import Blueprint, current_app, request
from werkzeug.exceptions import BadRequest, NotFound, ServiceUnavailable

from hiero_sandbox import times
from hiero_sandbox.conditions import mirror_now
from hiero_sandbox.database import read
from hiero_sandbox.ids import MAX_INT64, TransactionId
from hiero_sandbox.ledger import queries, records
from hiero_sandbox.ledger.envelopes import TYPES, write_id
from hiero_sandbox.ledger.records import Recorded
from hiero_sandbox.mirror import pages, parameters, rows
from hiero_sandbox.mirror.parameters import Document, NumberFilter, Row

MAX_RANGE = 60 * times.DAY

blp = Blueprint("transactions", __name__)


class Window(NamedTuple):
    """The time of which a page shows transactions, in nanoseconds."""

    low: int
    high: int
    # Where a mirror node that narrows requests has cut it: the next page begins there.
    cut_at: int | None = None


@blp.get("/transactions")
@parameters.cached(2)
def list_transactions() -> Document:
    """List transactions; transactiontype (several at once), result, type, account.id, timestamp."""
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
        recorded = records.read(row)
        is_of_type = not types or TYPES[recorded.kind] in types
        has_result = not result or (recorded.result == "SUCCESS") == (result == "success")
        if is_of_type and has_result and any(map(accounts.admits, _parties(recorded))):
            yield rows.transaction(recorded)


def _parties(recorded: Recorded) -> set[int]:
    """The payer of a transaction, and all accounts whose balances or NFTs it changed.

    With type=credit or debit: only the accounts whose balances it raised or lowered.
    """
    direction, record = parameters.last("type"), recorded.record
    units = record.tokenTransferLists
    changes = [*record.transferList.accountAmounts]
    changes += [change for each in units for change in each.transfers]
    if direction:
        is_credit = direction == "credit"
        parties = [each.accountID for each in changes if (each.amount > 0) == is_credit]
    else:
        moved = [nft for each in units for nft in each.nftTransfers]
        parties = [each.accountID for each in changes]
        parties += [nft.senderAccountID for nft in moved]
        parties += [nft.receiverAccountID for nft in moved]
        if not record.transactionID.nonce or record.HasField("parent_consensus_timestamp"):
            parties.append(record.transactionID.accountID)
    return {number for each in parties if (number := parameters.to_number(write_id(each)))}


@blp.get("/transactions/<rest:transaction_id>")
@parameters.cached(600)
def show_transaction(transaction_id: str) -> Document:
    """Show the rows under an id, with those that a batch holds, or with a hash.

    A hash in base64 may contain slashes.
    """
    parameters.require_known(nonce="[0-9]{1,10}", scheduled=parameters.BOOLEAN)
    transaction_hash = _parse_hash(transaction_id)
    if transaction_hash:
        found = queries.list_transactions_of_hash(read(), transaction_hash)
    elif "/" in transaction_id:
        raise NotFound("Not found")
    else:
        found = queries.list_transactions(read(), _parse_id(transaction_id).dashed)
    documents = _read_asked(found)
    if not documents:
        raise NotFound("Not found")
    if not transaction_hash:
        for batch in [each for each in documents if each["name"] == "ATOMICBATCH"]:
            documents += [each for each in _read_inner(batch) if each not in documents]
    return {"transactions": documents}


def _read_inner(batch: Document) -> list[Document]:
    """The transactions of a batch, which reach consensus within a second after it."""
    moment = times.from_consensus(batch["consensus_timestamp"])
    after = queries.iterate_transactions(read(), moment, moment + times.SECOND, is_ascending=True)
    parent = {"parent_consensus_timestamp": batch["consensus_timestamp"]}
    return [each for each in _read_asked(after) if parent.items() <= each.items()]


def _read_asked(found: Iterable[Row]) -> list[Document]:
    """The rows with the nonce and the flag that the request asks for."""
    documents = [rows.transaction_alone(records.read(row)) for row in found]
    for name in request.args:
        asked = parameters.last(name)
        documents = [each for each in documents if str(each[name]).lower() == asked]
    return documents


def _parse_hash(text: str) -> bytes | None:
    """Read a hash of 48 bytes in base64, base64url or hexadecimal."""
    if re.fullmatch("[0-9A-Za-z+/_-]{64}", text):
        return base64.urlsafe_b64decode(text.replace("+", "-").replace("/", "_"))
    if re.fullmatch("(0x)?[0-9A-Fa-f]{96}", text):
        return bytes.fromhex(text[-96:])
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
