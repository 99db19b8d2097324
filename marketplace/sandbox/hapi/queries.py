"""Queries: free ones, paid ones, and what they cost. What each is answered with is in its own module.

As a node does it: an answer that costs something is paid first, by a transaction in the query's header that
is submitted like any other, and only then looked for; COST_ANSWER asks for nothing but the cost.
Source: hiero-consensus-node, QueryWorkflowImpl and QueryChecker.
"""

from collections.abc import Callable
from typing import NamedTuple

from google.protobuf.message import DecodeError, Message
from hiero_sdk_python.hapi.services.query_header_pb2 import QueryHeader, ResponseType
from hiero_sdk_python.hapi.services.query_pb2 import Query
from hiero_sdk_python.hapi.services.response_pb2 import Response

from marketplace.sandbox.hapi import entities, network, receipts
from marketplace.sandbox.hapi.codes import code, of_faults
from marketplace.sandbox.ledger import consensus
from marketplace.sandbox.ledger.accounts import Refused
from marketplace.sandbox.ledger.envelopes import Unreadable, open_transaction
from marketplace.sandbox.ledger.network_fees import TINYBARS_PER_DOLLAR

# $0.0001, and what a version costs: https://docs.hedera.com/networks/fees
FEE = TINYBARS_PER_DOLLAR // 10_000
VERSION_FEE = TINYBARS_PER_DOLLAR // 1_000


class Malformed(ValueError):
    """The bytes are not those of a query. gRPC's INVALID_ARGUMENT, as a node answers it."""


class Kind(NamedTuple):
    """What a kind of query costs, in tinybars, and what finds its answer.

    ``find(asked, told, now)`` fills in the answer, or raises Refused.
    """

    fee: int
    find: Callable[[Message, Message, int], None]


KINDS = {
    "transactionGetReceipt": Kind(0, receipts.find_receipt),
    "transactionGetRecord": Kind(FEE, receipts.find_record),
    "cryptogetAccountBalance": Kind(0, entities.find_balance),
    "cryptoGetInfo": Kind(FEE, entities.find_account),
    "tokenGetInfo": Kind(FEE, entities.find_token),
    "tokenGetNftInfo": Kind(FEE, entities.find_nft),
    "fileGetContents": Kind(FEE, network.find_file),
    "networkGetVersionInfo": Kind(VERSION_FEE, network.find_version),
}
# The two whose answers are named otherwise.
ANSWERED_AS = {
    "contractGetBytecode": "contractGetBytecodeResponse",
    "ContractGetRecords": "contractGetRecordsResponse",
}


def answer(content: bytes, now: int) -> list[bytes]:
    """Answer the bytes of a HAPI Query. Raises Malformed."""
    try:
        query = Query.FromString(content)
    except DecodeError:
        raise Malformed("not the bytes of a query") from None
    name = query.WhichOneof("query")
    if name is None:
        raise Malformed("a query that asks for nothing known")
    asked, response = getattr(query, name), Response()
    told = getattr(response, ANSWERED_AS.get(name, name))
    result = of_faults(lambda: _answer(name, asked, told, now))
    told.header.responseType = asked.header.responseType
    told.header.nodeTransactionPrecheckCode = code(result)
    if result != "OK":
        told.CopyFrom(type(told)(header=told.header))  # nothing of an answer that was begun
    return [response.SerializeToString()]


def _answer(name: str, asked: Message, told: Message, now: int) -> str:
    header = asked.header
    try:
        if name not in KINDS:
            raise Refused("NOT_SUPPORTED")
        if header.responseType not in (ResponseType.ANSWER_ONLY, ResponseType.COST_ANSWER):
            raise Refused("NOT_SUPPORTED")
        kind = KINDS[name]
        if header.responseType == ResponseType.ANSWER_ONLY and kind.fee:
            _charge(header, kind.fee, now)
        kind.find(asked, told, now)
        if header.responseType == ResponseType.COST_ANSWER:
            told.CopyFrom(type(told)())
            told.header.cost = kind.fee
        return "OK"
    except Refused as refusal:
        return str(refusal)


def _charge(header: QueryHeader, fee: int, now: int) -> None:
    """Have a query paid for: by a transfer to the node that is asked, of its fee at least."""
    try:
        body = open_transaction(header.payment).body
    except Unreadable:
        raise Refused("INVALID_TRANSACTION_BODY") from None
    if body.WhichOneof("data") != "cryptoTransfer":
        raise Refused("INSUFFICIENT_TX_FEE")
    received = [
        amount.amount
        for amount in body.cryptoTransfer.transfers.accountAmounts
        if amount.accountID == body.nodeAccountID and amount.amount >= 0
    ]
    if not received:
        raise Refused("INVALID_RECEIVING_NODE_ACCOUNT")
    if min(received) < fee:
        raise Refused("INSUFFICIENT_TX_FEE")
    receipt = consensus.submit(header.payment.SerializeToString(), now)
    if receipt.result != "SUCCESS":
        raise Refused(receipt.result)
